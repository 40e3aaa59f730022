"""The members of a cell, and which of them two changes have in common.

A change touches members: the existence of a cell, its type, its source, each attachment, and each
key of its metadata. Two changes are in conflict only if they touched the same member and gave it
different values; sources are merged by line. Outputs and execution counts follow the source, so
they are never in conflict. ``tests/member_conflicts.json`` has the cases; the comparison of the tab
(``lab/src/merge/members.ts``) is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.line_merge import merge_lines

#: The keys of metadata in which JupyterLab, or an executor, stores what a run has done. They follow
#: the outputs: no change of them is a conflict.
RUN_METADATA = frozenset(("execution", "ExecuteTime", "papermill", "trusted"))
#: The keys of metadata in which JupyterLab stores how a cell is shown. They are compared only for a
#: change that sets them itself.
DISPLAY_METADATA = frozenset(
    ("collapsed", "jupyter", "scrolled", "heading_collapsed", "jp-MarkdownHeadingCollapsed")
)
#: The keys of metadata that are not the content of a cell.
SIDE_METADATA = RUN_METADATA | DISPLAY_METADATA
#: The name of the member that an insertion and a deletion touch.
EXISTENCE = "existence"

# The most characters that are searched for names of attachments: each name is searched in the whole
# source.
_MAX_SEARCHED = 1 << 26
# Larger outputs count as unchanged as long as the execution count is the same.
_MAX_OUTPUT_BYTES = 1 << 20


@dataclass(frozen=True)
class CellMembers:
    """The members of a cell that can be in conflict.

    ``metadata`` are as JupyterLab reads them, ``attachments`` are hashes by name.
    """

    cell_type: str | None
    source: str
    metadata: Mapping[str, Any]
    attachments: Mapping[str, str]

    @classmethod
    def from_cell(cls, cell: Cell | EditedCell) -> CellMembers:
        """Return the members of a cell; raise `InvalidNotebook` as `Cell` does."""
        attachments = hash_attachments(cell.attachments)
        return cls(cell.cell_type, cell.source, normalize_collapsed(cell.metadata), attachments)

    def get_attachment(self, name: str, base: CellMembers) -> str | None:
        """Return the hash of an attachment.

        JupyterLab drops attachments to which the source does not refer; that is no change. Of a
        long source with many attachments, each is taken for one to which it refers.
        """
        if name in self.attachments:
            return self.attachments[name]
        is_used = refers_to(self.source, name, len(base.attachments))
        return None if is_used else base.attachments.get(name)


def refers_to(source: str, name: str, count: int) -> bool:
    """Return whether a source may refer to an attachment, one of so many.

    With many attachments, a long source is taken to refer to each.
    """
    return len(source) * count > _MAX_SEARCHED or name in source


def list_conflicts(
    base: CellMembers,
    mine: CellMembers | None,
    theirs: CellMembers | None,
    *,
    is_same_change_allowed: bool = True,
) -> list[str]:
    """Return the names of the members that two changes of one cell have touched differently.

    ``mine`` and ``theirs`` are None for a version without the cell. Without
    ``is_same_change_allowed``, a member that both gave the same new value is in conflict, too.
    """
    if mine is None or theirs is None:
        remaining = mine or theirs
        is_changed = remaining is not None and has_new_content(base, remaining)
        return [EXISTENCE] if is_changed else []
    names: list[str] = []

    def add_if_changed_by_both(name: str, old: object, first: object, second: object) -> None:
        if old not in (first, second) and (first != second or not is_same_change_allowed):
            names.append(name)

    add_if_changed_by_both("type", base.cell_type, mine.cell_type, theirs.cell_type)
    if mine.source == theirs.source:
        add_if_changed_by_both("source", base.source, mine.source, theirs.source)
    elif merge_lines(base.source, mine.source, theirs.source) is None:
        names.append("source")
    names += [
        f"metadata.{name}"
        for name in list_metadata_conflicts(
            base.metadata,
            mine.metadata,
            theirs.metadata,
            is_same_change_allowed=is_same_change_allowed,
        )
    ]
    for name in sorted({*base.attachments, *mine.attachments, *theirs.attachments}):
        first, second = (side.get_attachment(name, base) for side in (mine, theirs))
        add_if_changed_by_both(f"attachments.{name}", base.attachments.get(name), first, second)
    return names


def list_metadata_conflicts(
    base: Mapping[str, Any],
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    *,
    is_same_change_allowed: bool = True,
) -> list[str]:
    """Return the keys of metadata that two changes have touched differently."""
    return [
        name
        for name in list_changed_keys(base, mine)
        if name not in RUN_METADATA
        and not is_same_member(base, theirs, name)
        and not (is_same_change_allowed and is_same_member(mine, theirs, name))
    ]


def normalize_collapsed(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata as JupyterLab keeps them: ``collapsed`` equals ``jupyter.outputs_hidden``.

    A file may have one of the two; JupyterLab adds the other one when it saves.
    """
    collapsed, jupyter = metadata.get("collapsed"), metadata.get("jupyter")
    members = jupyter if isinstance(jupyter, dict) else {}
    hidden = members.get("outputs_hidden")
    if isinstance(collapsed, bool):
        return {**metadata, "jupyter": {**members, "outputs_hidden": collapsed}}
    return {**metadata, "collapsed": hidden} if isinstance(hidden, bool) else metadata


