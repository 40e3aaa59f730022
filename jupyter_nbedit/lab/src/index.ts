import { badgesPlugin } from './badges/badgesPlugin';
import { blocksPlugin } from './blocks/blocksPlugin';
import { cellMenuPlugin } from './blocks/cellMenuPlugin';
import { unseenPlugin } from './unseen/unseenPlugin';
import { connectPlugin } from './connect/connectPlugin';
import { historyPlugin } from './history/historyPlugin';
import { toastFocusPlugin } from './notify/toastFocusPlugin';
import { modePlugin } from './modes/modePlugin';
import { proposalToastsPlugin } from './proposals/proposalToastsPlugin';
import { proposalsPlugin } from './proposals/proposalsPlugin';
import { apiPlugin } from './services/apiPlugin';
import { servicesPlugin } from './services/servicesPlugin';
import { notebookSyncPlugin, textFileSyncPlugin } from './sync/syncPlugin';
import { cellCountPlugin } from './ui/cellCountPlugin';
import { diffPlugin } from './ui/renderedMarkdown';

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
  proposalsPlugin,
  proposalToastsPlugin,
  modePlugin,
  unseenPlugin,
  connectPlugin,
  badgesPlugin
];
