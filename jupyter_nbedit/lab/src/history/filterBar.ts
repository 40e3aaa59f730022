import type { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import { makeElement, makeIconButton } from '../ui/elements';
import { NO_FILTER, type EditFilter } from './editFilter';

/** Who can be chosen in the menu of authors. */
export interface AuthorChoice {
  readonly key: string;
  readonly name: string;
}

/** Selects which edits are shown: by author, by words, and of which cell. */
export class FilterBar {
  readonly node = makeElement('div', 'jp-nbedit-history-filter');

  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _onChange: () => void,
    onAllCells: () => void
  ) {
    this._authors.setAttribute('aria-label', _trans.__('Edits by'));
    this._authors.addEventListener('change', () => this._onChange());
    this._text.type = 'search';
    this._text.placeholder = _trans.__('Filter');
    this._text.setAttribute('aria-label', _trans.__('Filter by message, path and text'));
    this._text.addEventListener('input', () => this._onChange());
    this._cell.hidden = true;
    this._cell.append(
      this._cellText,
      makeIconButton(closeIcon, _trans.__('Show all cells'), () => {
        this._text.focus();
        onAllCells();
      })
    );
    this.node.setAttribute('role', 'search');
    this.node.setAttribute('aria-label', _trans.__('Filter of the edits'));
    this.node.append(this._authors, this._text, this._cell);
    this.showAuthors([]);
  }

  get filter(): EditFilter {
    return { author: this._authors.value, text: this._text.value };
  }

  /** Whether not all edits are shown. */
  get isActive(): boolean {
    const { author, text } = this.filter;
    return author !== NO_FILTER.author || text.trim() !== NO_FILTER.text || !this._cell.hidden;
  }

  /** Remove the filter by author and text. */
  clear(): void {
    this._authors.value = NO_FILTER.author;
    this._text.value = NO_FILTER.text;
  }

  /** Update the menu of authors; the chosen author stays. */
  showAuthors(authors: readonly AuthorChoice[]): void {
    const chosen = [...this._authors.options].find(({ value }) => value === this._authors.value);
    const choices = new Map([['', this._trans.__('All agents')]]);
    authors.forEach(({ key, name }) => choices.set(key, name));
    if (chosen !== undefined && !choices.has(chosen.value)) {
      choices.set(chosen.value, chosen.text);
    }
    const current = [...this._authors.options].map(({ value }) => value);
    if ([...choices.keys()].join('\n') !== current.join('\n')) {
      this._authors.replaceChildren(
        ...[...choices].map(([value, name]) => {
          const option = makeElement('option', '', name);
          option.value = value;
          return option;
        })
      );
      this._authors.value = chosen?.value ?? '';
    }
  }

  /** Show of which cell the edits are; '' for all cells. */
  showCell(text: string): void {
    this._cellText.textContent = text;
    this._cell.hidden = text === '';
  }

  private readonly _authors = makeElement('select', 'jp-nbedit-history-authors');
  private readonly _text = makeElement('input', 'jp-nbedit-history-text');
  private readonly _cell = makeElement('div', 'jp-nbedit-history-cell');
  private readonly _cellText = makeElement('span', '');
}
