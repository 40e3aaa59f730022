import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import {
  goToCell,
  holdInView,
  isFocusLost,
  isNearViewport,
  preserveViewport,
  releaseScrollHold
} from '../ui/viewport';
import { BlockNavigator, type NavigatorEntry } from './blockNavigator';
import { comparePositions, planLayoutChanges, type PlacedWidget } from './blockPosition';
import { BLOCK_CLASS, type CellBlock } from './cellBlock';
import { NotebookBar, type BarItem } from './notebookBar';

/** Changes within this time cause one update, in milliseconds. */
const UPDATE_DELAY = 50;

/** What waits for the user, in order: own text at stake, what is not made yet, made, or proposed. */
const KINDS = ['conflict', 'deferred', 'unseen', 'proposal'] as const;

/** What has the focus at a cell and is not the cell. */
const OWN_ELEMENTS = `.${BLOCK_CLASS}, .jp-nbedit-mark, .jp-nbedit-line`;

/** The prefix of our commands: their shortcuts also hold in these elements. */
const COMMAND_PREFIX = 'nbedit:';

/** The class of cells whose input is hidden. */
const FOLDED_CLASS = 'jp-nbedit-mod-folded';

/** Something at a cell that waits for the user. */
export interface BlockEntry extends NavigatorEntry {
  /** Identifies the entry among the entries of all providers. */
  readonly key: string;
  /** What is shown now, in this order. */
  readonly widgets: readonly Widget[];
  /** Number of changes that it stands for, as the server counts them; 1 if it is left out. */
  readonly changeCount?: number;
  /** What the commands of its two decisions are called, acceptance first; nothing to decide if left out. */
  readonly commandLabels?: readonly [accept: string, reject: string];
  /** Its block if it is shown now. */
  readonly block: CellBlock | null;
  /** Whether it is about the cell at its position, and not about a place beside it. */
  readonly isAboutCell: boolean;
  /** Whether a decision on it changes the tab only, for which the user needs no right. */
  readonly isLocal?: boolean;
  /** Show its block; resolves when the block is drawn. */
  open(): Promise<CellBlock | null>;
  /** Hide its block, if it is shown only on demand. */
  close?(): void;
  /** Whether the block is shown in place of the input of its cell. */
  readonly isCellFolded?: boolean;
  /** Also show the input of its cell. */
  showCell?(): void;
}

/** What a provider shows. */
export interface ProviderState {
  /** Entries at the same side of a cell are in the order in which they are shown. */
  readonly entries: readonly BlockEntry[];
  /** Widgets at other places than the places of the entries. */
  readonly lines?: readonly PlacedWidget[];
  /** Widgets that are not shown any more; they are disposed. */
  readonly removedWidgets: readonly Widget[];
  /** The ids of the cells of which no provider of a later kind shows a change. */
  readonly hiddenCells?: readonly string[];
  /** Null if there is nothing to say. */
  readonly barItem: BarItem | null;
}

/** A kind of changes that wait for the user, in one view of a notebook. */
export interface BlockProvider {
  readonly kind: (typeof KINDS)[number];
  /** Whether there is nothing to show and nothing shown. */
  readonly isEmpty: boolean;
  /**
   * Compute what is shown at the cells that the notebook has now.
   *
   * @param hiddenCells The ids of cells of which providers of an earlier kind show the changes: there
   *   is a conflict in them, or they are running.
   */
  update(hiddenCells: ReadonlySet<string>): ProviderState;
}

/**
 * What waits for the user in one view of a notebook: blocks at cells, the bar above them, and the
 * way from one to the next.
 */
