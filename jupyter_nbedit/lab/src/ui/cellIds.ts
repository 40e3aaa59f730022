import type { Cell } from '@jupyterlab/cells';

const knownIds = new WeakMap<object, string>();

/** Return the id of a cell, which never changes. JupyterLab looks it up in Yjs each time. */
export function getCellId({ model }: Cell): string {
  return getId(model);
}

/** Return the id of a cell's model or shared model. */
export function getId(model: { readonly id: string }): string {
  let id = knownIds.get(model);
  if (id === undefined) {
    id = model.id;
    knownIds.set(model, id);
  }
  return id;
}
