import type { TranslationBundle } from '@jupyterlab/translation';
import { caretLeftIcon, caretRightIcon } from '@jupyterlab/ui-components';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { formatRange } from '../ui/displayText';
import { makeElement, makeIconButton, setEnabled, showAlert, showText } from '../ui/elements';
import { listNames, makeActionButton, suppressShortcuts, type BlockAction } from './cellBlock';

/** Separates what the bar says about several kinds of changes. */
const SEPARATOR = ' · ';

/** What the bar says about one kind of changes. */
export interface BarItem {
  /** What there is, as a sentence without a point. */
  readonly summary: string;
  /** The same beside another summary. */
  readonly shortSummary: string;
  /** Whether a notification says the same to screen readers, which hear it only once. */
  readonly isNotified?: boolean;
  /** Why it was done or is proposed, or ''. */
  readonly purpose: string;
  /** What went wrong or was done, or ''. */
  readonly notice: string;
  /** What can be done about the notice. */
  readonly noticeActions: readonly BlockAction[];
  /** What can be done about all changes of this kind. */
  readonly actions: readonly BlockAction[];
  readonly isEnabled: boolean;
}

/** What an item has if nothing can be done about its changes. */
export const NO_ACTIONS = {
  purpose: '',
  notice: '',
  noticeActions: [],
  actions: [],
  isEnabled: true
};

/** Where the user is among all changes. */
export interface BarPosition {
  /** The numbers of the first and the last change at which the user is, from 1, or null. */
  readonly range: readonly [first: number, last: number] | null;
  readonly count: number;
}

/** The bar above a notebook with changes that wait for the user. */
export class NotebookBar extends Widget {
  constructor(
    goTo: (direction: 'next' | 'previous') => void,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-bar');
    this._status.setAttribute('role', 'status');
    this._summary.append(this._notifiedText, this._status);
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', _trans.__('Changes by agents'));
    this._nextButton = makeIconButton(caretRightIcon, _trans.__('Go to the next change'), () =>
      goTo('next')
    );
    const navigation = makeElement('div', 'jp-nbedit-bar-navigation');
    navigation.append(
      makeIconButton(caretLeftIcon, _trans.__('Go to the previous change'), () => goTo('previous')),
      this._position,
      this._nextButton
    );
    // Users who click here while they type go on typing.
    navigation.addEventListener('mousedown', event => event.preventDefault());
    const actions = makeElement('div', 'jp-nbedit-actions');
    actions.append(navigation, this._actionBox);
    this._content.append(this._summary, this._purpose, actions, this._noticeBox);
    this.node.append(this._content);
    this.node.tabIndex = -1;
    suppressShortcuts(this.node);
    this._observer.observe(this._content);
    this.hide();
  }

  override dispose(): void {
    this._observer.disconnect();
    super.dispose();
  }

  /** Hold the focus, until it is at a change. */
  focus(): void {
    this.node.focus({ preventScroll: true });
  }

  /** Show or hide the bar; the layout is updated when this returns. */
  setShown(isShown: boolean): void {
    if (this.isHidden !== isShown) {
      return;
    }
    this.setHidden(!isShown);
    this._updateHeight();
    // Otherwise the layout waits for the next frame if the bar had this height before.
    if (this.parent !== null) {
      MessageLoop.sendMessage(this.parent, Widget.Msg.FitRequest);
    }
  }

  /** Show these items, without changing what is the same. */
  describe(items: readonly BarItem[], position: BarPosition): void {
    this._showSummaries(items);
    const purposes = items.map(item => item.purpose);
    const purpose = purposes.filter(text => text !== '').join(SEPARATOR);
    showText(this._purpose, purpose);
    this._purpose.title = purpose;
    this._describePosition(position);
    const isSame =
      items.length === this._views.length &&
      items.every((item, index) => this._views[index]?.canShow(item));
    if (!isSame) {
      this._replaceViews(items);
    }
    items.forEach((item, index) => this._views[index]?.show(item));
    this._updateHeight();
  }

