"""The reply to a search as text: a line for each hit, below the path of its notebook."""

from collections.abc import Iterator
from itertools import groupby

from msgspec import UNSET

from jupyter_nbedit.notebook.search import Hit
from jupyter_nbedit.notebook.shown_text import count_noun, make_line, quote_path
from jupyter_nbedit.services.search.models import SearchReply

_MAX_HIT_LENGTH = 160
_SHOWN_SKIPPED = 5
_TYPES = {"markdown": "md"}


def render_search(reply: SearchReply) -> str:
    """Return the reply to a search as text."""
    paths = {hit.path for hit in reply.hits}
    hits, notebooks = count_noun(len(reply.hits), "hit"), count_noun(reply.files, "notebook")
    lines = [f"{hits} in {len(paths)} of {notebooks}"]
    for path, hits_there in groupby(reply.hits, key=lambda hit: hit.path):
        lines.append(f"== {quote_path(path)}")
        lines += map(render_hit, hits_there)
    return "\n".join([*lines, *render_rest(reply)])


def render_hit(hit: Hit) -> str:
    """Return a line about a hit: the name of the cell, the number of the line, and its text."""
    place = str(hit.line)
    if hit.where == "outputs":
        place = f"output {hit.output}, {hit.line}"
    elif hit.where == "tags":
        place = "tag"
    cell_type = _TYPES.get(hit.cell_type, hit.cell_type)
    text = make_line(hit.text.strip(), _MAX_HIT_LENGTH)
    is_cut = hit.text_column is not UNSET
    return (
        f"{hit.name} {make_line(cell_type, _MAX_HIT_LENGTH)} {place}: {'…' if is_cut else ''}{text}"
    )


def render_rest(reply: SearchReply) -> Iterator[str]:
    """Yield notes about what was not searched, and how to go on."""
    if reply.skipped_count:
        shown = "; ".join(
            f"{quote_path(skipped.path)} ({skipped.reason})"
            for skipped in reply.skipped[:_SHOWN_SKIPPED]
        )
        more = reply.skipped_count - min(len(reply.skipped), _SHOWN_SKIPPED)
        yield f"<note>Not searched: {shown}{f'; {more} more' if more else ''}.</note>"
    if reply.cursor is not None:
        yield f"<note>There may be more hits: go on with cursor={reply.cursor}</note>"
