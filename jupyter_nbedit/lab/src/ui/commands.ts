/** The command that shows how agents are connected; several plugins use it. */
export const CONNECT = 'nbedit:connect-agent';

/** The id of the history panel. */
export const HISTORY_PANEL = 'nbedit-history';
