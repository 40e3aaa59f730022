import { Time } from '@jupyterlab/coreutils';

/** Ages below this are shown as now, in milliseconds. */
const MIN_AGE = 60_000;

/**
 * Return the age of an edit or a proposal, in JupyterLab's format.
 *
 * @param now The current time, in milliseconds.
 */
export function describeAge(time: string, now: number): string {
  const age = now - new Date(time).getTime();
  // JupyterLab formats the age relative to the time of the call.
  return Time.formatHuman(new Date(Date.now() - (age < MIN_AGE ? 0 : age)));
}
