import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Token } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

/** The settings of this extension, of which schema/plugin.json tells users. */
export interface Choices {
  /** Of which edits a toast tells; `background` are those of notebooks that are not in sight. */
  readonly toasts: 'all' | 'background' | 'none';
  /** Whether edited cells light up for a moment. */
  readonly flash: boolean;
  /** Whether edited cells are marked until they were looked at. */
  readonly marks: boolean;
  /** Whether the notebook in front scrolls to what is edited. */
  readonly follow: boolean;
  /** What to do with a cell that both sides changed. */
  readonly conflict: 'ask' | 'keepMine' | 'takeTheirs';
}

/** What holds where nothing is set, and where there is no registry of settings. */
export const DEFAULTS: Choices = {
  toasts: 'all',
  flash: true,
  marks: true,
  follow: false,
  conflict: 'ask'
};

/** What holds where this is set; what has no such value counts as not set. */
export function chosen(values: Readonly<Record<string, unknown>>): Choices {
  const { toasts, flash, marks, follow, conflict } = values;
  return {
    toasts: oneOf(['all', 'background', 'none'], toasts) ?? DEFAULTS.toasts,
    flash: typeof flash === 'boolean' ? flash : DEFAULTS.flash,
    marks: typeof marks === 'boolean' ? marks : DEFAULTS.marks,
    follow: typeof follow === 'boolean' ? follow : DEFAULTS.follow,
    conflict: oneOf(['ask', 'keepMine', 'takeTheirs'], conflict) ?? DEFAULTS.conflict
  };
}

function oneOf<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find(item => item === value);
}

/** The settings as they are, and as they change. */
export class Settings {
  get now(): Choices {
    return this._now;
  }

  /** Emitted after a change, with what holds from then on. */
  get changed(): ISignal<this, Choices> {
    return this._changed;
  }

  /** Take over what is set. */
  set(values: Readonly<Record<string, unknown>>): void {
    this._now = chosen(values);
    this._changed.emit(this._now);
  }

  private _now = DEFAULTS;
  private readonly _changed = new Signal<this, Choices>(this);
}

export const INbEditSettings = new Token<Settings>(
  'jupyter-nbedit:INbEditSettings',
  'What is set about edits that come into open notebooks.'
);

/** Its id is the name of the package and of the file in `schema`. */
export const settings: JupyterFrontEndPlugin<Settings> = {
  id: 'jupyter-nbedit:plugin',
  description: 'What is set about edits that come into open notebooks.',
  autoStart: true,
  provides: INbEditSettings,
  optional: [ISettingRegistry],
  activate: (_: JupyterFrontEnd, registry: ISettingRegistry | null) => {
    const values = new Settings();
    // Whoever needs the settings does not wait for them: until they are here, the defaults hold.
    void registry
      ?.load(settings.id)
      .then(loaded => {
        const take = (): void => values.set(loaded.composite);
        loaded.changed.connect(take);
        take();
      })
      .catch((error: unknown) => {
        console.warn('jupyter-nbedit: the settings were not loaded; the defaults hold.', error);
      });
    return values;
  }
};
