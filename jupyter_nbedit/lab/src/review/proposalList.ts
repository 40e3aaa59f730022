import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import type { Proposal, ProposalPart } from '../server/models';
import type { Comparison } from '../ui/diffView';
import { cleanText } from '../ui/displayText';
import { decisionButton, enable, make, tell } from '../ui/elements';
import type { Proposals } from './proposalModel';
import { countChanges, identity, pendingParts, proposer, purpose } from './wording';

/** Longest path shown; its end is what tells notebooks apart. */
const LONGEST_PATH = 200;

/** What the list needs of the application. */
export interface ListActions {
  readonly trans: TranslationBundle;
  /** Open the notebook of a proposal. */
  readonly open: (proposal: Proposal) => void;
  /** Draw what a part of a new notebook has in it. */
  readonly draw: (part: ProposalPart, proposal: Proposal) => Comparison | null;
}

/** All that is proposed, of notebooks that are open, that are not, and that are not there yet. */
export class ProposalList extends Widget {
  constructor(
    private readonly _proposals: Proposals,
    private readonly _actions: ListActions
  ) {
    super();
    const { trans } = _actions;
    this.addClass('jp-nbedit-proposals');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Proposed changes of all notebooks'));
    this.node.append(make('h2', '', trans.__('Proposed changes')), this._none, this._list);
    _proposals.changed.connect(this._refresh);
    this.update();
  }

  override dispose(): void {
    this._proposals.changed.disconnect(this._refresh);
    this._items.forEach(item => item.dispose());
    super.dispose();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    (this.node.querySelector('button') ?? this.node).focus();
  }

  protected override onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    const { pending } = this._proposals;
    const known = new Map(this._items.map(item => [item.is, item]));
    this._items = pending.map(proposal => {
      const is = JSON.stringify(proposal);
      const item = known.get(is) ?? new Item(proposal, is, this._proposals, this._actions);
      known.delete(is);
      return item;
    });
    known.forEach(item => item.dispose());
    this._items.forEach(({ node }, index) => {
      if (this._list.children[index] !== node) {
        this._list.insertBefore(node, this._list.children[index] ?? null);
      }
    });
    tell(this._none, pending.length === 0 ? this._actions.trans.__('Nothing is proposed.') : '');
  }

  private readonly _refresh = (): void => this.update();
  private readonly _none = make('p', 'jp-nbedit-none');
  private readonly _list = make('ul', 'jp-nbedit-list');
  private _items: Item[] = [];
}

/** One proposal of the list. */
class Item {
  readonly node = make('li', 'jp-nbedit-item');

  /** @param is What tells it from the same proposal at another time. */
  constructor(
    private readonly _proposal: Proposal,
    readonly is: string,
    proposals: Proposals,
    private readonly _actions: ListActions
  ) {
    const { path, kind } = _proposal;
    const { trans } = _actions;
    const parts = pendingParts(_proposal);
    const shownPath = cleanText(path, LONGEST_PATH);
    const title = make('div', 'jp-nbedit-proposal-title');
    const what =
      kind === 'create'
        ? trans._n(
            'proposes a new notebook of %1 cell',
            'proposes a new notebook of %1 cells',
            parts.length,
            parts.length
          )
        : trans.__('proposes %1', countChanges(parts.length, trans));
    title.append(make('strong', '', proposer(_proposal, trans)), ` ${what}`);
    title.title = identity(_proposal, trans);
    const time = make('time', 'jp-nbedit-time', new Date(_proposal.created).toLocaleString());
    time.dateTime = _proposal.created;
    this._buttons = [
      decisionButton(
        trans.__('Reject'),
        trans.__('Reject what is proposed for %1', shownPath),
        'reject',
        () => void this._decide(() => proposals.reject(_proposal))
      ),
      decisionButton(
        trans.__('Accept'),
        trans.__('Accept what is proposed for %1', shownPath),
        'accept',
        () => void this._decide(() => proposals.accept(_proposal))
      )
    ];
    const actions = make('div', 'jp-nbedit-actions');
    actions.append(...this._buttons);
    this._notice.setAttribute('role', 'alert');
    tell(this._notice, '');
    this.node.append(
      kind === 'create' ? make('div', 'jp-nbedit-path', shownPath) : this._link(shownPath),
      title,
      ...[purpose(_proposal)].filter(Boolean).map(text => make('div', 'jp-nbedit-purpose', text)),
      time,
      ...(kind === 'create' ? [this._contents(parts)] : []),
      this._notice,
      actions
    );
  }

  dispose(): void {
    this._drawn.forEach(comparison => comparison.dispose());
    this.node.remove();
  }

  private _link(path: string): HTMLElement {
    const link = make('button', 'jp-nbedit-path', path);
    link.type = 'button';
    link.title = this._actions.trans.__('Open the notebook');
    link.addEventListener('click', () => this._actions.open(this._proposal));
    return link;
  }

  /** The cells of a new notebook, drawn when somebody wants to see them. */
  private _contents(parts: readonly ProposalPart[]): HTMLElement {
    const { trans } = this._actions;
    const { length } = parts;
    const details = make('details', 'jp-nbedit-contents');
    const label = trans._n('Show %1 cell', 'Show %1 cells', length, length);
    details.append(make('summary', '', label));
    details.addEventListener('toggle', () => {
      if (details.open && this._drawn.length === 0) {
        this._drawn = parts.flatMap(part => this._actions.draw(part, this._proposal) ?? []);
        details.append(...this._drawn.map(({ node }) => node));
      }
    });
    return details;
  }

  private async _decide(ask: () => Promise<void>): Promise<void> {
    enable(this._buttons, false);
    tell(this._notice, '');
    try {
      await ask();
    } catch (error) {
      tell(this._notice, error instanceof Error ? error.message : String(error));
    } finally {
      enable(this._buttons, true);
    }
  }

  private readonly _buttons: HTMLButtonElement[];
  private readonly _notice = make('div', 'jp-nbedit-notice');
  private _drawn: Comparison[] = [];
}
