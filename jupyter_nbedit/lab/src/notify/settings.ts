import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Token } from '@lumino/coreutils';
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

  /** Use new values. */
  update(values: Readonly<Record<string, unknown>>): void {
    this._current = parseSettings(values);
    this._changed.emit(this._current);
  }

  private _current = DEFAULT_SETTINGS;
  private readonly _changed = new Signal<this, SettingValues>(this);
}

export const INbEditSettings = new Token<Settings>(
  'jupyter-nbedit:INbEditSettings',
  'What is set about edits that come into open notebooks.'
);

/** Its id consists of the names of the package and of the file in `schema`. */
export const settingsPlugin: JupyterFrontEndPlugin<Settings> = {
  id: 'jupyter-nbedit:plugin',
  description: 'What is set about edits that come into open notebooks.',
  autoStart: true,
  provides: INbEditSettings,
  optional: [ISettingRegistry],
  activate: (_: JupyterFrontEnd, registry: ISettingRegistry | null) => {
    const settings = new Settings();
    // The defaults apply until the settings are loaded.
    void registry
      ?.load(settingsPlugin.id)
      .then(registered => {
        const applyValues = (): void => settings.update(registered.composite);
        registered.changed.connect(applyValues);
        applyValues();
      })
      .catch((error: unknown) => {
        console.warn('jupyter-nbedit: the settings were not loaded; the defaults hold.', error);
      });
    return settings;
  }
};