  private _showSummaries(items: readonly BarItem[]): void {
    const texts = items.map(({ summary, shortSummary, isNotified = false }, index) => ({
      text: index === 0 ? summary : shortSummary,
      isNotified
    }));
    const join = (isNotified: boolean): string =>
      texts
        .filter(each => each.isNotified === isNotified)
        .map(({ text }) => text)
        .join(SEPARATOR);
    const [notified, status] = [join(true), join(false)];
    showText(this._notifiedText, notified + (notified && status ? SEPARATOR : ''));
    showText(this._status, status);
  }

  private _describePosition({ range, count }: BarPosition): void {
    showText(
      this._position,
      range === null
        ? this._trans.__('– of %1', count)
        : this._trans.__('%1 of %2', formatRange(...range), count)
    );
  }

  private _replaceViews(items: readonly BarItem[]): void {
    const focused = document.activeElement;
    const label = this._content.contains(focused) ? focused?.getAttribute('aria-label') : null;
    this._views = items.map(item => new BarItemView(item));
    this._actionBox.replaceChildren(...this._views.flatMap(({ buttons }) => buttons));
    this._noticeBox.replaceChildren(...this._views.map(({ notice }) => notice));
    if (label != null) {
      const buttons = [...this._content.querySelectorAll('button')];
      const same = buttons.find(each => each.getAttribute('aria-label') === label);
      (same ?? this._nextButton).focus();
    }
  }

  /**
   * Set the height that the content needs at this width, because the layout does not measure it.
   */
  private _updateHeight(): void {
    const { node, parent } = this;
    if (this.isHidden || parent === null) {
      return;
    }
    const border = node.offsetHeight - node.clientHeight;
    const height = `${this._content.offsetHeight + border}px`;
    if (node.style.minHeight !== height) {
      node.style.minHeight = height;
      MessageLoop.sendMessage(parent, Widget.Msg.FitRequest);
    }
  }

  private readonly _observer = new ResizeObserver(() => this._updateHeight());
  private _views: BarItemView[] = [];
  private readonly _content = makeElement('div', 'jp-nbedit-bar-content');
  private readonly _summary = makeElement('div', 'jp-nbedit-bar-summary');
  private readonly _notifiedText = makeElement('span', '');
  private readonly _status = makeElement('span', '');
  private readonly _nextButton: HTMLButtonElement;
  private readonly _purpose = makeElement('div', 'jp-nbedit-purpose');
  private readonly _position = makeElement('span', 'jp-nbedit-bar-position');
  private readonly _actionBox = makeElement('div', 'jp-nbedit-bar-actions');
  private readonly _noticeBox = makeElement('div', 'jp-nbedit-bar-notices');
}

/** The elements of an item. */
class BarItemView {
  readonly buttons: readonly HTMLButtonElement[];
  readonly notice = makeElement('div', 'jp-nbedit-notice');

  constructor(private _item: BarItem) {
    this.buttons = this._makeButtons('actions');
    this._noticeButtons = this._makeButtons('noticeActions');
    this.notice.append(this._noticeText, ...this._noticeButtons);
  }

  /** Return whether an item needs the same buttons. */
  canShow(item: BarItem): boolean {
    return (
      listNames(item.actions) === listNames(this._item.actions) &&
      listNames(item.noticeActions) === listNames(this._item.noticeActions)
    );
  }

  show(item: BarItem): void {
    this._item = item;
    showAlert(this._noticeText, [item.notice]);
    this.notice.hidden = item.notice === '';
    setEnabled([...this.buttons, ...this._noticeButtons], item.isEnabled);
  }

  /** Make buttons; a click runs the action of the item that is shown at that moment. */
  private _makeButtons(list: 'actions' | 'noticeActions'): HTMLButtonElement[] {
    return this._item[list].map((action, index) =>
      makeActionButton({ ...action, run: () => this._item[list][index]?.run() })
    );
  }

  private readonly _noticeText = makeElement('div', '');
  private readonly _noticeButtons: readonly HTMLButtonElement[];
}
