import { connectPlugin } from './connect/connectPlugin';
import { historyPlugin } from './history/historyPlugin';
import { settingsPlugin } from './notify/settings';
import { modePlugin } from './review/modePlugin';
import { proposalsPlugin, reviewPlugin } from './review/reviewPlugin';
import { apiPlugin } from './server/apiPlugin';
import { fileChangesPlugin } from './server/fileChanges';
import { notebookSyncPlugin, textFileSyncPlugin } from './sync/syncPlugin';

/**
 * The public interface: the token `INbEdit` and its types. Everything else in this package, besides
 * the ids of plugins, commands and settings, is private and may change at any time.
 */
export * from './server/api';

export default [
  fileChangesPlugin,
  apiPlugin,
  settingsPlugin,
  notebookSyncPlugin,
  textFileSyncPlugin,
  historyPlugin,
  proposalsPlugin,
  reviewPlugin,
  modePlugin,
  connectPlugin
];
