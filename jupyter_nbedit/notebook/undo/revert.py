"""Take back what an edit did, at once or after others have worked on the notebook."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import eq
from typing import Any, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook, UndoConflict
from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.apply import CellResult, EditPlan, OperationResult, build_plan
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Cell, Document, compute_source_hash
from jupyter_nbedit.notebook.edited_cell import (
    EXECUTION_MEMBERS,
    EditedCell,
    has_outputs,
    has_value,
)
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.layouts import Choice, find_layout
from jupyter_nbedit.notebook.precedence import NOTHING_KNOWN, Past, Precedence
from jupyter_nbedit.notebook.remainder import list_remaining_parts
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.style import Style
from jupyter_nbedit.notebook.undo.record import (
    EXECUTION,
    CellContent,
    CellUndo,
    Fragment,
    GapAnchor,
    NeighbourKey,
    UndoRecord,
    compute_content_key,
    compute_short_hash,
    drop_execution_metadata,
    is_json_equal,
)
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


@dataclass
class RestoredCell(EditedCell):
    """A cell that becomes what it was.

    Parameters
    ----------
    pieces
        Its text: bytes, and ranges of the document that stay as they are.
    """

    pieces: Sequence[bytes | Span] = ()

    @classmethod
    def create(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Make a cell that is not there any more."""
        cell_type, source = _get_type_and_source(part)
        return cls(
            token,
            None,
            gap,
            part.cell_id,
            cell_type,
            source,
            members=_read_kept_members(record, part),
            moved=part.moved,
            pieces=[
                record.read_blob(*one.blob_range)
                for one in part.former or ()
                if one.blob_range is not None
            ],
        )

    @classmethod
    def from_cell(
        cls, record: UndoRecord, part: CellUndo, cell: Cell, style: Style
    ) -> RestoredCell:
        """Make a cell what it was, but for what the edit did not touch."""
        part = _drop_old_execution(part, cell)
        members = {**dict.fromkeys(part.added), **_read_kept_members(record, part)}
        if "metadata" in members and "outputs" not in members:
            members["metadata"] = _is_run_since(part, cell, members["metadata"], style)
        cell_type, source = _get_type_and_source(part)
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in members else cell.cell_type,
            source if "source" in members else cell.source,
            members=members,
            pieces=_fill_fragments(record, part, cell, members, style),
        )

    @property
    def attachments(self) -> object:
        """Its attachments, as it had them."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value, Span(0, len(value)))

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the members that become what they were."""
        return () if self.cell is None else self.members.keys()

    @property
    def outputs_cleared(self) -> bool:
        """Whether it has outputs or a count, and had none before the edit."""
        had, has = self._outputs
        return had and not has

    @property
    def outputs_returned(self) -> bool:
        """Whether it gets outputs or a count back."""
        had, has = self._outputs
        return has and not had

    @property
    def _outputs(self) -> tuple[bool, bool]:
        """Whether the cell had outputs or a count, and has them; both False if they stay."""
        if self.cell is None or EXECUTION_MEMBERS.isdisjoint(self.members):
            return False, False
        has = any(has_value(name, self.get_member(name)) for name in EXECUTION_MEMBERS)
        return has_outputs(self.cell), has

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splices that make the cell what it was."""
        return [] if self.cell is None else _compile_splices(self.cell, self.pieces)

    def write_cell(self, style: Style) -> bytes:
        """Write the whole cell."""
        if self.cell is None:
            return b"".join(one for one in self.pieces if isinstance(one, bytes))
        return super().write_cell(style)


def _drop_old_execution(part: CellUndo, cell: Cell) -> CellUndo:
    """Leave what a later run gave, if the source that was run stays; it is nobody's to take."""
    kept = {piece.name for piece in part.former or () if piece.blob_range is not None}
    if not part.outputs_cleared or kept & {"source", "cell_type"}:
        return part
    if not has_outputs(cell):
        return part
    former = [
        Fragment(piece.name, None) if piece.name in EXECUTION_MEMBERS else piece
        for piece in part.former or ()
    ]
    return replace(part, former=former)


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source that a cell had."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _read_kept_members(record: UndoRecord, part: CellUndo) -> dict[str, bytes | None]:
    """Return the values of members that the record has, by their names."""
    return {
        piece.name: record.read_blob(*piece.blob_range)
        for piece in part.former or ()
        if piece.name is not None and piece.blob_range is not None
    }


