import type { Mode, ModeReply } from '../server/models';

/** The modes, from the least to the most careful. */
const MODES: readonly Mode[] = ['edit', 'review', 'plan'];

/** A mode of the current notebook or of all notebooks, or that a notebook has no own mode. */
export interface ModeChoice {
  readonly scope: 'notebook' | 'server';
  readonly mode: Mode | null;
}

/** All choices, in the order of menus. */
export const MODE_CHOICES: readonly ModeChoice[] = [
  ...MODES.map(mode => ({ scope: 'notebook' as const, mode })),
  { scope: 'notebook', mode: null },
  ...MODES.map(mode => ({ scope: 'server' as const, mode }))
];

/** Return the choice that the arguments of a command name, or null. */
export function findChoice(args: {
  readonly scope?: unknown;
  readonly mode?: unknown;
}): ModeChoice | null {
  return MODE_CHOICES.find(({ scope, mode }) => scope === args.scope && mode === args.mode) ?? null;
}

/** Return whether a choice is the current choice. */
export function isSelected({ scope, mode }: ModeChoice, reply: ModeReply | null): boolean {
  return reply !== null && mode === (scope === 'notebook' ? reply.own : reply.server);
}

/** Return whether the server refuses all changes because it cannot read the modes of notebooks. */
export function isStopped(
  reply: ModeReply | null
): reply is ModeReply & { readonly unreadable: string } {
  return reply != null && reply.unreadable !== null;
}
