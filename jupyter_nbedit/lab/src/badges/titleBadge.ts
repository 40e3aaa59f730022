import type { Title, Widget } from '@lumino/widgets';

/** The title of a widget, as far as a badge needs it. */
export type TabTitle = Pick<Title<Widget>, 'caption' | 'changed' | 'className'>;

/** The class of a tab with a badge. */
const BADGE_CLASS = 'jp-mod-nbedit-unseen';

/** A dot on the tab of a widget, with its meaning in the tooltip, which screen readers read. */
export class TitleBadge {
  constructor(private readonly _title: TabTitle) {
    // JupyterLab writes the whole caption of a document whenever its file changes.
    _title.changed.connect(this._render);
  }

  /** What the dot stands for; '' for no dot. */
  get text(): string {
    return this._text;
  }

  set text(text: string) {
    if (text === this._text) {
      return;
    }
    const caption = this._removeText(this._title.caption);
    this._text = text;
    this._title.caption = this._addText(caption);
    this._render();
  }

  dispose(): void {
    this._title.changed.disconnect(this._render);
  }

  private readonly _render = (): void => {
    const title = this._title;
    const classes = title.className
      .split(/\s+/)
      .filter(name => name !== '' && name !== BADGE_CLASS);
    if (this._text !== '') {
      classes.push(BADGE_CLASS);
    }
    // Each assignment of another value calls this method again.
    title.className = classes.join(' ');
    title.caption = this._addText(this._removeText(title.caption));
  };

  private _removeText(caption: string): string {
    const { _suffix: suffix } = this;
    return suffix !== '' && caption.endsWith(suffix)
      ? caption.slice(0, caption.length - suffix.length)
      : caption;
  }

  private _addText(caption: string): string {
    return `${caption}${this._suffix}`;
  }

  private get _suffix(): string {
    return this._text === '' ? '' : `\n${this._text}`;
  }

  private _text = '';
}
