import type { TranslationBundle } from '@jupyterlab/translation';
import { LiveToast, TOAST_TIME, type ToastContent } from './liveToast';
import type { ConflictChoice, OpenConflict, OpenConflicts } from './openConflicts';
import type { ToastHost } from './toasts';
import { ViewButton } from './viewButton';
import { describeConflicts } from './wording';

interface Toast {
  readonly live: LiveToast;
  readonly conflicts: readonly OpenConflict[];
  readonly viewButton: ViewButton;
}

/** The toasts about conflicts in one notebook: one for each merge with the file. */
export class ConflictToasts {
  constructor(
    private readonly _notebook: ToastHost,
    private readonly _conflicts: OpenConflicts,
    private readonly _trans: TranslationBundle
  ) {
    _conflicts.changed.connect(() => this._update());
  }

  /** Tell of new conflicts, which are open. */
  show(conflicts: readonly OpenConflict[]): void {
    const viewButton = this._makeViewButton();
    const live = new LiveToast(this._describeOpen(conflicts, viewButton));
    this._toasts.push({ live, conflicts, viewButton });
  }

  /** Tell that a setting has resolved conflicts. */
  showChoice(conflicts: readonly OpenConflict[], choice: ConflictChoice): void {
    const viewButton = this._makeViewButton();
    const describe = (): ToastContent => ({
      message: this._describe(conflicts, choice),
      type: 'info',
      autoClose: TOAST_TIME,
      actions: viewButton.makeActions(this._listKeys(conflicts), () => live.update(describe))
    });
    const live = new LiveToast(describe());
  }

  /** Remove what is resolved from the toasts. */
  private _update(): void {
    for (const toast of this._toasts) {
      const open = toast.conflicts.filter(conflict => this._conflicts.has(conflict));
      if (open.length === 0) {
        toast.live.dismiss();
      } else {
        toast.live.change(this._describeOpen(open, toast.viewButton));
      }
    }
    this._toasts = this._toasts.filter(({ conflicts }) =>
      conflicts.some(conflict => this._conflicts.has(conflict))
    );
  }

  private _describeOpen(open: readonly OpenConflict[], viewButton: ViewButton): ToastContent {
    const isOne = open.length === 1;
    return {
      message: this._describe(open, null),
      type: 'warning',
      autoClose: false,
      actions: [
        ...viewButton.makeActions(this._listKeys(open), () => {
          const toast = this._toasts.find(each => each.viewButton === viewButton);
          toast?.live.update(() =>
            this._describeOpen(
              toast.conflicts.filter(conflict => this._conflicts.has(conflict)),
              viewButton
            )
          );
        }),
        {
          label: isOne ? this._trans.__('Mine') : this._trans.__('All mine'),
          caption: this._trans._n('Keep your text', 'Keep your texts', open.length),
          callback: () => void this._conflicts.decide(open, 'mine')
        },
        {
          label: isOne ? this._trans.__('Theirs') : this._trans.__('All theirs'),
          caption: this._trans._n('Take the other text', 'Take the other texts', open.length),
          callback: () => void this._conflicts.decide(open, 'theirs')
        }
      ]
    };
  }

  private _describe(conflicts: readonly OpenConflict[], choice: ConflictChoice | null): string {
    const { fileName, isCurrent } = this._notebook;
    const clients = [...new Set(conflicts.flatMap(conflict => conflict.clients))];
    return describeConflicts(
      clients,
      isCurrent ? null : fileName,
      conflicts.length,
      choice,
      this._trans
    );
  }

  private _listKeys(conflicts: readonly OpenConflict[]): string[] {
    const keys = new Set(conflicts.map(({ key }) => key));
    return this._notebook.getKeys().filter(key => keys.has(key));
  }

  private _makeViewButton(): ViewButton {
    return new ViewButton(cell => this._notebook.viewConflict(cell), this._trans);
  }

  private _toasts: Toast[] = [];
}
