import { feed } from './feed';
import { notebooks, textFiles } from './following';
import { history } from './history/plugin';
import { api } from './providing';
import { modes } from './review/modeplugin';
import { proposals, review } from './review/plugin';
import { settings } from './settings';

export * from './api';

export default [feed, api, settings, notebooks, textFiles, history, proposals, review, modes];
