import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { FileProblem } from '../server/fileChanges';
import { describeFileProblem } from './wording';

/** Tells the user while the file of one notebook is missing or unreadable. */
export class FileProblemNotice {
  constructor(private readonly _trans: TranslationBundle) {}

  /** Show a problem instead of the one before. */
  show(file: string, problem: FileProblem): void {
    this.dismiss();
    const message = describeFileProblem(file, problem, this._trans);
    this._id = Notification.warning(message, { autoClose: false });
  }

  /** The file can be read again. */
  dismiss(): void {
    if (this._id !== null) {
      Notification.dismiss(this._id);
      this._id = null;
    }
  }

  private _id: string | null = null;
}
