import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Token } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';
import { chosen, DEFAULTS, type Choices } from './choices';

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
