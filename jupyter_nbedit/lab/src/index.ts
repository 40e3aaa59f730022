import { feed } from './feed';
import { notebooks, textFiles } from './following';
<<<<<<< HEAD
import { history } from './history/plugin';
import { settings } from './settings';

export default [feed, settings, notebooks, textFiles, history];
=======
import { modes } from './review/modeplugin';
import { proposals, review } from './review/plugin';
import { settings } from './settings';

export default [feed, settings, notebooks, textFiles, proposals, review, modes];
>>>>>>> f8fc5aa (WIP review)
