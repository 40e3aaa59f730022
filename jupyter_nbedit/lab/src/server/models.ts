/** The models of the REST API by their names; `openapi.ts` is made from the OpenAPI document. */
import type { components } from './openapi';

type Schemas = components['schemas'];

export type AboutReply = Schemas['AboutReply'];
export type AgentClient = Schemas['ClientReply'];
export type AgentsReply = Schemas['AgentsReply'];
export type CellDiff = Schemas['CellDiff'];
export type CellSources = Schemas['CellSources'];
export type CellState = Schemas['CellState'];
export type ChosenSource = Schemas['SourceBody'];
export type DetailedEdit = Schemas['DetailedEdit'];
export type EditOrigin = Schemas['EditOrigin'];
export type EditReply = Schemas['EditReply'];
export type HistoryEdit = Schemas['HistoryEdit'];
/** A page of the history of all notebooks; the history of one notebook also has its path. */
export type HistoryReply = Schemas['AllHistoryReply'];
export type Mode = ModeReply['mode'];
export type ModeReply = Schemas['ModeReply'];
export type Proposal = Schemas['Proposal'];
export type ProposalStatus = Proposal['status'];
export type ProposedPart = Schemas['ProposedPart'];
export type ProposalsReply = Schemas['ProposalsReply'];
export type PurgeReply = Schemas['PurgeReply'];
export type ReadReply = Schemas['ReadReply'];
export type RestoreReply = Schemas['RestoreReply'];
export type SetupStep = Schemas['SetupStep'];
export type TabCounts = Schemas['TabCounts'];
export type UnseenCell = Schemas['UnseenCell'];
export type UnseenNotebook = Schemas['UnseenNotebook'];
export type UnseenNotebooks = Schemas['UnseenNotebooks'];
export type UnseenReply = Schemas['UnseenReply'];

/** One operation of an edit; only in the reply to an edit it has several cells. */
export type OperationEntry = Schemas['AffectedCell'] & Pick<Schemas['OperationResult'], 'cells'>;

/**
 * A cell that prevents an undo or the acceptance of a proposal, in the details of an error; the
 * OpenAPI document does not describe them.
 */
export interface ConflictingCell {
  readonly cell_id: string | null;
  readonly index: number | null;
  readonly why: 'changed' | 'gone' | 'ambiguous' | 'no_place';
  readonly source?: string;
}
