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
