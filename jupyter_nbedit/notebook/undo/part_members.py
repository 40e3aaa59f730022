"""Compare a part of an undo record with its cell as it is now, and restore it, member by member.

The record of a proposal is also an undo record: its state "before the edit" is the proposed state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import (
    CLEARED_VALUES,
    EXECUTION_MEMBERS,
    FORBIDDEN_MEMBERS,
    EditedCell,
    list_filled_members,
)
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.line_merge import merge_lines
from jupyter_nbedit.notebook.members import (
    RUN_METADATA,
    CellMembers,
    has_new_content,
    hash_attachments,
    hash_run,
    is_same_member,
    list_changed_keys,
    list_conflicts,
    list_touched,
    normalize_collapsed,
    refers_to,
)
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import CellState, CellUndo, UndoRecord, compute_fingerprint

_RUN_NAMES = frozenset(f"metadata.{name}" for name in RUN_METADATA)


@dataclass(frozen=True)
class PartVersions:
    """The members of a cell before and after an edit, and now.

    ``before`` is None if the edit inserted the cell, ``after`` if it deleted the cell and somebody
    has made the cell again. ``is_known`` is False if the edit changed the attachments, somebody has
    changed them since, and the record does not have the attachments after the edit. Records of
    earlier releases do not have these attachments.
    """

    before: CellMembers | None
    after: CellMembers | None
    now: CellMembers
    is_known: bool
    #: Whether the record has outputs.
    has_outputs: bool

    @classmethod
    def read(cls, record: UndoRecord, part: CellUndo, cell: Cell) -> PartVersions:
        """Return the versions of a cell; raise `InvalidNotebook` if it cannot be read."""
        now = CellMembers.from_cell(cell)
        stored_members = record.read_members(part)
        stored = stored_members.get("attachments")
        has_outputs = not stored_members.keys().isdisjoint(EXECUTION_MEMBERS)
        is_known, attachments = True, now.attachments
        if part.attachments is not None:
            attachments = part.attachments
        elif part.after is None:
            attachments = {}
        elif part.before is None or stored is not None or "attachments" in part.added_members:
            # A record of an earlier release.
            is_known = compute_fingerprint(part.after, cell.attachments) == part.fingerprint
        after = None if part.after is None else _build_members(part.after, attachments)
        if part.before is None:
            return cls(None, after, now, is_known, has_outputs)
        if "attachments" in part.added_members:
            attachments = {}
        elif stored is not None:
            attachments = hash_attachments(json_spans.decode(stored))
        before = _build_members(part.before, attachments)
        return cls(before, after, now, is_known, has_outputs)

    def list_conflicts(self, *, is_same_change_allowed: bool) -> list[str]:
        """Return the members that the edit touched, and that have changed since."""
        if self.after is None:
            return []
        conflicts = list_conflicts(
            self.after, self.before, self.now, is_same_change_allowed=is_same_change_allowed
        )
        if not self.is_known:
            conflicts.append("attachments")
        if (
            self.has_outputs
            and self.before is not None
            and not list_touched(self.after, self.before)
            and (self.now.cell_type, self.now.source) != (self.after.cell_type, self.after.source)
        ):
            # The outputs do not belong to the source that the cell has now.
            conflicts.append("outputs")
        return conflicts

    @property
    def is_undone(self) -> bool:
        """Whether all members that the edit touched are as before; False if it touched nothing."""
        if self.before is None:
            return False
        if self.after is None:
            return not has_new_content(self.before, self.now)
        touched = set(list_touched(self.after, self.before)) - _RUN_NAMES
        return bool(touched) and touched.isdisjoint(list_touched(self.before, self.now))


_NO_STATE = CellState(cell_type=None, source=None, metadata={})


def _build_members(state: CellState, attachments: Mapping[str, str]) -> CellMembers:
    """Return the members of a recorded state."""
    metadata = normalize_collapsed(state.metadata)
    return CellMembers(state.cell_type, state.source or "", metadata, attachments)


def changes_source(part: CellUndo) -> bool:
    """Return whether an edit gave an existing cell another source."""
    before, after = part.before, part.after
    return before is not None and after is not None and before.source != after.source


def needs_merge(part: CellUndo, cell: Cell) -> bool:
    """Return whether the edit and, later, others have changed the source of a cell."""
    return changes_source(part) and part.after is not None and cell.source != part.after.source


def merge_source(part: CellUndo, cell: Cell) -> str | None:
    """Return the source of a cell with both changes, merged by line; None if they conflict."""
    before, after = part.before or _NO_STATE, part.after or _NO_STATE
    if before.source == after.source:
        return cell.source
    return merge_lines(after.source or "", cell.source, before.source or "")


def restore_members(
    record: UndoRecord, part: CellUndo, cell: Cell, style: Style
) -> dict[str, bytes | None]:
    """Return the encoded values that an undo gives to members of an existing cell.

    None removes a member. A member that others have changed since stays as it is now. The source is
    the source before the edit.
    """
    before, after = part.before, part.after
    stored = record.read_members(part)
    values: dict[str, bytes | None] = {**dict.fromkeys(part.added_members), **stored}
    if before is None or after is None:
        return values
    is_source_returned = changes_source(part) or before.cell_type != after.cell_type
    has_run = has_later_run(part, cell)
    if "metadata" in values:
        keeps_run = has_run and not is_source_returned
        values["metadata"] = _restore_metadata(part, cell, stored, style, keeps_run=keeps_run)
    if "attachments" in values:
        values["attachments"] = _restore_attachments(
            PartVersions.read(record, part, cell),
            cell,
            stored.get("attachments"),
            style,
            is_source_returned=is_source_returned,
        )
    if part.clears_outputs or (has_run and is_source_returned):
        # Outputs of a run since are not of the source that comes back.
        values |= {
            name: CLEARED_VALUES[name]
            for name in list_filled_members(cell)
            if name not in values and cell.cell_type == "code"
        }
    elif has_run:
        values = {name: values[name] for name in values.keys() - EXECUTION_MEMBERS}
    cell_type = before.cell_type if before.cell_type != after.cell_type else cell.cell_type
    if cell_type != before.cell_type:
        # Others have changed the type.
        for name in FORBIDDEN_MEMBERS.get(cell_type or "", ()):
            values.pop(name, None)
    return values


def has_later_run(part: CellUndo, cell: Cell) -> bool:
    """Return whether the outputs of a cell have changed since the edit, as far as that is known."""
    if cell.cell_type != "code":
        return False
    is_filled = bool(list_filled_members(cell))
    if part.run_hash is None:
        return part.outputs_cleared and is_filled
    return part.run_hash != (hash_run(cell.get_raw) if is_filled else "")


def _restore_metadata(
    part: CellUndo, cell: Cell, stored: dict[str, bytes], style: Style, *, keeps_run: bool
) -> bytes | None:
    """Return the encoded metadata, by key: as before the edit, or as they are now."""
    before, after = part.before or _NO_STATE, part.after or _NO_STATE
    now = cell.metadata
    if not list_changed_keys(after.metadata, now):
        return stored.get("metadata")
    shown_after, shown_now = normalize_collapsed(after.metadata), normalize_collapsed(now)
    old_values = json_edit.read_values(stored.get("metadata"))
    changes = {
        name: old_values.get(name)
        for name in list_changed_keys(before.metadata, after.metadata)
        if is_same_member(shown_after, shown_now, name) or (name in RUN_METADATA and not keeps_run)
    }
    return json_edit.set_members(
        cell.get_raw("metadata") or b"{}", changes, style.get_cell_style(cell)
    )


def _restore_attachments(
    versions: PartVersions,
    cell: Cell,
    stored: bytes | None,
    style: Style,
    *,
    is_source_returned: bool,
) -> bytes | None:
    """Return the encoded attachments, by name: as before the edit, or as they are now.

    JupyterLab may have dropped attachments to which the source after the edit did not refer.
    """
    before, after, now = versions.before, versions.after, versions.now
    if before is None or after is None or not versions.is_known:
        return cell.get_raw("attachments")
    if after.attachments == now.attachments:
        return stored
    old_values = json_edit.read_values(stored)
    changes: dict[str, bytes | None] = {}
    for name in sorted({*before.attachments, *after.attachments}):
        found = now.attachments.get(name)
        if before.attachments.get(name) == after.attachments.get(name):
            is_dropped = found is None and refers_to(before.source, name, len(before.attachments))
            is_restored = is_source_returned and is_dropped
        else:
            is_restored = now.get_attachment(name, after) == after.attachments.get(name)
        if is_restored:
            changes[name] = old_values.get(name)
    text = json_edit.set_members(
        cell.get_raw("attachments") or b"{}", changes, style.get_cell_style(cell)
    )
    return None if stored is None and not json_edit.read_values(text) else text


@dataclass
class RestoredCell(EditedCell):
    """A cell that is returned to its state before an edit; ``text`` are its bytes."""

    text: bytes = b""

    @classmethod
    def from_record(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Create a cell that no longer exists."""
        members = record.read_members(part)
        cell_id = part.cell_id
        if cell_id is None and "id" in members:
            # The id was not unique, so it did not identify the cell.
            cell_id = json_spans.decode(members["id"])
        return cls(
            token,
            None,
            gap,
            cell_id if isinstance(cell_id, str) else None,
            *_get_type_and_source(part),
            members={**members},
            text=b"".join(text for _, text in record.list_texts(part) if text is not None),
        )

    @classmethod
    def from_cell(
        cls, record: UndoRecord, part: CellUndo, cell: Cell, style: Style
    ) -> RestoredCell:
        """Restore an existing cell; members that the edit did not change stay."""
        values = restore_members(record, part, cell, style)
        cell_type, source = _get_type_and_source(part)
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in values else cell.cell_type,
            source if "source" in values else cell.source,
            members=values,
            text=_fill_in(record, part, values, cell, style),
        )

    @property
    def attachments(self) -> object:
        """The attachments before the edit."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value)

    @property
    def clears_later_outputs(self) -> bool:
        """Whether the cell gets another source: outputs of a later run are not of this source."""
        return not {"source", "cell_type"}.isdisjoint(self.changed_members)

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the restored members."""
        return () if self.cell is None else self.members.keys()

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splice that restores the cell in place."""
        cell = self.cell
        if cell is None or cell.text[cell.span.start : cell.span.stop] == self.text:
            return []
        return [Splice(*cell.span, self.text)]

    def write_cell(self, style: Style) -> bytes:
        """Return the bytes of the whole cell, with the source that was chosen for it since."""
        if self.source == self.original_source:
            return self.text
        members = json_spans.list_members(self.text)
        cell_style = self.get_style(style).derive(self.text, members)
        source = cell_style.write_source(self.source)
        return json_edit.set_own_members(self.text, members, {"source": source}, cell_style)


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source before the edit."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _fill_in(
    record: UndoRecord, part: CellUndo, values: Mapping[str, bytes | None], cell: Cell, style: Style
) -> bytes:
    """Return the text of a cell with restored values, and the current ones of other members."""
    counts = Counter(fragment.name for fragment in part.fragments or ())
    texts: list[bytes] = []
    changes: dict[str, bytes | None] = {}
    names: set[str] = set()
    for name, stored in record.list_texts(part):
        if name is None:
            texts.append(stored or b"")
            continue
        names.add(name)
        if counts[name] > 1:
            # The values of a repeated member are not told apart.
            value = stored
        else:
            value = values[name] if name in values else cell.get_raw(name)
        # A member that was removed after the edit is null for a moment.
        texts.append(b"null" if value is None else value)
        if value is None:
            changes[name] = None
    changes |= {
        name: values[name] if name in values else cell.get_raw(name)
        for name in dict.fromkeys((*cell.members, *values))
        if name not in names
    }
    text = b"".join(texts)
    if all(value is None and name not in names for name, value in changes.items()):
        return text
    cell_style = style.get_cell_style(cell)
    return json_edit.set_own_members(text, json_spans.list_members(text), changes, cell_style)
