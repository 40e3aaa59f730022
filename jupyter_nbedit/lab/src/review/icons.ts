import { editIcon, LabIcon } from '@jupyterlab/ui-components';
import type { Mode } from '../answers';

function icon(name: string, shape: string): LabIcon {
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">${shape}</svg>`;
  return new LabIcon({ name: `jupyter-nbedit:${name}`, svgstr });
}

/** An eye: somebody looks first. */
export const reviewIcon = icon(
  'review',
  `<g class="jp-icon3" fill="#616161">
    <path fill-rule="evenodd" d="M1 12C5 2.5 19 2.5 23 12C19 21.5 5 21.5 1 12ZM3.3 12C7 19 17 19 20.7 12C17 5 7 5 3.3 12Z"/>
    <circle cx="12" cy="12" r="3.6"/>
  </g>`
);

const pausedIcon = icon(
  'paused',
  '<path class="jp-icon3" fill="#616161" d="M6 5h4v14H6zM14 5h4v14h-4z"/>'
);

/** What stands for each mode. */
export const MODE_ICONS: Readonly<Record<Mode, LabIcon>> = {
  edit: editIcon,
  review: reviewIcon,
  plan: pausedIcon
};
