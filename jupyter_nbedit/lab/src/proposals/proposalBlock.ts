import type { TranslationBundle } from '@jupyterlab/translation';
import { CellBlock, type BlockAction } from '../blocks/cellBlock';
import type { Proposal, ProposedPart } from '../server/models';
import type { WriteRight } from '../server/writeRight';
import { makeButton, makeElement } from '../ui/elements';
import { isEditable, type PartOutcome } from './partOutcome';
import { describeIdentity, describePart, getProposer } from './wording';

/** Maximum length of a reason, as the server has it. */
const MAX_REASON_LENGTH = 1000;

/** What users can do with a part. */
export interface PartActions {
  readonly accept: () => void;
  /** @param reason Why, for the agent; or ''. */
  readonly reject: (reason: string) => void;
  /** Let the user edit the text before it is accepted. */
  readonly edit: () => void;
  /** Show what is proposed again. */
  readonly cancelEdit: () => void;
  /** Show or fold the cell that the block stands for. */
  readonly toggleCell: () => void;
}

/** What the block of a part shows besides its diff. */
export interface PartState {
  readonly outcome: PartOutcome;
  readonly isEdited: boolean;
  /** Whether the cell is folded; null if the block does not stand for it. */
  readonly isCellFolded: boolean | null;
}

/** The block of one part of a proposal. */
export class ProposalBlock extends CellBlock {
  constructor(
    proposal: Proposal,
    part: ProposedPart,
    private readonly _partActions: PartActions,
    private readonly _right: WriteRight,
    private readonly _trans: TranslationBundle
  ) {
    const actor = getProposer(proposal, _trans);
    super({
      actor,
      title: _trans.__('%1 %2', actor, describePart(part, _trans)),
      identity: describeIdentity(proposal, _trans),
      purpose: '',
      diff: null,
      actions: []
    });
    this.addClass('jp-nbedit-proposal');
    this._toggle.addEventListener('mousedown', event => event.preventDefault());
    this._form.hidden = true;
    // Before the editor of the diff handles the keys.
    this.node.addEventListener('keydown', event => this._onKeydown(event), true);
    this.details.append(this._foldLine, this._form);
  }

  /** Show the actions that are possible in a state; a user who may only read has no actions. */
  set state({ outcome, isEdited, isCellFolded }: PartState) {
    this._showFold(isCellFolded);
    this._isEdited = isEdited;
    this.actions = this._right.offer(this._listActions(outcome, isEdited));
    this._form.hidden ||= !this._right.isGranted;
  }

  private _listActions(outcome: PartOutcome, isEdited: boolean): BlockAction[] {
    const { name, _trans: trans } = this;
    const { accept, reject, edit, cancelEdit } = this._partActions;
    const isConflict = outcome.kind === 'conflict' && !isEdited;
    const reasonAction: BlockAction = {
      label: trans.__('Reject with a reason…'),
      name: trans.__('Reject with a reason: %1', name),
      kind: 'other',
      run: () => this._askReason()
    };
    const editAction: BlockAction = {
      label: trans.__('Edit first'),
      name: trans.__('Edit first: %1', name),
      kind: 'other',
      run: edit
    };
    const cancelAction: BlockAction = {
      label: trans.__('Cancel'),
      name: trans.__('Cancel the editing: %1', name),
      kind: 'other',
      run: cancelEdit
    };
    const rejectAction: BlockAction = {
      label: isConflict ? trans.__('Mine') : trans.__('Reject'),
      name: isConflict
        ? trans.__('Mine, keep my text and reject: %1', name)
        : trans.__('Reject: %1', name),
      kind: 'reject',
      run: () => reject('')
    };
    return [
      reasonAction,
      ...(isEdited ? [cancelAction] : isEditable(outcome) ? [editAction] : []),
      rejectAction,
      ...this._listAcceptActions(outcome, isConflict, accept)
    ];
  }

  private _listAcceptActions(
    { kind, diff }: PartOutcome,
    isConflict: boolean,
    run: () => void
  ): BlockAction[] {
    const { name, _trans: trans } = this;
    if (kind === 'gone') {
      return diff.after?.source == null
        ? []
        : [
            {
              label: trans.__('Insert as a new cell'),
              name: trans.__('Insert as a new cell: %1', name),
              kind: 'accept',
              run
            }
          ];
    }
    return [
      {
        label: isConflict ? trans.__('Theirs') : trans.__('Accept'),
        name: isConflict
          ? trans.__('Theirs, overwrite my text and accept: %1', name)
          : trans.__('Accept: %1', name),
        kind: 'accept',
        run
      }
    ];
  }

  private _showFold(isFolded: boolean | null): void {
    this._foldLine.hidden = isFolded === null;
    this._toggle.textContent =
      isFolded === true ? this._trans.__('Show the cell') : this._trans.__('Fold the cell');
  }

  /** The reason that the user is typing, or null. */
  get reason(): string | null {
    return this._form.hidden ? null : this._input.value;
  }

  set reason(reason: string | null) {
    this._form.hidden = reason === null;
    this._input.value = reason ?? '';
  }

  override takeFocus(): void {
    if (!this._form.hidden) {
      this._input.focus({ preventScroll: true });
    } else if (this._isEdited) {
      this.diff?.focus();
    } else {
      super.takeFocus();
    }
  }

  /** Accept what is edited, or cancel: in an editor, the shortcuts of blocks are letters. */
  private _onKeydown(event: KeyboardEvent): void {
    if (!this._isEdited || !this.hasFocusInDiff || event.isComposing || event.altKey) {
      return;
    }
    const isAccept = event.key === 'Enter' && (event.ctrlKey || event.metaKey || event.shiftKey);
    if (isAccept || event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      if (isAccept) {
        this.runAction('accept');
      } else {
        this._partActions.cancelEdit();
      }
    }
  }

  private _askReason(): void {
    this._form.hidden = false;
    this._input.focus();
  }

  private _makeForm(): HTMLFormElement {
    const form = makeElement('form', 'jp-nbedit-reason');
    const label = makeElement('label', '', this._trans.__('Reason, for the agent:'));
    label.append(this._input);
    const submit = makeElement('button', 'jp-nbedit-button jp-mod-styled jp-mod-reject');
    submit.type = 'submit';
    submit.textContent = this._trans.__('Reject with this reason');
    submit.setAttribute('aria-label', this._trans.__('Reject with this reason: %1', this.name));
    form.append(label, submit);
    form.addEventListener('submit', event => {
      event.preventDefault();
      this._partActions.reject(this._input.value);
    });
    form.addEventListener('keydown', event => {
      if (event.key === 'Enter' && event.target === this._input && !event.isComposing) {
        event.preventDefault();
        // JupyterLab keeps browsers from doing it.
        form.requestSubmit();
      } else if (event.key === 'Escape') {
        event.preventDefault();
        form.hidden = true;
        this.node.focus({ preventScroll: true });
      }
    });
    return form;
  }

  private readonly _toggle = makeButton('', () => this._partActions.toggleCell());
  private readonly _foldLine = this._makeFoldLine();
  private readonly _input = this._makeInput();
  private readonly _form = this._makeForm();
  private _isEdited = false;

  private _makeFoldLine(): HTMLElement {
    const line = makeElement('div', 'jp-nbedit-fold-line');
    line.append(this._toggle);
    return line;
  }

  private _makeInput(): HTMLInputElement {
    const input = makeElement('input', 'jp-mod-styled');
    input.type = 'text';
    input.maxLength = MAX_REASON_LENGTH;
    return input;
  }
}
