"""Take back what an edit did, at once or after others have worked on the notebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from msgspec import UNSET

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.apply import CellResult, EditPlan, OperationResult, build_plan
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document, compute_source_hash
from jupyter_nbedit.notebook.edited_cell import (
    EditedCell,
)
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator, CellNotLocated
from jupyter_nbedit.notebook.undo.known_history import NOTHING_KNOWN, Past
from jupyter_nbedit.notebook.undo.record import (
    CellUndo,
    UndoRecord,
    compute_short_hash,
    is_json_equal,
)
from jupyter_nbedit.notebook.undo.remaining_parts import list_remaining_parts
from jupyter_nbedit.notebook.undo.restored_cell import RestoredCell
from jupyter_nbedit.notebook.working_copy import WorkingCopy


def revert(  # noqa: PLR0913 -- each says something else of the one thing that is done
    document: Document,
    record: UndoRecord,
    *,
    op: str,
    exact: bool = False,
    only: Collection[int] | None = None,
    past: Past = NOTHING_KNOWN,
) -> EditPlan:
    """Take an edit back, or a part of it, or nothing.

    A cell gets back what it was if it still is as the edit left it; what the edit did not touch
    stays as it is now, such as outputs of a later run. That a cell says `editable: false` does not
    matter: it gets back what it was when somebody said so, or what it was before.

    Parameters
    ----------
    document
        The notebook as it is now.
    record
        What the edit did.
    op
        What the answer calls this.
    exact
        Whether the document is, byte for byte, what the edit left. Then it becomes, byte for byte,
        what it was before the edit.
    only
        The numbers of the parts to be taken back; None for all.
    past
        What is known of the time since. It tells where a cell belongs if others came back before
        it, or went.

    Raises
    ------
    UndoConflict
        Something of it has been changed since. All of that is in the details.
    InvalidNotebook
        As `Cell` does.
    """
    # If the splices backwards are for other bytes, so are the indexes of the parts.
    exact = exact and record.back is not None
    chosen = [n for n in range(len(record.parts)) if only is None or n in only]
    plan = _Plan.build(document, record, chosen, past, exact=exact)
    workspace, order = plan.carry_out()
    whole = exact and len(chosen) == len(record.parts)
    return build_plan(
        workspace,
        order,
        [_build_result(op, workspace, order)],
        _build_reverse_splices(document, record) if whole else None,
    )


def _build_reverse_splices(document: Document, record: UndoRecord) -> list[Splice]:
    """Return the splices that make the document what it was, byte for byte."""
    kept, now = record.blob, document.text
    return [
        Splice(
            start,
            stop,
            b"".join((now if run.there else kept)[run.start : run.stop] for run in reverse.runs),
        )
        for reverse in record.back or ()
        for start, stop in [(reverse.start, reverse.stop)]
    ]


@dataclass(frozen=True)
class _Plan:
    """What is to be done: where the cells of the parts are, where they go, and the metadata."""

    document: Document
    record: UndoRecord
    parts: dict[int, CellUndo]
    cells: dict[int, int]
    gaps: dict[int, int]
    metadata: bytes | None

    @classmethod
    def build(
        cls,
        document: Document,
        record: UndoRecord,
        chosen: Sequence[int],
        past: Past,
        *,
        exact: bool,
    ) -> _Plan:
        """Find everything, or refuse with all that was not found."""
        parts = {number: record.parts[number] for number in chosen}
        if not exact:
            parts = list_remaining_parts(document, record, chosen, past)
        whereabouts = CellLocator(document, record, parts, past)
        is_whole = len(chosen) == len(record.parts)
        # The number of a place says too little about cells that leave it with parts not chosen.
        if exact and (is_whole or not whereabouts.has_ids):
            cells = {n: part.index for n, part in parts.items() if part.index is not None}
            gaps = {
                n: record.places[part.place].gap
                for n, part in parts.items()
                if part.place is not None
            }
            lost: list[CellNotLocated] = []
        else:
            cells, gaps, lost = whereabouts.find()
        since = past.list_parts_since(record)
        metadata, names = _restore_metadata(document, record, parts.values(), since, exact=exact)
        if lost or names:
            _refuse(lost, names, has_later_edits=since != [])
        return cls(document, record, parts, cells, gaps, metadata)

    def carry_out(self) -> tuple[WorkingCopy, FinalOrder]:
        """Make every cell what it was, and put it where it was."""
        workspace = WorkingCopy(self.document, fresh_id=_forbid_new_id)
        workspace.metadata = self.metadata
        gone: list[int] = []
        placed: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, part in self.parts.items():
            if part.of_notebook:
                continue
            token = self.cells.get(number, -1 - number)
            draft = self._restore_cell(part, token, number, workspace.style)
            workspace.cells[token] = draft
            if token >= 0 and (part.moved or draft.removed_by is not None):
                gone.append(token)
            if number in self.gaps:
                placed[self.gaps[number]].append((part.index_before or 0, token))
        in_order = {gap: [token for _, token in sorted(placed[gap])] for gap in sorted(placed)}
        return workspace, FinalOrder(self.document, sorted(gone), in_order)

    def _restore_cell(self, part: CellUndo, token: int, number: int, style: Style) -> EditedCell:
        if token < 0:
            return RestoredCell.create(self.record, part, token, self.gaps[number])
        cell = self.document.get_cell(token)
        if part.former is not None:
            draft: EditedCell = RestoredCell.from_cell(self.record, part, cell, style)
        else:
            draft = EditedCell(token, cell, token, cell.id, cell.cell_type, cell.source)
        draft.moved = part.moved
        if part.before is None:
            draft.removed_by = 0
        return draft


def _forbid_new_id() -> NoReturn:
    message = "Taking back gives cells the ids they had, and makes up none."
    raise AssertionError(message)


def _refuse(lost: Sequence[CellNotLocated], names: list[str], *, has_later_edits: bool) -> NoReturn:
    cells = [one.conflict for one in lost]
    called = [repr(one["index"] if one["cell_id"] is None else one["cell_id"]) for one in cells]
    what = [f"the cell {name}" for name in called[:3] if name != "None"]
    what += [f"{len(cells) - len(what)} more cells"] if len(cells) > len(what) else []
    what += [f"{name!r} in the notebook's metadata" for name in names[:3]]
    advice = "change it by an edit of your own, or undo another edit by its number, `edit_id`"
    if has_later_edits:
        advice = "take back later edits first, or change it by an edit of your own"
    message = (
        f"This cannot be taken back, because of what was done since then to {', '.join(what)}. "
        f"Nothing was written. The details say what it is like now; {advice}."
    )
    raise UndoConflict(message, cells=cells, metadata=names)


def _restore_metadata(
    document: Document,
    record: UndoRecord,
    parts: Iterable[CellUndo],
    since: Sequence[CellUndo] | None,
    *,
    exact: bool,
) -> tuple[bytes | None, list[str]]:
    """Return what becomes of the notebook's metadata, and the names that somebody changed since."""
    now = document.written_metadata
    part = next((part for part in parts if part.of_notebook), None)
    if part is None or part.before is None or part.after is None:
        return now, []
    former = (
        None if part.former is None else record.read_blob(*(part.former[0].blob_range or (0, 0)))
    )
    if exact or (None if now is None else compute_short_hash(now)) == part.fingerprint:
        return former, []
    before, after, current = part.before.metadata, part.after.metadata, document.metadata
    names = [name for name in {**before, **after} if not _is_same(before, after, name)]
    if since is not None and not any(one.of_notebook for one in since):
        # Nobody but people by hand can have given them back what they were.
        names = [name for name in names if not _is_same(current, before, name)]
    if not names:
        return now, []
    lost = [name for name in names if not _is_same(current, after, name)]
    text = now if now is not None and json_spans.is_object(now, Span(0, len(now))) else b"{}"
    values = json_edit.read_values(former)
    return json_edit.set_members(
        text, {name: values.get(name) for name in names}, Style(document).get_notebook_style()
    ), lost


def _is_same(first: dict[str, Any], second: dict[str, Any], name: str) -> bool:
    return (name in first) == (name in second) and is_json_equal(first.get(name), second.get(name))


def _build_result(op: str, workspace: WorkingCopy, order: FinalOrder) -> OperationResult:
    """Return what was done to each cell."""
    drafts = list(workspace.cells.values())
    told = [_describe_cell(order, draft) for draft in drafts]
    if len(told) == 1:
        return OperationResult(op=op, **told[0])
    nothing: dict[str, Any] = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
    return OperationResult(
        op=op, **nothing, cells=[CellResult(**one) for one in told] if told else UNSET
    )


def _describe_cell(order: FinalOrder, draft: EditedCell) -> dict[str, Any]:
    gone = draft.removed_by is not None
    return {
        "cell_id": draft.id,
        "index": draft.anchor_index if gone else order.get_index(draft.token),
        "cell_type": draft.cell_type,
        "source_hash": compute_source_hash(draft.source),
        "outputs_cleared": UNSET if gone else draft.outputs_cleared,
        "source": draft.source if gone else UNSET,
    }
