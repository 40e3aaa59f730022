import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { describeAuthor } from '../history/wording';
import { describeError } from '../notify/wording';
import type { NbEditClient } from '../server/client';
import type { McpClient } from '../server/mcpClient';
import type { AgentClient, AgentsReply, HistoryEdit } from '../server/models';
import { makeButton, makeElement, makeStyledButton, setEnabled, showText } from '../ui/elements';
import { connectIcon } from '../ui/icons';
import { ClientTabs } from './clientTabs';
import { makeCopyableText } from './copyText';
import { getNotebookName, LastEditList } from './lastEditList';
import {
  describeEndpoint,
  describeEndpointError,
  describeNext,
  describeStep,
  describeWriteCommand,
  isLoopback,
  type Place
} from './wording';

/** Minimum time between two requests, in milliseconds. */
const REQUEST_INTERVAL = 1000;

/** What the page needs. */
export interface ConnectPanelHost {
  readonly trans: TranslationBundle;
  readonly server: NbEditClient;
  readonly endpoint: McpClient;
  openNotebook(path: string): void;
}

/** Shows how an agent is connected, tests the endpoint, and lists agents that were seen lately. */
export class ConnectPanel extends Widget {
  constructor(private readonly _host: ConnectPanelHost) {
    super();
    const { trans } = _host;
    this.id = 'nbedit-connect';
    this.addClass('jp-nbedit-connect');
    this.node.tabIndex = -1;
    // In the main area, JupyterLab itself makes it the panel of its tab.
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Connect an agent'));
    this.title.label = trans.__('Connect an Agent');
    this.title.caption = trans.__('How an agent is connected to this server');
    this.title.icon = connectIcon;
    this.title.closable = true;

    this._announcement.setAttribute('role', 'status');
    this._warning.hidden = true;
    this._tabs = new ClientTabs(this._clientView, client => this._showClient(client), trans);
    this._lastEdits = new LastEditList(path => _host.openNotebook(path), trans);
    const clients = makeElement('div', 'jp-nbedit-connect-client');
    clients.append(this._tabs.node, this._clientView);
    this._setup.append(this._warning, this._makePlaceChoice(), clients);
    this._setup.hidden = true;
    const content = makeElement('div', 'jp-nbedit-connect-content');
    content.append(
      makeElement('h2', '', trans.__('Connect an agent')),
      makeElement(
        'p',
        '',
        trans.__(
          'An agent that is connected to this server changes notebooks cell by cell, also while they are open. It never runs code.'
        )
      ),
      this._failure,
      this._setup,
      this._makeEndpointSection(),
      this._makeAgentsSection(),
      this._announcement
    );
    this.node.append(content);
  }

  /** Request everything again, unless the page is hidden: then when it is shown. */
  refresh(): void {
    if (!this.isVisible) {
      this._isStale = true;
    } else if (this._requestTimer === null) {
      const delay = Math.max(0, this._lastRequestTime + REQUEST_INTERVAL - Date.now());
      this._requestTimer = window.setTimeout(() => {
        this._requestTimer = null;
        void this._request();
      }, delay);
    }
  }

  override dispose(): void {
    window.clearTimeout(this._requestTimer ?? 0);
    super.dispose();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    if (this._isStale) {
      this._isStale = false;
      this.refresh();
    }
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.onAfterShow(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this.node.contains(document.activeElement)) {
      (this._tabs.focusable ?? this.node).focus();
    }
  }

  private async _request(): Promise<void> {
    const { server, endpoint, trans } = this._host;
    this._lastRequestTime = Date.now();
    let reply: AgentsReply;
    try {
      reply = await server.getAgents(endpoint.url);
    } catch (error) {
      const hadFocus = this._failure.contains(document.activeElement);
      const button = makeButton(trans.__('Try again'), () => this.refresh());
      const text = makeElement('p', '', describeError(error, trans));
      text.setAttribute('role', 'alert');
      this._failure.replaceChildren(text, button);
      if (hadFocus) {
        button.focus();
      }
      return;
    }
    if (!this.isDisposed) {
      const { activeElement } = document;
      const hadFocus = activeElement === this.node || this._failure.contains(activeElement);
      this._failure.replaceChildren();
      this._show(reply);
      if (hadFocus) {
        this._tabs.focusable?.focus();
      }
    }
  }

  private _show(reply: AgentsReply): void {
    const { trans } = this._host;
    const { last_edits: lastEdits } = reply;
    const clients = JSON.stringify(reply.clients);
    this._reply = reply;
    showText(
      this._warning,
      reply.bridge === null
        ? trans.__(
            'The environment of the server has no command jupyter-nbedit, which these clients start. Install jupyter_nbedit into it with pip.'
          )
        : ''
    );
    if (clients !== this._shownClients) {
      this._shownClients = clients;
      this._setup.hidden = false;
      this._tabs.show(reply.clients);
    }
    this._lastEdits.show(lastEdits ?? []);
    showText(
      this._noEdits,
      lastEdits === null
        ? trans.__('The edit history cannot be read, so it is not known which agents were here.')
        : lastEdits.length === 0
          ? trans.__('No agent has changed a notebook yet.')
          : ''
    );
    this._announceEdit(lastEdits?.[0]);
  }

  /** Tell screen readers that an agent has changed a notebook while the page was open. */
  private _announceEdit(edit: HistoryEdit | undefined): void {
    const { trans } = this._host;
    const newest = edit?.edit_id ?? 0;
    if (edit !== undefined && this._newestEdit !== null && newest > this._newestEdit) {
      this._announce(
        trans.__('%1 has changed %2.', describeAuthor(edit, trans), getNotebookName(edit))
      );
    }
    this._newestEdit = newest;
  }

