"""Find the cells that contain a text to replace, if a request does not name the cell."""

from collections.abc import Callable, Sequence

from jupyter_nbedit.errors import TextMismatch
from jupyter_nbedit.notebook.shown_text import unescape_markup
from jupyter_nbedit.notebook.source_edit import find_shown_text

_MAX_NAMES = 20


def find_cells_with_text(
    sources: Sequence[str | None],
    old: str,
    *,
    takes_all: bool,
    get_name: Callable[[int], str],
    advice: tuple[str, str],
) -> list[int]:
    """Return the index of the one cell that contains a text; all indexes if ``takes_all``.

    A source is None if it cannot be read. ``advice`` is how to name the cell, and how to choose
    among several. Raise `TextMismatch` if no cell has the text, or several where one must.
    """
    indexes = [index for index, source in enumerate(sources) if source and old in source]
    if not indexes and unescape_markup(old) != old:
        indexes = [
            index for index, source in enumerate(sources) if source and find_shown_text(source, old)
        ]
    if len(indexes) == 1 or (indexes and takes_all):
        return indexes
    if not indexes:
        message = (
            "The text to replace does not occur in any cell. It must match exactly, including "
            f"spaces and line breaks. {advice[0]} to be shown the part of a cell that is most like "
            "it."
        )
        raise TextMismatch(message, count=0, lines=[])
    names = list(map(get_name, indexes[:_MAX_NAMES]))
    message = (
        f"The text to replace occurs in {len(indexes)} cells: {', '.join(names)}"
        f"{', ...' if len(indexes) > len(names) else ''}. {advice[1]} to replace it in all of them."
    )
    raise TextMismatch(message, count=len(indexes), lines=[], candidates=names)
