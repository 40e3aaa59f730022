import type { TranslationBundle } from '@jupyterlab/translation';
import { fitMessage } from '../notify/wording';
import type { Proposal } from '../server/models';
import { listPendingParts } from '../server/proposalModel';
import { cleanName } from '../ui/displayText';
import * as wording from './wording';

/** Return whether the proposals are about one notebook that exists. */
export function isAboutOneNotebook(proposals: readonly Proposal[]): boolean {
  const paths = new Set(proposals.map(({ path }) => path));
  return paths.size === 1 && proposals.every(({ kind }) => kind === 'edit');
}

/** Describe proposals: "Claude proposes 3 changes to a.ipynb: Drop the test account". */
export function describeAnnouncement(
  proposals: readonly Proposal[],
  trans: TranslationBundle
): string {
  const proposers = proposals.map(proposal => wording.getProposer(proposal, trans));
  const count = proposals.flatMap(listPendingParts).length;
  const paths = [...new Set(proposals.map(({ path }) => path))];
  const [path = '', other] = paths;
  const file = cleanName(path.split('/').at(-1) ?? '');
  if (other !== undefined) {
    return trans._n(
      '%2 in %1 notebook',
      '%2 in %1 notebooks',
      paths.length,
      wording.describeProposals(proposers, count, trans)
    );
  }
  const sentence = proposals.some(({ kind }) => kind === 'create')
    ? trans.__('%1 proposes a new notebook, %2', proposers[0] ?? '', file)
    : trans.__('%1 to %2', wording.describeProposals(proposers, count, trans), file);
  return fitMessage(
    message => (message === '' ? sentence : trans.__('%1: %2', sentence, message)),
    proposals.map(wording.formatPurpose),
    trans
  );
}