def _is_run_since(part: CellUndo, cell: Cell, metadata: bytes | None, style: Style) -> bytes | None:
    """Return metadata with what a run after the edit has written there; its outputs stay."""
    left = part.after.metadata if part.after else {}
    if metadata is None or is_json_equal(left.get(EXECUTION), cell.metadata.get(EXECUTION)):
        return metadata
    now = json_edit.read_values(cell.get_raw("metadata"))
    text = metadata if json_spans.is_object(metadata, Span(0, len(metadata))) else b"{}"
    return json_edit.set_members(text, {EXECUTION: now.get(EXECUTION)}, style.get_cell_style(cell))


def _fill_fragments(
    record: UndoRecord,
    part: CellUndo,
    cell: Cell,
    members: Mapping[str, bytes | None],
    style: Style,
) -> Sequence[bytes | Span]:
    """Fill the holes in a former text with what stands in the cell now."""
    pieces: list[bytes | Span] = []
    gone: list[str] = []
    for piece in part.former or ():
        if piece.blob_range is not None:
            text = members.get(piece.name) if piece.name == "metadata" else None
            pieces.append(record.read_blob(*piece.blob_range) if text is None else text)
        elif piece.name in cell.members:
            pieces.append(cell.members[piece.name].value)
        else:
            # Somebody has taken out since what the edit had left alone.
            gone.append(piece.name or "")
            pieces.append(b"null")
    known = {*part.added, *(piece.name for piece in part.former or ())}
    more = {name: cell.get_raw(name) for name in cell.members if name not in known}
    if not gone and not more:
        return pieces
    own = style.get_cell_style(cell)
    whole = b"".join(one if isinstance(one, bytes) else cell.text[slice(*one)] for one in pieces)
    changes = {**dict.fromkeys(gone), **more}
    return [json_edit.set_ranked_members(whole, changes, own, own.get_order_key)]


def _compile_splices(cell: Cell, pieces: Sequence[bytes | Span]) -> list[Splice]:
    """Return the splices that make a cell of pieces; the ranges that can stay where they are do."""
    ranges = [one for one in pieces if isinstance(one, Span)]
    if ranges != sorted(ranges):
        # Somebody has written the members in another order.
        ranges = [max(ranges, key=lambda one: one.stop - one.start)]
    staying = set(ranges)
    splices: list[Splice] = []
    at, text = cell.span.start, b""
    for one in (*pieces, Span(cell.span.stop, cell.span.stop)):
        if isinstance(one, bytes):
            text += one
        elif one in staying or one.start == cell.span.stop:
            if cell.text[at : one.start] != text:
                splices.append(Splice(at, one.start, text))
            at, text = one.stop, b""
        else:
            text += cell.text[one.start : one.stop]
    return splices


# A conflict shows what the cell says now, for people to decide by.
_SHOWN = 2000
# Where the notebook begins and ends is as good to go by as all neighbours on one side.
_END = 3
# A cell has two neighbours.
_BOTH = 2


class CellNotLocated(Exception):
    """A cell or a place that cannot be told; ``conflict`` is what a refusal says of it."""

    def __init__(
        self, part: CellUndo, why: str, index: int | None, source: str | None = None
    ) -> None:
        super().__init__(why)
        self.conflict: dict[str, Any] = {"cell_id": part.cell_id, "index": index, "why": why}
        if source is not None:
            self.conflict["source"] = source[:_SHOWN]


