import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal, type ISignal } from '@lumino/signaling';

/** The values of the settings that `schema/plugin.json` describes. */
export interface SettingValues {
  /** Which edits show a toast; `background`: edits of notebooks that are not visible. */
  readonly toasts: 'all' | 'background' | 'none';
  /** Whether edited cells are highlighted for a moment. */
  readonly flash: boolean;
  /** Whether changed cells are marked until the user keeps, undoes or edits the change. */
  readonly marks: boolean;
  /** Whether the current notebook scrolls to edited cells. */
  readonly follow: boolean;
  /** What to do with a cell that both sides changed. */
  readonly conflict: 'ask' | 'keepMine' | 'takeTheirs';
}

/** The values without a settings registry, and of settings that are not set. */
export const DEFAULT_SETTINGS: SettingValues = {
  toasts: 'all',
  flash: true,
  marks: true,
  follow: false,
  conflict: 'ask'
};

/** Return valid values; a setting with another value counts as not set. */
export function parseSettings(values: Readonly<Record<string, unknown>>): SettingValues {
  const { toasts, flash, marks, follow, conflict } = values;
  return {
    toasts: findAllowed(['all', 'background', 'none'], toasts) ?? DEFAULT_SETTINGS.toasts,
    flash: typeof flash === 'boolean' ? flash : DEFAULT_SETTINGS.flash,
    marks: typeof marks === 'boolean' ? marks : DEFAULT_SETTINGS.marks,
    follow: typeof follow === 'boolean' ? follow : DEFAULT_SETTINGS.follow,
    conflict: findAllowed(['ask', 'keepMine', 'takeTheirs'], conflict) ?? DEFAULT_SETTINGS.conflict
  };
}

function findAllowed<T extends string>(allowedValues: readonly T[], value: unknown): T | undefined {
  return allowedValues.find(item => item === value);
}

/** The current settings, with a signal for changes. */
export class Settings {
  get current(): SettingValues {
    return this._current;
  }

  /** Emitted with the new values after a change. */
  get changed(): ISignal<this, SettingValues> {
    return this._changed;
  }

  /** Read the settings of a plugin and follow them; until then, the defaults apply. */
  async load(registry: ISettingRegistry | null, pluginId: string): Promise<void> {
    try {
      const registered = await registry?.load(pluginId);
      const applyValues = (): void => this._update(registered?.composite ?? {});
      registered?.changed.connect(applyValues);
      applyValues();
    } catch (error) {
      console.warn('jupyter-nbedit: the settings were not loaded; the defaults hold.', error);
    }
  }

  private _update(values: Readonly<Record<string, unknown>>): void {
    this._current = parseSettings(values);
    this._changed.emit(this._current);
  }

  private _current = DEFAULT_SETTINGS;
  private readonly _changed = new Signal<this, SettingValues>(this);
}
