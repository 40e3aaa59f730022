/** Number of edits that are remembered: far more than can be under way at once. */
const MAX_REMEMBERED = 1000;

/** The edits that were requested in this page: their user needs no toast about them. */
class LocalEdits {
  /**
   * Remember the edit that a request makes.
   *
   * @param undonePath The notebook, if it is an undo whose reply does not wait for the tab.
   */
  async track<Reply extends { readonly edit_id: number | null }>(
    request: Promise<Reply>,
    undonePath: string | null = null
  ): Promise<Reply> {
    const pending = request.then(
      ({ edit_id }) => this._remember(edit_id),
      () => undefined
    );
    this._pendingRequests.set(pending, undonePath);
    void pending.then(() => this._pendingRequests.delete(pending));
    return request;
  }

  /** Wait for pending requests: the event of an edit may arrive before the reply. */
  async whenSettled(): Promise<void> {
    await Promise.all(this._pendingRequests.keys());
  }

  /** Wait for pending undos of a notebook. */
  async whenUndone(path: string): Promise<void> {
    const pending = [...this._pendingRequests].filter(([, undonePath]) => undonePath === path);
    await Promise.all(pending.map(([request]) => request));
  }

  has(editId: number): boolean {
    return this._editIds.has(editId);
  }

  private _remember(editId: number | null): void {
    if (editId !== null) {
      this._editIds.add(editId);
      const [oldest] = this._editIds;
      if (this._editIds.size > MAX_REMEMBERED && oldest !== undefined) {
        this._editIds.delete(oldest);
      }
    }
  }

  private readonly _pendingRequests = new Map<Promise<void>, string | null>();
  private readonly _editIds = new Set<number>();
}

/** Shared by the page: `NbEditClient` adds edits, `OpenNotebook` looks them up. */
export const localEdits = new LocalEdits();
