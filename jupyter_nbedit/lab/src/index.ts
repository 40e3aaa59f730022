import { feed } from './feed';
import { notebooks, textFiles } from './following';
import { history } from './history/plugin';
import { settings } from './settings';

export default [feed, settings, notebooks, textFiles, history];