export class NotebookBlocks {
  constructor(
    readonly panel: NotebookPanel,
    private readonly _commands: CommandRegistry,
    trans: TranslationBundle
  ) {
    this._bar = new NotebookBar(direction => void this.goTo(direction), trans);
    panel.contentHeader.addWidget(this._bar);
    const { content, context } = panel;
    const listen = (): void => {
      content.model?.metadataChanged.connect(this.requestUpdate);
      content.model?.contentChanged.connect(this.requestUpdate);
      content.model?.cells.changed.connect(this.requestUpdate);
      this.requestUpdate();
    };
    content.modelChanged.connect(listen);
    content.stateChanged.connect(() => this._showEditedCell());
    context.pathChanged.connect(this.requestUpdate);
    void context.ready.then(this.requestUpdate);
    panel.disposed.connect(() => Signal.disconnectReceiver(this.requestUpdate));
    // What arrives while a notebook is hidden is shown when it becomes visible, such as when the
    // notebook in front of it is closed.
    MessageLoop.installMessageHook(panel, (_, { type }) => {
      if (type === 'after-show' || type === 'after-attach') {
        this.requestUpdate();
      }
      return true;
    });
    content.node.addEventListener('keydown', event => this._onKeydown(event));
    content.node.addEventListener('focusin', ({ target }) => this._onFocus(target as Element));
    content.node.addEventListener('focusout', () => {
      // A removed cell disposes its block before.
      setTimeout(() => this._checkFocusedBlock());
    });
    listen();
  }

  /** Emitted when the entries have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** All entries, in the order in which they are shown. */
  get entries(): readonly BlockEntry[] {
    return this._navigator.entries;
  }

  addProvider(provider: BlockProvider): void {
    const providers = [...this._providers, provider];
    this._providers = KINDS.flatMap(kind => providers.filter(each => each.kind === kind));
    this.requestUpdate();
  }

  /** Schedule an update. */
  readonly requestUpdate = (): void => {
    if (!this._isScheduled && !this._isEmpty()) {
      this._isScheduled = true;
      setTimeout(() => {
        this._isScheduled = false;
        this.update();
      }, UPDATE_DELAY);
    }
  };

  /** Go to the next or the previous entry, from the active cell. */
  async goTo(direction: 'next' | 'previous'): Promise<void> {
    const { activeCellIndex } = this.panel.content;
    const isOnWay = this._moveCount > 0;
    if (!isOnWay && this._navigator.current?.position.cell !== activeCellIndex) {
      this._navigator.reset();
    }
    await this._goOn(direction);
  }

  /** Go to the next or the previous entry, from the current entry. */
  private async _goOn(direction: 'next' | 'previous'): Promise<void> {
    const entry = this._navigator.find(direction, this.panel.content.activeCellIndex);
    if (entry !== null) {
      await this.goToEntry(entry.key);
    }
  }

  /** Show the block of an entry, and move the focus to it. */
  async goToEntry(key: string): Promise<void> {
    this._moveCount++;
    try {
      await this._moveToEntry(key);
    } finally {
      this._moveCount--;
    }
  }

  private async _moveToEntry(key: string): Promise<void> {
    const { content } = this.panel;
    const entry = this._find(key);
    if (entry === undefined) {
      return;
    }
    const { current } = this._navigator;
    if (current !== null && current.key !== key) {
      current.close?.();
    }
    this._navigator.visit(entry);
    const focused = document.activeElement;
    await entry.open();
    this.update();
    if (document.activeElement !== focused && !this.canMoveFocus()) {
      // The user types meanwhile.
      return;
    }
    const cell = content.widgets[this._find(key)?.position.cell ?? -1];
    if (cell !== undefined && this._navigator.current?.key === key) {
      NotebookActions.expandParent(cell, content);
      await goToCell(content, cell);
      await cell.ready;
      this.update();
      releaseScrollHold(content);
    }
    const { current: currentEntry } = this._navigator;
    if (currentEntry?.key === key) {
      const node = currentEntry.block?.node;
      if (node !== undefined) {
        holdInView(content, node);
        node.focus({ preventScroll: true });
      }
    } else if (currentEntry === null && this.canMoveFocus()) {
      // The entry was removed meanwhile, such as by a decision on another entry at its cell.
      await this._leaveRemovedEntry();
    }
  }

