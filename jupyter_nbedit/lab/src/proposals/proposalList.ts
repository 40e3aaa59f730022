import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { describeError, formatChangeCount } from '../notify/wording';
import { NbEditError } from '../server/client';
import type { Proposal, ProposedPart } from '../server/models';
import type { NbEditServices } from '../services/servicesPlugin';
import { makeAge } from '../ui/age';
import type { DiffView } from '../ui/diffView';
import { cleanText } from '../ui/displayText';
import {
  appendSentence,
  makeDecisionButton,
  makeElement,
  setEnabled,
  showAlert,
  showText
} from '../ui/elements';
import type { Decision } from './decisionController';
import { DecisionToast } from './decisionToast';
import { listPendingParts } from '../server/proposalModel';
import { describeIdentity, formatPurpose, getProposer } from './wording';

/** Maximum length of a path; its end identifies the notebook. */
const MAX_PATH_LENGTH = 200;

/** What the list needs from the application. */
export interface ProposalListActions {
  /** Open the notebook of a proposal. */
  readonly open: (proposal: Proposal) => void;
  /** Show a new notebook that was accepted. */
  readonly showNew: (proposal: Proposal) => void;
  /** Draw the content of a part of a new notebook. */
  readonly draw: (part: ProposedPart, proposal: Proposal) => DiffView | null;
}

/** All proposals, also for notebooks that are not open or do not exist yet. */
export class ProposalList extends Widget {
  constructor(
    private readonly _services: NbEditServices,
    private readonly _actions: ProposalListActions
  ) {
    super();
    const { proposals, right, trans } = _services;
    this.addClass('jp-nbedit-proposals');
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Proposed changes of all notebooks'));
    this.node.append(
      makeElement('h2', '', trans.__('Proposed changes')),
      this._emptyText,
      this._list
    );
    proposals.changed.connect(this._refresh);
    right.changed.connect(this._refresh);
    this.update();
  }

  override dispose(): void {
    this._services.proposals.changed.disconnect(this._refresh);
    this._services.right.changed.disconnect(this._refresh);
    this._items.forEach(item => item.dispose());
    super.dispose();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this._focusItem(0);
  }

  protected override onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    const { pending } = this._services.proposals;
    const focusedIndex = this._items.findIndex(({ node }) => node.contains(document.activeElement));
    const knownItems = new Map(this._items.map(item => [item.snapshot, item]));
    this._items = pending.map(proposal => {
      const snapshot = JSON.stringify([proposal, this._services.right.isGranted]);
      const item =
        knownItems.get(snapshot) ??
        new ProposalItem(proposal, snapshot, this._services, this._actions);
      knownItems.delete(snapshot);
      return item;
    });
    knownItems.forEach(item => item.dispose());
    this._items.forEach(({ node }, index) => {
      if (this._list.children[index] !== node) {
        this._list.insertBefore(node, this._list.children[index] ?? null);
      }
    });
    showText(
      this._emptyText,
      pending.length === 0 ? this._services.trans.__('Nothing is proposed.') : ''
    );
    if (focusedIndex >= 0 && !this.node.contains(document.activeElement)) {
      // The proposal that was decided on is gone: move the focus to the next proposal.
      this._focusItem(focusedIndex);
    }
  }

  /** Move the focus to the item at an index, or to the last item. */
  private _focusItem(index: number): void {
    const item = this._items[Math.min(index, this._items.length - 1)];
    (item?.node.querySelector('button') ?? this.node).focus();
  }

  private readonly _refresh = (): void => this.update();
  private readonly _emptyText = makeElement('p', 'jp-nbedit-proposals-empty');
  private readonly _list = makeElement('ul', 'jp-nbedit-proposal-list');
  private _items: ProposalItem[] = [];
}

/** One proposal of the list. */
class ProposalItem {
  readonly node = makeElement('li', 'jp-nbedit-proposal-item');

