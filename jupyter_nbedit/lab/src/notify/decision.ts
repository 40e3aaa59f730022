import type { TranslationBundle } from '@jupyterlab/translation';
import type { NotebookBlocks } from '../blocks/notebookBlocks';
import { isUndoCancelled } from '../server/client';
import { describeError } from './wording';

/** Something on which the user decides. */
export interface Decidable {
  /** Whether a decision is being carried out. */
  isBusy: boolean;
  /** Why the last decision was not carried out, or ''. */
  problem: string;
}

/** Carry out a decision, unless another decision is under way; show this, and why it has failed. */
export async function carryOutDecision(
  subject: Decidable,
  blocks: NotebookBlocks,
  trans: TranslationBundle,
  carryOut: () => Promise<unknown>
): Promise<void> {
  if (subject.isBusy) {
    return;
  }
  Object.assign(subject, { isBusy: true, problem: '' });
  blocks.update();
  try {
    await carryOut();
  } catch (error) {
    subject.problem = isUndoCancelled(error) ? '' : describeError(error, trans);
  } finally {
    subject.isBusy = false;
    blocks.update();
  }
}