  private _showClient(client: AgentClient): void {
    const { trans } = this._host;
    const place = this._place;
    const step = client[place];
    const { title } = client;
    const nodes: HTMLElement[] = [makeElement('h3', '', title)];
    if (step.write_command !== null) {
      nodes.push(
        makeElement('p', '', describeWriteCommand(step, trans)),
        this._makeCopyable(step.write_command, trans.__('Copy the command for %1', title))
      );
    }
    nodes.push(
      makeElement('p', '', describeStep(step, place, trans)),
      this._makeCopyable(step.text, trans.__('Copy the text for %1', title))
    );
    if (step.link !== '') {
      const link = makeElement('a', '', trans.__('Open this in %1', title));
      link.href = step.link;
      nodes.push(link);
    }
    const tokenVariable = this._reply?.token_variable ?? '';
    nodes.push(
      ...describeNext(client, place, tokenVariable, trans).map(text => makeElement('p', '', text))
    );
    this._clientView.replaceChildren(...nodes);
  }

  /** Make the choice where the agent runs. */
  private _makePlaceChoice(): HTMLElement {
    const { trans } = this._host;
    const node = makeElement('fieldset', 'jp-nbedit-connect-place');
    const labels: Readonly<Record<Place, string>> = {
      local: trans.__('on the computer of this server, for example in a terminal of Jupyter'),
      remote: trans.__('on another computer')
    };
    node.append(makeElement('legend', '', trans.__('The agent runs')));
    for (const place of ['local', 'remote'] as const) {
      const input = makeElement('input', '');
      input.type = 'radio';
      input.name = 'nbedit-connect-place';
      input.checked = place === this._place;
      input.addEventListener('change', () => {
        this._place = place;
        this._loopbackNote.hidden = place === 'local' || !isLoopback(this._host.endpoint.url);
        const { selected } = this._tabs;
        if (selected !== null) {
          this._showClient(selected);
        }
      });
      const label = makeElement('label', '');
      label.append(input, labels[place]);
      node.append(label);
    }
    this._loopbackNote.textContent = trans.__(
      'The address of this page works only on this computer. Open the page under the address by which the other computer reaches the server.'
    );
    this._loopbackNote.hidden = true;
    node.append(this._loopbackNote);
    return node;
  }

  private _makeEndpointSection(): HTMLElement {
    const { trans, endpoint } = this._host;
    const node = makeElement('section', '');
    const result = makeElement('div', 'jp-nbedit-connect-result');
    result.setAttribute('role', 'status');
    const button = makeStyledButton(
      trans.__('Test'),
      trans.__('Test the MCP endpoint'),
      'accept',
      () => void this._testEndpoint(button, result)
    );
    node.append(
      makeElement('h3', '', trans.__('MCP endpoint')),
      makeElement(
        'p',
        '',
        trans.__('For other clients: the address, and the header that has the token of the server.')
      ),
      this._makeCopyable(endpoint.url, trans.__('Copy the address')),
      // eslint-disable-next-line nbedit/visible-text -- a header of HTTP
      this._makeCopyable('Authorization: Bearer $JUPYTER_TOKEN', trans.__('Copy the header')),
      makeElement(
        'p',
        'jp-nbedit-connect-hint',
        trans.__(
          'The command “jupyter server list”, on the computer of the server, shows the token. On JupyterHub, the page “Token” makes one.'
        )
      ),
      button,
      result
    );
    return node;
  }

  private async _testEndpoint(button: HTMLButtonElement, result: HTMLElement): Promise<void> {
    const { trans, endpoint } = this._host;
    setEnabled([button], false);
    result.classList.remove('jp-mod-failed');
    result.textContent = trans.__('Testing…');
    try {
      result.textContent = describeEndpoint(await endpoint.describeEndpoint(), trans);
    } catch (error) {
      result.classList.add('jp-mod-failed');
      result.textContent = describeEndpointError(error, trans);
    } finally {
      setEnabled([button], true);
    }
  }

  private _makeAgentsSection(): HTMLElement {
    const { trans } = this._host;
    const node = makeElement('section', '');
    node.append(
      makeElement('h3', '', trans.__('Agents seen lately')),
      this._noEdits,
      this._lastEdits.node
    );
    return node;
  }

  private _makeCopyable(text: string, buttonName: string): HTMLElement {
    return makeCopyableText(text, buttonName, this._announce, this._host.trans);
  }

  private readonly _announce = (text: string): void => {
    this._announcement.textContent = text;
  };

  private readonly _tabs: ClientTabs;
  private readonly _lastEdits: LastEditList;
  private readonly _setup = makeElement('div', '');
  private readonly _warning = makeElement('p', 'jp-nbedit-connect-warning');
  private readonly _loopbackNote = makeElement('p', 'jp-nbedit-connect-warning');
  private readonly _clientView = makeElement('div', 'jp-nbedit-connect-panel');
  private readonly _noEdits = makeElement('p', 'jp-nbedit-connect-hint');
  private readonly _failure = makeElement('div', 'jp-nbedit-error');
  private readonly _announcement = makeElement('div', 'jp-nbedit-visually-hidden');
  private _place: Place = 'local';
  private _reply: AgentsReply | null = null;
  private _shownClients = '';
  private _newestEdit: number | null = null;
  private _isStale = true;
  private _lastRequestTime = Number.NEGATIVE_INFINITY;
  private _requestTimer: number | null = null;
}