  /** @param snapshot The serialized proposal with the right; another state makes a new item. */
  constructor(
    private readonly _proposal: Proposal,
    readonly snapshot: string,
    private readonly _services: NbEditServices,
    private readonly _actions: ProposalListActions
  ) {
    const { path, kind } = _proposal;
    const { trans, right } = _services;
    const parts = listPendingParts(_proposal);
    const shownPath = cleanText(path, MAX_PATH_LENGTH);
    const title = makeElement('div', 'jp-nbedit-proposal-title');
    const summary =
      kind === 'create'
        ? trans._n(
            'proposes a new notebook of %1 cell',
            'proposes a new notebook of %1 cells',
            parts.length,
            parts.length
          )
        : trans.__('proposes %1', formatChangeCount(parts.length, trans));
    const proposer = getProposer(_proposal, trans);
    appendSentence(title, trans.__('%1 %2', proposer, summary), proposer);
    title.title = describeIdentity(_proposal, trans);
    this._buttons = right.offer([
      makeDecisionButton(
        trans.__('Reject'),
        trans.__('Reject what is proposed for %1', shownPath),
        'reject',
        () => void this._decide(() => this._reject())
      ),
      makeDecisionButton(
        trans.__('Accept'),
        trans.__('Accept what is proposed for %1', shownPath),
        'accept',
        () => void this._decide(() => this._accept())
      )
    ]);
    const actions = makeElement('div', 'jp-nbedit-actions');
    actions.append(...this._buttons);
    showAlert(this._notice, []);
    this.node.append(
      kind === 'create'
        ? makeElement('div', 'jp-nbedit-proposal-path', shownPath)
        : this._makeLink(shownPath),
      title,
      ...[formatPurpose(_proposal)]
        .filter(Boolean)
        .map(text => makeElement('div', 'jp-nbedit-purpose', text)),
      makeAge('jp-nbedit-proposal-time', _proposal.created),
      ...(kind === 'create' ? [this._makeContents(parts)] : []),
      this._notice,
      actions
    );
  }

  dispose(): void {
    this._diffViews.forEach(comparison => comparison.dispose());
    this.node.remove();
  }

  private _makeLink(path: string): HTMLElement {
    const link = makeElement('button', 'jp-nbedit-proposal-path', path);
    link.type = 'button';
    link.title = this._services.trans.__('Open the notebook');
    link.addEventListener('click', () => this._actions.open(this._proposal));
    return link;
  }

  /** Make the cells of a new notebook, drawn when the user opens them. */
  private _makeContents(parts: readonly ProposedPart[]): HTMLElement {
    const { trans } = this._services;
    const { length } = parts;
    const details = makeElement('details', 'jp-nbedit-proposal-contents');
    const label = trans._n('Show %1 cell', 'Show %1 cells', length, length);
    details.append(makeElement('summary', '', label));
    details.addEventListener('toggle', () => {
      if (details.open && this._diffViews.length === 0) {
        this._diffViews = parts.flatMap(part => this._actions.draw(part, this._proposal) ?? []);
        details.append(...this._diffViews.map(({ node }) => node));
      }
    });
    return details;
  }

  private async _reject(): Promise<void> {
    await this._services.proposals.reject(this._proposal);
    this._tell('rejected', []);
  }

  private async _accept(): Promise<void> {
    const { edit_id: edit } = await this._services.proposals.accept(this._proposal);
    if (this._proposal.kind === 'create') {
      this._actions.showNew(this._proposal);
    } else if (edit !== null) {
      this._tell('accepted', [edit]);
    }
  }

  /** Tell what was decided, to be undone. */
  private _tell(verdict: Decision['verdict'], edits: readonly number[]): void {
    const { proposal_id: id, kind, path } = this._proposal;
    const numbers = listPendingParts(this._proposal).map(({ part }) => part);
    // A new notebook is decided as a whole.
    const proposal = kind === 'create' ? { id } : { id, parts: numbers };
    const toast = new DecisionToast(
      this._services,
      () => path,
      () => undefined
    );
    toast.show({ verdict, count: numbers.length, proposals: [proposal], edits });
  }

  private async _decide(sendDecision: () => Promise<void>): Promise<void> {
    setEnabled(this._buttons, false);
    showAlert(this._notice, []);
    try {
      await sendDecision();
    } catch (error) {
      showAlert(this._notice, [describeFailure(error, this._services.trans)]);
    } finally {
      setEnabled(this._buttons, true);
    }
  }

  private readonly _buttons: readonly HTMLButtonElement[];
  private readonly _notice = makeElement('div', 'jp-nbedit-notice');
  private _diffViews: DiffView[] = [];
}

function describeFailure(error: unknown, trans: TranslationBundle): string {
  if (error instanceof NbEditError && error.reason === 'cell_changed') {
    return trans.__(
      'Nothing was accepted: cells have changed since this was proposed. Open the notebook to decide on each change.'
    );
  }
  return describeError(error, trans);
}
