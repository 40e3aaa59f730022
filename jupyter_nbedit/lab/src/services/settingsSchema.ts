/** The values of the settings that `schema/plugin.json` describes. */
export interface SettingValues {
  /** Which edits show a toast; `background`: those of notebooks that are not visible. */
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
