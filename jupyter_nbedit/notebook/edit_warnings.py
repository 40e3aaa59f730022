"""Warnings about cells after an edit: lines that are probably a mistake, and missing members."""

from collections.abc import Iterable, Iterator

from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.edit_plan import CellChange
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.shown_text import is_escaped, match_markup, unescape_markup

_MAX_LINE_LENGTH = 80
_REQUIRED = ("metadata",)
_REQUIRED_IN_CODE = ("metadata", "outputs", "execution_count")


def list_missing_members(changes: Iterable[CellChange]) -> Iterator[str]:
    """Yield a warning for each changed cell that lacks a member which nbformat requires.

    Jupyter adds missing ids itself.
    """
    for change in changes:
        cell = change.after
        if change.before is None or not isinstance(cell, EditedCell) or change.index is None:
            continue
        required = _REQUIRED_IN_CODE if cell.cell_type == "code" else _REQUIRED
        missing = [name for name in required if cell.get_member(name) is None]
        if missing:
            names = " and no ".join(f"`{name}`" for name in missing)
            name = CellName.from_source(change.index, cell.source)
            yield (
                f"Cell {name} has no {names}, which nbformat requires, so that Jupyter reports the "
                "notebook as invalid. This was so before; saving the notebook in JupyterLab adds "
                "what is missing."
            )


def list_escaped_lines(changes: Iterable[CellChange]) -> Iterator[str]:
    """Yield a warning for each cell that has got such a line, if it looks like a mistake.

    This is the case if the cell had the line, or a line with this beginning, without the backslash.
    """
    for change in changes:
        if change.before is None or change.after is None or "source" not in change.changed_members:
            continue
        number, line = _find_escaped_line(change.before.source, change.after.source)
        if line and change.index is not None:
            name = CellName.from_source(change.index, change.after.source)
            shown, meant = line[:_MAX_LINE_LENGTH], unescape_markup(line)[: _MAX_LINE_LENGTH - 1]
            yield (
                f"Line {number} of {name} was sent as `{shown}` and is stored so. The backslash is "
                f"only how texts show such a line; if the line is to be `{meant}`, replace it "
                f"again without the backslash."
            )


def _find_escaped_line(before: str, after: str) -> tuple[int, str]:
    """Return the number and the text of the first such line; the text is empty without one."""
    if "\\<" not in after:
        return 0, ""
    old_lines = set(before.split("\n"))
    beginnings = {match_markup(line) for line in old_lines if "<" in line}
    for number, line in enumerate(after.split("\n"), 1):
        if is_escaped(line) and line not in old_lines:
            meant = unescape_markup(line)
            if match_markup(meant) in beginnings:
                return number, line
    return 0, ""