  /**
   * Carry out a decision on an entry. Then, if the entry is gone and the user does not type in a
   * cell, move the focus to the next one, or to the notebook if there is none.
   */
  async decide(key: string, carryOut: () => Promise<void>): Promise<void> {
    const entry = this._find(key);
    if (entry !== undefined) {
      this._navigator.visit(entry);
    }
    const canMoveFocus = this.canMoveFocus();
    this._decisionCount++;
    try {
      await carryOut();
      this.update();
    } finally {
      this._decisionCount--;
    }
    if (this.panel.isDisposed || this._find(key) !== undefined) {
      return;
    }
    if (this._findFocusedEntry() !== undefined) {
      // The user has gone to another entry meanwhile.
      return;
    }
    if (canMoveFocus && this.canMoveFocus()) {
      await this._leaveRemovedEntry();
    }
  }

  /** Move the focus from an entry that is gone to the next entry, or to the notebook. */
  private async _leaveRemovedEntry(): Promise<void> {
    if (this.entries.length > 0) {
      await this._goOn('next');
    } else {
      this.returnFocus();
    }
  }

  /** Return whether the block with the focus has an action of a kind. */
  hasAction(kind: 'accept' | 'reject'): boolean {
    return this._findFocusedEntry()?.block?.hasAction(kind) ?? false;
  }

  /** Run the action of a kind in the block with the focus. */
  runAction(kind: 'accept' | 'reject'): void {
    this._findFocusedEntry()?.block?.runAction(kind);
  }

  /** Move the focus to the notebook, in command mode. */
  returnFocus(): void {
    // JupyterLab does not move the focus while it is within the notebook.
    (document.activeElement as HTMLElement | null)?.blur();
    this.panel.content.mode = 'command';
    this.panel.content.activate();
  }

  /**
   * Change to command mode if the user types in a cell that is about to be hidden: a hidden editor
   * loses the focus, and then keys would do nothing.
   */
  leaveEditor(cellIndex: number): void {
    const { content } = this.panel;
    if (content.mode === 'edit' && content.activeCellIndex === cellIndex) {
      const focused = document.activeElement;
      // JupyterLab moves the focus to the cell.
      content.mode = 'command';
      if (focused instanceof HTMLElement && focused.closest(OWN_ELEMENTS) !== null) {
        focused.focus({ preventScroll: true });
      }
    }
  }

  /** Update now what is shown. */
  update(): void {
    const { content, context } = this.panel;
    // The viewport of a hidden notebook cannot be preserved; it is updated when it is shown. Before
    // it is loaded, neither its cells nor its language are known.
    const canUpdate = !this.panel.isDisposed && this.panel.isVisible && context.isReady;
    if (!canUpdate || content.model === null || this._isEmpty()) {
      return;
    }
    const focusedKey = this._findFocusedEntry()?.key;
    const wasTyping = document.activeElement !== null && isEditable(document.activeElement);
    const hiddenCells = new Set<string>();
    const states = this._providers.map(provider => {
      const state = provider.update(hiddenCells);
      state.hiddenCells?.forEach(id => hiddenCells.add(id));
      return state;
    });
    const entries = states
      .flatMap(state => state.entries)
      .sort((a, b) => comparePositions(a.position, b.position));
    const hasChanged = describeEntries(entries) !== describeEntries(this.entries);
    this._navigator.entries = entries;
    this._describe(states);
    this._place(states);
    this._giveFocusBack();
    if (hasChanged) {
      this._changed.emit();
    }
    // A decision moves the focus itself, when it is carried out.
    const isEntryGone = focusedKey !== undefined && this._find(focusedKey) === undefined;
    // What somebody types next must not decide on another change.
    if (isEntryGone && !wasTyping && this._decisionCount === 0) {
      void this._leaveRemovedEntry();
    }
  }