class CellLocator:
    """Finds cells and places of a record in a notebook that has been changed since.

    Parameters
    ----------
    document
        The notebook.
    record
        What the edit did.
    parts
        The parts whose cells and places are looked for, by their numbers.
    past
        What is known of the time since.
    """

    def __init__(
        self,
        document: Document,
        record: UndoRecord,
        parts: Mapping[int, CellUndo],
        past: Past,
    ) -> None:
        self._document = document
        self._record = record
        self._parts = parts
        self._past = past
        self._states: dict[int, CellContent | None] = {}
        self._known_keys: dict[int, str] = {}

    def find(self) -> tuple[dict[int, int], dict[int, int], list[CellNotLocated]]:
        """Find cells and gaps by the numbers of the parts, and what was not found."""
        if not (self.has_ids or self._past.is_rearranged_since(self._record)):
            choice = Choice(self._record, set(self._parts), self._past.accepted)
            layout = find_layout(choice, len(self._document), self)
            if layout is not None:
                return layout.cells, layout.gaps, []
        cells, lost = self._find_cells()
        gaps = self._find_gaps()
        for number, part in self._parts.items():
            if part.place is None:
                continue
            others = [] if part.cell_id is None else self._document.ids.get(part.cell_id, [])
            if part.index is None and others:
                # A cell with its id is there already.
                source = self._document.get_cell(others[0]).source
                lost.append(CellNotLocated(part, "ambiguous", others[0], source))
            elif gaps[number] is None and (part.index is None or number in cells):
                lost.append(CellNotLocated(part, "no_place", cells.get(number)))
        return cells, {number: gap for number, gap in gaps.items() if gap is not None}, lost

    def is_as_left(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as the edit left it."""
        return self._document.heads[index][0] == part.cell_id and self._is_as_left(part, index)

    def is_as_before(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as before the edit."""
        if self._document.heads[index][0] != part.cell_id or part.before is None:
            return False
        state, before = self._read_state(index), part.before
        return state is not None and (
            (state.cell_type, state.source) == (before.cell_type, before.source)
            and is_json_equal(
                drop_execution_metadata(state.metadata), drop_execution_metadata(before.metadata)
            )
        )

    def is_like(self, anchor: NeighbourKey, index: int) -> bool:
        """Return whether the cell at an index may be a neighbour."""
        if anchor.id is not None:
            return self._document.heads[index][0] == anchor.id
        return bool(anchor.key) and self._get_key(index) == anchor.key

    @cached_property
    def has_ids(self) -> bool:
        """Whether all cells and neighbours that are looked for have ids."""
        parts = self._parts.values()
        places = [self._record.places[part.place] for part in parts if part.place is not None]
        return all(part.cell_id is not None or part.of_notebook for part in parts) and all(
            anchor.id is not None for place in places for anchor in (*place.behind, *place.ahead)
        )

    @cached_property
    def _is_rearranged(self) -> bool:
        """Whether edits that are known of have changed the order of cells without ids."""
        if self._past.is_rearranged_since(self._record):
            return True
        return len(self._parts) < len(self._record.parts) and self._past.accepted != set()

    @cached_property
    def _order(self) -> Precedence:
        chosen = set(self._parts)
        return Precedence.build(self._document, self._record, self._past, chosen)

    def _find_cells(self) -> tuple[dict[int, int], list[CellNotLocated]]:
        """Find the cells of parts."""
        found: dict[int, int] = {}
        lost: list[CellNotLocated] = []
        for number, part in self._parts.items():
            if part.index is None:
                continue
            try:
                found[number] = (
                    self._find_by_likeness(part) if part.beside else self._find_by_id(part)
                )
            except CellNotLocated as failure:
                lost.append(failure)
        claims = Counter(found.values())
        lost += [
            CellNotLocated(self._parts[number], "ambiguous", None)
            for number, at in found.items()
            if claims[at] > 1
        ]
        return found, lost

    def _find_gaps(self) -> dict[int, int | None]:
        """Find the places of parts, as numbers of cells that stand before them."""
        parts = {number: part for number, part in self._parts.items() if part.place is not None}
        places = {part.place or 0 for part in parts.values()}
        near = {number: self._find_gap(number) for number in places}
        found: dict[int, int | None] = {n: near[part.place or 0] for n, part in parts.items()}
        named = {n: part for n, part in parts.items() if part.cell_id is not None}
        if not named:
            return found
        for number, bounds in zip(named, self._order.compute_bounds(named.values()), strict=True):
            found[number] = _clamp(found[number], *bounds)
        return found

    def _find_gap(self, number: int) -> int | None:
        """Find a place; None if it cannot be told.

        The nearest neighbours that are left tell it. If there are several that look alike, those
        tell it that have the most neighbours of the place with them.
        """
        place = self._record.places[number]
        if self._is_rearranged and not self.has_ids:
            return self._find_unambiguous_gap(place)
        for rank in range(max(len(place.behind), len(place.ahead), 1)):
            after = [at + 1 for at in self._find_candidates(place.behind, rank)]
            before = self._find_candidates(place.ahead, rank)
            if rank == 0:
                after += [] if place.behind else [0]
                before += [] if place.ahead else [len(self._document)]
            if after or before:
                return self._choose_gap(place, rank, after, before)
        return None

    def _find_unambiguous_gap(self, place: GapAnchor) -> int | None:
        """Find a place between two neighbours that are beside each other and like no other cell."""
        size = len(self._document)
        behind = self._find_candidates(place.behind, 0) if place.behind else [-1]
        ahead = self._find_candidates(place.ahead, 0) if place.ahead else [size]
        if len(behind) != 1 or ahead != [behind[0] + 1]:
            return None
        gap = ahead[0]
        whole = self._compute_score(place, 0, gap)
        full = (len(place.behind) or _END) + (len(place.ahead) or _END)
        return gap if whole == full else None

    def _choose_gap(
        self, place: GapAnchor, rank: int, after: list[int], before: list[int]
    ) -> int | None:
        scores = {gap: self._compute_score(place, rank, gap) for gap in (*after, *before)}
        most = max(scores.values())
        for side in (after, before):
            best = [gap for gap in side if scores[gap] == most]
            if place.gap in best and len(self._document) == self._record.total_cells:
                return place.gap
            if best:
                return best[0] if len(best) == 1 else None
        return None

    def _compute_score(self, place: GapAnchor, rank: int, gap: int) -> int:
        """Count the neighbours of a place, from one of a rank on, that stand beside a gap."""
        score = 0
        for anchors, first, step, end in (
            (place.behind, gap - 1, -1, -1),
            (place.ahead, gap, 1, len(self._document)),
        ):
            if not anchors:
                score += _END if first == end else 0
            for number, at in zip(range(rank, len(anchors)), range(first, end, step), strict=False):
                if not self.is_like(anchors[number], at):
                    break
                score += 1
        return score

    def _find_candidates(self, anchors: list[NeighbourKey], rank: int) -> list[int]:
        """Find the cells that may be a neighbour."""
        if rank >= len(anchors):
            return []
        anchor = anchors[rank]
        if anchor.id is not None:
            is_there = self._order.is_in_slot(anchor.id)
            return list(self._document.ids.get(anchor.id, [])) if is_there else []
        return self._keys.get(anchor.key or "", [])

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self._document)):
            if key := self._get_key(index):
                found[key].append(index)
        return dict(found)

    def _find_by_id(self, part: CellUndo) -> int:
        indexes = self._document.ids.get(part.cell_id or "", [])
        if len(indexes) != 1:
            raise CellNotLocated(part, "ambiguous" if indexes else "gone", None)
        [index] = indexes
        if not self._is_as_left(part, index) or (part.moved and self._order.is_moved_since(part)):
            raise CellNotLocated(part, "changed", index, self._document.get_cell(index).source)
        return index

    def _find_by_likeness(self, part: CellUndo) -> int:
        """Find a cell that is as it was left and stands where it did, or beside a neighbour.

        That there is but one such cell is not enough: the one that is meant may have been changed,
        and this be another that says the same.
        """
        document, index = self._document, part.index or 0
        same_size = len(document) == self._record.total_cells and not self._is_rearranged
        after = part.after
        key = compute_content_key(after.cell_type or "", after.source or "") if after else ""
        alike = [at for at in self._keys.get(key, []) if self._is_as_left(part, at)]
        stays = same_size or len(alike) == 1
        scores = {at: self._count_neighbours(part, at) + (stays and at == index) for at in alike}
        if key in (part.beside or ()):
            # Of two neighbours that say the same, whichever is left may be the other one.
            sure = [at for at in alike if same_size and self._count_neighbours(part, at) == _BOTH]
            scores = {at: scores[at] if at in sure else 0 for at in alike}
        if self._is_rearranged:
            alone = len(self._keys.get(key, [])) == 1
            scores = {
                at: _BOTH if alone and self._count_neighbours(part, at) == _BOTH else 0
                for at in alike
            }
        most = max(scores.values(), default=0)
        best = [at for at, score in scores.items() if score == most]
        if most and len(best) == 1:
            return best[0]
        if best:
            raise CellNotLocated(part, "ambiguous", None)
        state = self._read_state(index) if same_size else None
        if state is None:
            raise CellNotLocated(part, "gone", None)
        raise CellNotLocated(part, "changed", index, state.source)

    def _count_neighbours(self, part: CellUndo, index: int) -> int:
        """Count the neighbours that a cell still has."""
        neighbours = (self._get_key(index - 1), self._get_key(index + 1))
        return sum(map(eq, neighbours, part.beside or ()))

    def _get_key(self, index: int) -> str:
        if index not in self._known_keys:
            state = self._read_state(index) if 0 <= index < len(self._document) else None
            key = "" if state is None else compute_content_key(state.cell_type, state.source)
            self._known_keys[index] = key
        return self._known_keys[index]

    def _is_as_left(self, part: CellUndo, index: int) -> bool:
        state = self._read_state(index) if index < len(self._document) else None
        if state is None or part.after is None or state.source != part.after.source:
            return False
        return state.fingerprint == part.fingerprint

    def _read_state(self, index: int) -> CellContent | None:
        """Return what a cell is; None if it cannot be read, which need not matter to the edit."""
        if index not in self._states:
            self._states[index] = None
            with suppress(InvalidNotebook):
                self._states[index] = CellContent.from_cell(self._document.get_cell(index))
        return self._states[index]


def _clamp(gap: int | None, low: int | None, high: int | None) -> int | None:
    """Return the gap that is nearest to another one and within bounds."""
    if low is not None and high is not None and low > high:
        # Others have put the cells in another order.
        return gap
    if gap is None:
        return high if low is None else low
    if low is not None and gap < low:
        return low
    return high if high is not None and gap > high else gap
