import type { CellDiff } from '../server/models';
import type { DiffServices } from '../ui/codeMirrorDiff';
import { DiffView, getCellLanguage } from '../ui/diffView';
import { getTextPair, isAboutNotebook } from './cellDiff';

/**
 * Draw a cell diff in one column; return null if there is no text to compare.
 *
 * @param codeLanguage The language of the notebook's code.
 * @param onEdit Lets the user edit the text after; called with the text after each change.
 */
export function drawCellDiff(
  cell: CellDiff,
  codeLanguage: string,
  { languages, themes, trans }: DiffServices,
  onEdit?: (text: string) => void
): DiffView | null {
  const { before, after, isMetadata } = getTextPair(cell);
  if (before === null && after === null) {
    return null;
  }
  const type = isMetadata ? null : ((cell.after ?? cell.before)?.cell_type ?? null);
  const label = isAboutNotebook(cell)
    ? trans.__('Metadata of the notebook')
    : trans.__('Cell %1', (cell.index_before ?? cell.index ?? 0) + 1);
  return new DiffView({
    texts: { before, after, language: getCellLanguage(type, codeLanguage), label },
    layout: 'inline',
    onEdit,
    languages,
    themes,
    trans
  });
}
