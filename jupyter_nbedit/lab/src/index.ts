import { history } from './history/historyPlugin';
import { settings } from './notify/settings';
import { modes } from './review/modePlugin';
import { proposals, review } from './review/reviewPlugin';
import { api } from './server/apiPlugin';
import { feed } from './server/fileChanges';
import { notebooks, textFiles } from './sync/syncPlugin';

export * from './server/api';

export default [feed, api, settings, notebooks, textFiles, history, proposals, review, modes];
