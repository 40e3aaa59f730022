import type { TranslationBundle } from '@jupyterlab/translation';
import type { AgentClient } from '../server/models';
import { makeElement } from '../ui/elements';

/** The index of the tab that a key selects; the first follows the last. */
const KEY_TARGETS: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowUp: (index, count) => (index + count - 1) % count,
  ArrowLeft: (index, count) => (index + count - 1) % count,
  ArrowDown: (index, count) => (index + 1) % count,
  ArrowRight: (index, count) => (index + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1
};

/** The list of clients: tabs of which one is selected. Only that one is in the tab order. */
export class ClientTabs {
  readonly node = makeElement('div', 'jp-nbedit-connect-clients');

  /** @param _panel The element that shows the selected client. */
  constructor(
    private readonly _panel: HTMLElement,
    private readonly _onSelect: (client: AgentClient) => void,
    trans: TranslationBundle
  ) {
    this.node.setAttribute('role', 'tablist');
    this.node.setAttribute('aria-orientation', 'vertical');
    this.node.setAttribute('aria-label', trans.__('Clients'));
    this.node.addEventListener('keydown', event => this._onKeyDown(event));
    _panel.setAttribute('role', 'tabpanel');
    _panel.id = 'nbedit-connect-client';
  }

  /** The selected client, or null if there is none. */
  get selected(): AgentClient | null {
    return this._clients[this._index] ?? null;
  }

  /** The tab in the tab order, or null if there are no clients. */
  get focusable(): HTMLElement | null {
    return this._tabs[this._index] ?? null;
  }

  /** Show these clients; the selection stays if its client is one of them. */
  show(clients: readonly AgentClient[]): void {
    const selectedId = this.selected?.id;
    const hadFocus = this.node.contains(document.activeElement);
    this._clients = clients;
    this._tabs = clients.map(({ id, title }, index) => {
      const tab = makeElement('button', 'jp-nbedit-connect-tab', title);
      tab.type = 'button';
      tab.id = `nbedit-connect-tab-${id}`;
      tab.setAttribute('role', 'tab');
      tab.setAttribute('aria-controls', this._panel.id);
      tab.addEventListener('click', () => this._select(index));
      return tab;
    });
    this.node.replaceChildren(...this._tabs);
    this._select(
      Math.max(
        clients.findIndex(({ id }) => id === selectedId),
        0
      )
    );
    if (hadFocus) {
      this.focusable?.focus();
    }
  }

  private _select(index: number): void {
    this._index = index;
    this._tabs.forEach((tab, each) => {
      tab.setAttribute('aria-selected', `${each === index}`);
      tab.tabIndex = each === index ? 0 : -1;
    });
    const { selected } = this;
    const tab = this._tabs[index];
    if (selected !== null && tab !== undefined) {
      this._panel.setAttribute('aria-labelledby', tab.id);
      this._onSelect(selected);
    }
  }

  private _onKeyDown(event: KeyboardEvent): void {
    const getTarget = KEY_TARGETS[event.key];
    if (
      getTarget === undefined ||
      event.altKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey
    ) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this._select(getTarget(this._index, this._tabs.length));
    this.focusable?.focus();
  }

  private _clients: readonly AgentClient[] = [];
  private _tabs: readonly HTMLButtonElement[] = [];
  private _index = 0;
}
