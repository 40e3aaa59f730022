import { badgesPlugin } from './badges/badgesPlugin';
import { blocksPlugin } from './blocks/blocksPlugin';
import { cellMenuPlugin } from './blocks/cellMenuPlugin';
import { changesPlugin } from './changes/changesPlugin';
import { connectPlugin } from './connect/connectPlugin';
import { historyPlugin } from './history/historyPlugin';
import { toastFocusPlugin } from './notify/toastFocusPlugin';
import { modePlugin } from './review/modePlugin';
import { proposalToastsPlugin } from './review/proposalToastsPlugin';
import { reviewPlugin } from './review/reviewPlugin';
import { apiPlugin } from './services/apiPlugin';
import { servicesPlugin } from './services/servicesPlugin';
import { notebookSyncPlugin, textFileSyncPlugin } from './sync/syncPlugin';
import { cellCountPlugin } from './ui/cellCountPlugin';
import { diffPlugin } from './ui/diffPlugin';

/**
 * The public interface: the token `INbEdit` and its types. Everything else in this package, besides
 * the ids of plugins, commands and settings, is private and may change at any time.
 */
export * from './server/api';

export default [
  servicesPlugin,
  apiPlugin,
  diffPlugin,
  cellCountPlugin,
  blocksPlugin,
  cellMenuPlugin,
  toastFocusPlugin,
  notebookSyncPlugin,
  textFileSyncPlugin,
  historyPlugin,
  reviewPlugin,
  proposalToastsPlugin,
  modePlugin,
  changesPlugin,
  connectPlugin,
  badgesPlugin
];
