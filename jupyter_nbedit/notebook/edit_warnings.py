"""Warnings about cells after an edit: lines that are probably a mistake, and missing members."""

from collections.abc import Iterable

from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.edit_plan import CellChange
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.shown_text import is_escaped, match_markup, unescape_markup

_MAX_LINE_LENGTH = 80
_REQUIRED = ("metadata",)
_REQUIRED_IN_CODE = ("metadata", "outputs", "execution_count")


def list_warnings(changes: Iterable[CellChange]) -> list[str]:
    """Return warnings of lines that are probably a mistake, then of missing members.

    A line with a backslash is probably one if the cell had the line, or a line with this beginning,
    without it. Missing are members that nbformat requires; Jupyter adds missing ids itself.
    """
    of_lines: list[str] = []
    of_members: list[str] = []
    for change in changes:
        before, cell, index = change.before, change.after, change.index
        if before is None or not isinstance(cell, EditedCell) or index is None:
            continue
        name = CellName.from_hash(index, cell.source_hash)
        number, line = _find_escaped_line(before.source, cell.source)
        if line:
            shown = line[:_MAX_LINE_LENGTH]
            meant = unescape_markup(line)[: _MAX_LINE_LENGTH - 1]
            of_lines.append(
                f"Line {number} of {name} was sent as `{shown}` and is stored so. The backslash is "
                f"only how texts show such a line; if the line is to be `{meant}`, replace it "
                f"again without the backslash."
            )
        required = _REQUIRED_IN_CODE if cell.cell_type == "code" else _REQUIRED
        missing = [member for member in required if cell.get_member(member) is None]
        if missing:
            names = " and no ".join(f"`{member}`" for member in missing)
            of_members.append(
                f"Cell {name} has no {names}, which nbformat requires, so that Jupyter reports the "
                "notebook as invalid. This was so before; saving the notebook in JupyterLab adds "
                "what is missing."
            )
    return [*of_lines, *of_members]


def _find_escaped_line(before: str, after: str) -> tuple[int, str]:
    """Return the number and the text of the first such line; the text is empty if there is none."""
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
