import { LabIcon } from '@jupyterlab/ui-components';

const picture = (path: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3" fill="#616161" d="${path}"/></svg>`;

export const historyIcon = new LabIcon({
  name: 'nbedit:history',
  svgstr: picture(
    'M13 3a9 9 0 0 0-9 9H1l3.9 3.9.1.1 4-4H6a7 7 0 1 1 2.1 4.9l-1.5 1.5A9 9 0 1 0 13 3zm-1 5v5l4.3 2.5.7-1.2-3.5-2.1V8H12z'
  )
});

export const columnsIcon = new LabIcon({
  name: 'nbedit:columns',
  svgstr: picture('M3 4h8.2v16H3zm1.8 1.8v12.4h4.6V5.8zM12.8 4H21v16h-8.2zm1.8 1.8v12.4h4.6V5.8z')
});