def list_touched(base: CellMembers, changed: CellMembers) -> list[str]:
    """Return the names of the members that a change of a cell touched."""
    names = ["type"] if base.cell_type != changed.cell_type else []
    names += ["source"] if base.source != changed.source else []
    names += [f"metadata.{name}" for name in list_changed_keys(base.metadata, changed.metadata)]
    return names + [
        f"attachments.{name}"
        for name in sorted({*base.attachments, *changed.attachments})
        if base.attachments.get(name) != changed.attachments.get(name)
    ]


def list_changed_keys(base: Mapping[str, Any], changed: Mapping[str, Any]) -> list[str]:
    """Return the keys of metadata that have different values, or are in only one of both."""
    return sorted(name for name in {**base, **changed} if not is_same_member(base, changed, name))


def has_new_content(base: CellMembers, changed: CellMembers) -> bool:
    """Return whether a change would be lost with the cell."""
    return (
        base.cell_type != changed.cell_type
        or base.source != changed.source
        or not SIDE_METADATA.issuperset(list_changed_keys(base.metadata, changed.metadata))
        or any(
            changed.get_attachment(name, base) != base.attachments.get(name)
            for name in {*base.attachments, *changed.attachments}
        )
    )


def hash_attachments(attachments: object) -> dict[str, str]:
    """Return the hash of each attachment by its name; none if they are not an object."""
    if not isinstance(attachments, dict):
        return {}
    return {name: compute_hash(join_attachment(value)) for name, value in attachments.items()}


def hash_run(get_member: Callable[[str], bytes | None]) -> str:
    """Return a hash of the outputs and the execution count, which tells two runs apart.

    ``get_member`` returns encoded values by name.
    """
    count, outputs = get_member("execution_count"), get_member("outputs")
    values = [] if count is None else [json_spans.decode(count)]
    if outputs is not None and len(outputs) <= _MAX_OUTPUT_BYTES:
        values.append(join_outputs(json_spans.decode(outputs)))
    return compute_hash(values)


# Values -------------------------------------------------------------------------------------------


def is_json_equal(first: object, second: object) -> bool:
    """Return whether two JSON values are equal."""
    return compute_hash(first) == compute_hash(second)


def is_same_member(first: Mapping[str, Any], second: Mapping[str, Any], name: str) -> bool:
    """Return whether a member of two JSON objects is equal, or is in neither."""
    return (name in first) == (name in second) and is_json_equal(first.get(name), second.get(name))


def compute_hash(value: object) -> str:
    """Return a short hash of a JSON value, which does not depend on how the value is written."""
    text = json.dumps(_normalize_numbers(value), sort_keys=True, separators=(",", ":"))
    return compute_short_hash(text.encode())


def compute_short_hash(text: bytes) -> str:
    """Return a short hash of bytes."""
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def _normalize_numbers(value: object) -> object:
    """Convert whole floats to int: JavaScript saves 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def join_outputs(outputs: Any) -> Any:
    """Join lists of lines, as which nbformat writes texts; an application may write strings."""
    if not isinstance(outputs, list):
        return outputs
    return [join_output(output) if isinstance(output, dict) else output for output in outputs]


def join_attachment(attachment: Any) -> Any:
    """Join the lists of lines of one attachment."""
    return _join_bundle(attachment) if isinstance(attachment, dict) else attachment


def join_output(output: dict[str, Any]) -> dict[str, Any]:
    """Join the lists of lines of one output."""
    joined = dict(output)
    if "text" in output:
        joined["text"] = join_text(output["text"])
    if isinstance(output.get("data"), dict):
        joined["data"] = _join_bundle(output["data"])
    return joined


def _join_bundle(bundle: dict[str, Any]) -> dict[str, Any]:
    # In JSON, a list of strings is a value of its own.
    return {
        mime: value if mime == "application/json" or mime.endswith("+json") else join_text(value)
        for mime, value in bundle.items()
    }


def join_text(value: Any) -> Any:
    """Join a list of lines; another value stays as it is."""
    is_lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "".join(value) if is_lines else value
