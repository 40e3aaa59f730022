import { WidgetType } from '@codemirror/view';
import type { TranslationBundle } from '@jupyterlab/translation';
import { makeElement } from './elements';

/** How a line has changed. */
export type LineKind = 'added' | 'removed';

/** Make the sign before a line: a symbol, and a word for screen readers. */
export function makeSign(kind: LineKind, trans: TranslationBundle): HTMLElement {
  const sign = makeElement('span', 'jp-nbedit-line-sign');
  const mark = makeElement('span', 'jp-nbedit-line-sign-symbol', kind === 'added' ? '+' : '-');
  mark.setAttribute('aria-hidden', 'true');
  const name = kind === 'added' ? trans.__('added:') : trans.__('removed:');
  sign.append(mark, makeElement('span', 'jp-nbedit-visually-hidden', `${name} `));
  return sign;
}

/** The sign before a line of an editor. */
export class SignWidget extends WidgetType {
  constructor(
    private readonly _kind: LineKind,
    private readonly _trans: TranslationBundle
  ) {
    super();
  }

  override eq(other: SignWidget): boolean {
    return other._kind === this._kind;
  }

  override toDOM(): HTMLElement {
    return makeSign(this._kind, this._trans);
  }
}
