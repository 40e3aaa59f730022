import { Time } from '@jupyterlab/coreutils';
import { makeElement } from './elements';

/** Ages below this are shown as now, in milliseconds. */
const MIN_AGE = 60_000;

/** Interval at which the ages in the page are updated, in milliseconds. */
const UPDATE_INTERVAL = 30_000;

/** Return the age of an edit or a proposal, in JupyterLab's format. */
export function describeAge(time: string): string {
  const [date, now] = [new Date(time), new Date()];
  return Time.formatHuman(now.getTime() - date.getTime() < MIN_AGE ? now : date);
}

let timer = 0;

/** Make an element with the age of an edit or a proposal, which is updated in the page. */
export function makeAge(className: string, time: string): HTMLTimeElement {
  const node = makeElement('time', `jp-nbedit-age ${className}`, describeAge(time));
  node.dateTime = time;
  node.title = Time.format(new Date(time));
  // So that all of them are as of the same moment.
  scheduleUpdate(0);
  return node;
}

function scheduleUpdate(delay: number): void {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => {
    if (document.visibilityState === 'visible') {
      for (const node of document.querySelectorAll<HTMLTimeElement>('time.jp-nbedit-age')) {
        node.textContent = describeAge(node.dateTime);
      }
    }
    scheduleUpdate(UPDATE_INTERVAL);
  }, delay);
}
