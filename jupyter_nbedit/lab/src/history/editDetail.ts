import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { EditDetail, Part, Version } from '../server/models';
import type { Layout, Texts } from '../ui/codeMirrorDiff';
import { Comparison, languageOf } from '../ui/diffView';
import { button, make } from '../ui/elements';
import { changesOf, placeOf } from './wording';

/** More parts than this are shown when they are asked for. */
const SHOWN = 20;

/** What is needed to show what an edit did. */
export interface DetailHost {
  readonly trans: TranslationBundle;
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  readonly layout: Layout;
  /** Ask for the edit with its parts. */
  fetch(): Promise<EditDetail>;
  /** The language of the notebook's code, by its MIME type or its name. */
  language(): Promise<string>;
  /** Bring the notebook to the front and show a cell; settles with why not, if it cannot. */
  goTo(part: Part): Promise<string | null>;
  /** Why something failed, in words. */
  explain(error: unknown): string;
}

/**
 * Show in an element what an edit did.
 *
 * @returns Takes it away again.
 */
export function showDetail(element: HTMLElement, host: DetailHost): () => void {
  const comparisons: Comparison[] = [];
  let isOpen = true;
  const show = (parts: readonly Part[], code: string): void => {
    element.append(...parts.slice(0, SHOWN).map(part => section(part, code, host, comparisons)));
    const rest = parts.slice(SHOWN);
    if (rest.length > 0) {
      const label = host.trans._n(
        'Show %1 more cell',
        'Show %1 more cells',
        rest.length,
        rest.length
      );
      const more = button(label, () => {
        more.remove();
        show(rest, code);
      });
      element.append(more);
    }
  };
  element.setAttribute('aria-busy', 'true');
  void Promise.all([host.fetch(), host.language()])
    .then(([edit, code]) => {
      if (isOpen) {
        show(edit.parts, code);
      }
    })
    .catch((error: unknown) => {
      if (isOpen) {
        element.append(make('p', 'jp-nbedit-problem', host.explain(error)));
      }
    })
    .finally(() => element.removeAttribute('aria-busy'));
  return () => {
    isOpen = false;
    comparisons.forEach(comparison => comparison.dispose());
    element.replaceChildren();
  };
}

/** One cell, or the notebook's metadata. */
function section(
  part: Part,
  code: string,
  host: DetailHost,
  comparisons: Comparison[]
): HTMLElement {
  const { trans } = host;
  const place = placeOf(part, trans);
  const node = make('div', 'jp-nbedit-part');
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', place);
  const head = make('div', 'jp-nbedit-part-head');
  head.append(
    make('h3', 'jp-nbedit-part-place', place),
    make('span', 'jp-nbedit-part-changes', changesOf(part, trans).join(', '))
  );
  const problem = make('p', 'jp-nbedit-problem');
  problem.setAttribute('role', 'alert');
  if (part.index !== null && part.after !== null) {
    const go = button(trans.__('Go to cell'), () => {
      problem.textContent = '';
      void host.goTo(part).then(why => {
        problem.textContent = why ?? '';
      });
    });
    go.setAttribute('aria-label', trans.__('Go to %1', place));
    head.append(go);
  }
  node.append(head, problem);
  const { before, after } = part;
  const compare = (texts: Texts): void => {
    const { layout, languages, themes } = host;
    const comparison = new Comparison({ texts, layout, languages, themes, trans });
    comparisons.push(comparison);
    node.append(comparison.node);
  };
  const source = { before: before?.source ?? null, after: after?.source ?? null };
  if (source.before !== source.after) {
    const type = (after ?? before)?.cell_type ?? null;
    compare({ ...source, language: languageOf(type, code), label: place });
  }
  const metadata = { before: json(before), after: json(after) };
  if (metadata.before !== metadata.after) {
    const isOfCell = (after ?? before)?.cell_type != null;
    if (isOfCell) {
      node.append(make('div', 'jp-nbedit-part-what', trans.__('Metadata')));
    }
    const label = isOfCell ? trans.__('Metadata of %1', place) : place;
    compare({ ...metadata, language: languageOf(null, code), label });
  }
  return node;
}

/** Metadata as it is shown; nothing if there is none. */
function json(version: Version | null): string | null {
  const metadata = version?.metadata ?? {};
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata, null, 2);
}
