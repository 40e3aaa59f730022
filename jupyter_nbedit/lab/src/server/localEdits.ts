/** How many edits are remembered: far more than can be on their way at once. */
const REMEMBERED = 1000;

/** The edits that somebody has asked for in this page: he needs not be told of them. */
class OwnEdits {
  /** Remember which edit comes of a request. */
  async during<Reply extends { readonly edit_id: number | null }>(
    request: Promise<Reply>
  ): Promise<Reply> {
    const answered = request.then(
      ({ edit_id }) => this._remember(edit_id),
      () => undefined
    );
    this._asked.add(answered);
    void answered.then(() => this._asked.delete(answered));
    return request;
  }

  /** Wait for what is on its way: the event of an edit may be faster than the answer. */
  async known(): Promise<void> {
    await Promise.all(this._asked);
  }

  has(edit: number): boolean {
    return this._edits.has(edit);
  }

  private _remember(edit: number | null): void {
    if (edit !== null) {
      this._edits.add(edit);
      const [oldest] = this._edits;
      if (this._edits.size > REMEMBERED && oldest !== undefined) {
        this._edits.delete(oldest);
      }
    }
  }

  private readonly _asked = new Set<Promise<void>>();
  private readonly _edits = new Set<number>();
}

/** Of the whole page: whoever sends a request notes it, and whoever tells of edits looks here. */
export const ownEdits = new OwnEdits();