  /** Put all widgets at their cells, and remove widgets that are not shown any more. */
  private _place(states: readonly ProviderState[]): void {
    const { content } = this.panel;
    const placedWidgets: PlacedWidget[] = [
      ...this.entries.flatMap(({ widgets, position }) =>
        widgets.map(widget => ({ widget, position }))
      ),
      ...states.flatMap(({ lines }) => lines ?? [])
    ];
    // The changes of the layout may render some of them.
    const placeholders = placedWidgets
      .map(({ position }) => content.widgets[position.cell])
      .filter((cell): cell is Cell => cell?.isPlaceholder() === true);
    const removedWidgets = states.flatMap(state => state.removedWidgets);
    const layoutChanges = [
      ...planLayoutChanges(content.widgets, placedWidgets),
      ...this._planFolding()
    ];
    const isShown = states.some(({ barItem }) => barItem !== null);
    if (removedWidgets.length > 0 || layoutChanges.length > 0 || isShown === this._bar.isHidden) {
      const hadFocus = this._bar.node.contains(document.activeElement);
      if (content.outerNode.scrollTop === 0 && isShown === this._bar.isHidden) {
        // At the top, the cells move down for the bar; after that, their position is held.
        releaseScrollHold(content);
        this._bar.setShown(isShown);
      }
      if (isShown && removedWidgets.some(({ node }) => node.contains(document.activeElement))) {
        // Until the focus is at the next change, keys must not reach the cells.
        this._bar.focus();
      }
      this._isPlacing = true;
      try {
        preserveViewport(content, () => {
          removedWidgets.forEach(widget => widget.dispose());
          layoutChanges.forEach(step => step());
          this._bar.setShown(isShown);
        });
      } finally {
        this._isPlacing = false;
      }
      if (hadFocus && !isShown) {
        content.activate();
      }
    }
    this._awaitCells(placeholders);
  }

  /**
   * Hold the focus that was in a block whose cell was removed, such as by a move: in the notebook,
   * what the user types on would be commands.
   */
  private readonly _onBlockDisposed = (block: Widget): void => {
    const { _focusedBlock: focused } = this;
    const isShown = !this._isPlacing && !this._bar.isHidden && !this.panel.isDisposed;
    if (focused?.block === block && isShown && isFocusLost()) {
      this._bar.focus();
      this._heldKey = focused.key;
      this.requestUpdate();
    }
  };

  /** Forget the block that the focus was in, unless the focus is still there. */
  private _checkFocusedBlock(): void {
    if (this._focusedBlock?.block.node.contains(document.activeElement) !== true) {
      this._focusedBlock = null;
    }
  }

  /** Move the focus on to the block from which it is held, as soon as that is shown again. */
  private _giveFocusBack(): void {
    const block = this._heldKey === null ? null : this._find(this._heldKey)?.block;
    if (document.activeElement !== this._bar.node || block === undefined) {
      this._heldKey = null;
    } else if (block?.node.isConnected === true) {
      this._heldKey = null;
      block.takeFocus();
    }
  }

  /** Return the changes that fold the inputs of cells for which blocks stand, and show others. */
  private _planFolding(): (() => void)[] {
    const foldedCells = new Set(
      this.entries.filter(entry => entry.isCellFolded).map(({ position }) => position.cell)
    );
    return this.panel.content.widgets.flatMap((cell, index) => {
      const isFolded = foldedCells.has(index);
      return cell.hasClass(FOLDED_CLASS) === isFolded
        ? []
        : [() => void cell.toggleClass(FOLDED_CLASS, isFolded)];
    });
  }

  /** Show the input of a folded cell in which the user wants to type. */
  private _showEditedCell(): void {
    const { mode, activeCell, activeCellIndex } = this.panel.content;
    if (mode === 'edit' && activeCell?.hasClass(FOLDED_CLASS) === true) {
      // Before JupyterLab moves the focus to the editor.
      activeCell.removeClass(FOLDED_CLASS);
      this.entries
        .filter(({ position }) => position.cell === activeCellIndex)
        .forEach(entry => entry.showCell?.());
      this.requestUpdate();
    }
  }

  /** Update when cells that were not rendered yet are ready. */
  private _awaitCells(cells: readonly Cell[]): void {
    for (const cell of cells) {
      if (!this._awaitedCells.has(cell)) {
        this._awaitedCells.add(cell);
        // Out of sight, JupyterLab renders one after the other: one update is enough for several.
        void cell.ready.then(() => {
          if (isNearViewport(this.panel.content, cell.node)) {
            this.update();
          } else {
            this.requestUpdate();
          }
        });
      }
    }
  }

  private _describe(states: readonly ProviderState[]): void {
    const { currentIndex, current } = this._navigator;
    const before = countChanges(this.entries.slice(0, currentIndex ?? 0));
    this._bar.describe(
      states.flatMap(({ barItem }) => barItem ?? []),
      {
        range: current === null ? null : [before + 1, before + countChanges([current])],
        count: countChanges(this.entries)
      }
    );
    for (const { key, block } of this.entries) {
      if (block !== null) {
        block.isCurrent = key === current?.key;
      }
    }
  }

