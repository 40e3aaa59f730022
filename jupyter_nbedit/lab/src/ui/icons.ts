import { LabIcon } from '@jupyterlab/ui-components';

function buildIcon(name: string, shape: string): LabIcon {
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">${shape}</svg>`;
  return new LabIcon({ name: `jupyter-nbedit:${name}`, svgstr });
}

/** A clock that runs back. */
export const historyIcon = buildIcon(
  'history',
  '<path class="jp-icon3" fill="#616161" d="M13 3a9 9 0 0 0-9 9H1l3.9 3.9.1.1 4-4H6a7 7 0 1 1 2.1 4.9l-1.5 1.5A9 9 0 1 0 13 3zm-1 5v5l4.3 2.5.7-1.2-3.5-2.1V8H12z"/>'
);

export const columnsIcon = buildIcon(
  'columns',
  '<path class="jp-icon3" fill="#616161" d="M3 4h8.2v16H3zm1.8 1.8v12.4h4.6V5.8zM12.8 4H21v16h-8.2zm1.8 1.8v12.4h4.6V5.8z"/>'
);

/** The head of a robot: agents may edit. */
export const agentIcon = buildIcon(
  'agent',
  `<path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M11 2h2v3h4a3 3 0 0 1 3 3v9a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3V8a3 3 0 0 1 3-3h4zM7 7a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V8a1 1 0 0 0-1-1zM8 10h2.5v3H8zM13.5 10H16v3h-2.5zM9 15h6v1.5H9zM1 10.5h2v4H1zM21 10.5h2v4h-2z"/>`
);

/** An eye: changes are reviewed first. */
export const reviewIcon = buildIcon(
  'review',
  `<g class="jp-icon3" fill="#616161">
    <path fill-rule="evenodd" d="M1 12C5 2.5 19 2.5 23 12C19 21.5 5 21.5 1 12ZM3.3 12C7 19 17 19 20.7 12C17 5 7 5 3.3 12Z"/>
    <circle cx="12" cy="12" r="3.6"/>
  </g>`
);

export const pausedIcon = buildIcon(
  'paused',
  '<path class="jp-icon3" fill="#616161" d="M6 5h4v14H6zM14 5h4v14h-4z"/>'
);

/** A lock: the user may only read. */
export const readOnlyIcon = buildIcon(
  'read-only',
  '<path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M7 10V7a5 5 0 0 1 10 0v3h1a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2zM9 10h6V7a3 3 0 0 0-6 0zM11 14v4h2v-4z"/>'
);

/** A plug: an agent is connected. */
export const connectIcon = buildIcon(
  'connect',
  '<path class="jp-icon3" fill="#616161" d="M8 2h2v5h4V2h2v5h2v5a6 6 0 0 1-5 5.9V22h-2v-4.1A6 6 0 0 1 6 12V7h2zm0 7v3a4 4 0 0 0 8 0V9z"/>'
);
