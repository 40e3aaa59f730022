import { feed } from './feed';
import { notebooks, textFiles } from './following';
import { settings } from './settings';

export default [feed, settings, notebooks, textFiles];