  private _isEmpty(): boolean {
    return this._bar.isHidden && this._providers.every(({ isEmpty }) => isEmpty);
  }

  private _find(key: string): BlockEntry | undefined {
    return this.entries.find(entry => entry.key === key);
  }

  private _findFocusedEntry(): BlockEntry | undefined {
    return this._findEntryAt(document.activeElement);
  }

  private _findEntryAt(node: Element | null): BlockEntry | undefined {
    return this.entries.find(({ widgets }) => widgets.some(widget => widget.node.contains(node)));
  }

  /** Return whether the user neither types nor works outside of this view. */
  canMoveFocus(): boolean {
    const focused = document.activeElement;
    if (focused === null || focused === document.body) {
      return true;
    }
    if (!this.panel.node.contains(focused)) {
      return false;
    }
    return focused.closest(OWN_ELEMENTS) !== null || !isEditable(focused);
  }

  private _onFocus(target: Element): void {
    const entry = this._findEntryAt(target);
    const block = target.closest(`.${BLOCK_CLASS}`) === null ? null : entry?.block;
    this._focusedBlock = block == null || entry === undefined ? null : { block, key: entry.key };
    block?.disposed.connect(this._onBlockDisposed);
    if (entry !== undefined && entry !== this._navigator.current) {
      this._navigator.visit(entry);
      this.requestUpdate();
    }
  }

  /** Run our shortcuts, which JupyterLab does not look for in our elements. */
  private _onKeydown(event: KeyboardEvent): void {
    const target = event.target as Element;
    if (event.defaultPrevented || target.closest(OWN_ELEMENTS) === null) {
      return;
    }
    if (event.key === 'Escape') {
      const entry = this._findFocusedEntry();
      this.returnFocus();
      entry?.close?.();
      this.update();
      event.preventDefault();
      return;
    }
    const keystroke = CommandRegistry.keystrokeForKeydownEvent(event);
    const binding = this._commands.keyBindings.find(
      ({ command, keys }) =>
        command.startsWith(COMMAND_PREFIX) && keys.length === 1 && keys[0] === keystroke
    );
    const isTyping = isEditable(target) && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (binding !== undefined && !isTyping) {
      event.preventDefault();
      // `execute` also runs a command that is not enabled.
      if (this._commands.isEnabled(binding.command, binding.args)) {
        void this._commands.execute(binding.command, binding.args);
      }
    }
  }

  private readonly _bar: NotebookBar;
  private readonly _navigator = new BlockNavigator<BlockEntry>();
  private readonly _changed = new Signal<this, void>(this);
  private readonly _awaitedCells = new WeakSet<Cell>();
  /** The block that the focus is in, or was when its cell was removed, and the key of its entry. */
  private _focusedBlock: { readonly block: CellBlock; readonly key: string } | null = null;
  /** Whether blocks are removed because they are not shown any more. */
  private _isPlacing = false;
  /** The key of the entry whose block had the focus that the bar holds. */
  private _heldKey: string | null = null;
  private _providers: readonly BlockProvider[] = [];
  private _isScheduled = false;
  /** How many decisions are being carried out. */
  private _decisionCount = 0;
  /** How many times the focus is on its way to an entry. */
  private _moveCount = 0;
}

/** Return whether keys type a text into an element. */
function isEditable(element: Element): boolean {
  return (
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName) ||
    (element instanceof HTMLElement && element.isContentEditable)
  );
}

/** Return the number of changes for which entries stand. */
export function countChanges(entries: readonly Pick<BlockEntry, 'changeCount'>[]): number {
  return entries.reduce((sum, { changeCount = 1 }) => sum + changeCount, 0);
}

/** Return a text that differs if the entries or the cells at which they are shown do. */
function describeEntries(entries: readonly BlockEntry[]): string {
  return entries
    .map(({ key, position, changeCount }) => `${key} ${position.cell} ${changeCount}`)
    .join();
}
