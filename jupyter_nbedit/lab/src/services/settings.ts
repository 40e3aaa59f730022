import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal, type ISignal } from '@lumino/signaling';
import { DEFAULT_SETTINGS, parseSettings, type SettingValues } from './settingsSchema';

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
