"""The request and the reply of a search."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.notebook.search import Hit, Scope
from jupyter_nbedit.storage.base import SkippedNotebook

#: The most hits of one reply.
MAX_HITS = 1000


class SearchRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What to search for, and where; exactly one of ``query`` and ``regex`` is required."""

    query: (
        Annotated[
            str, Meta(min_length=1, max_length=1000, description="A text of one line, as it is.")
        ]
        | UnsetType
    ) = UNSET
    regex: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1000,
                description="A regular expression in the syntax of RE2. Lines are searched one by "
                "one: `^` and `$` are a line's begin and end, and nothing matches a line break.",
            ),
        ]
        | UnsetType
    ) = UNSET
    ignore_case: bool = False
    path: Annotated[
        str, Meta(description="The folder to search, or the only notebook; empty for the root.")
    ] = ""
    recursive: Annotated[bool, Meta(description="Whether to go into the folders in it.")] = True
    glob: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=200,
                description="Only notebooks whose name matches, or, if it has a `/`, whose path "
                "from `path` on; `*` is anything, `?` any character, `[ab]` one of these.",
                examples=["report-*.ipynb"],
            ),
        ]
        | UnsetType
    ) = UNSET
    scope: Annotated[
        list[Scope],
        Meta(
            min_length=1,
            description="Where to search: in the `sources` of all cells, in those of `markdown` "
            "cells, in the texts of `outputs` as `outputs=text` shows them (streams, `text/plain`, "
            "tracebacks), in `tags`.",
        ),
    ] = msgspec.field(default_factory=lambda: ["sources"])
    cell_type: Literal["code", "markdown", "raw"] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="How many hits at most.")] = 100
    max_files: (
        Annotated[
            int, Meta(ge=1, le=MAX_INTEGER, description="How many notebooks to search at most.")
        ]
        | UnsetType
    ) = UNSET
    cursor: Annotated[
        str | UnsetType, Meta(description="`cursor` of a reply: continues where that reply ended.")
    ] = UNSET


class SearchReply(msgspec.Struct, kw_only=True):
    """The matching lines, in the order of the paths and of the cells."""

    hits: list[Hit]
    files: Annotated[int, Meta(ge=0, description="Notebooks that were searched for this reply.")]
    skipped: Annotated[
        list[SkippedNotebook],
        Meta(
            description="What could not be searched; the first 100. A damaged cell is left out if "
            "its bytes show that it has no match."
        ),
    ]
    skipped_count: Annotated[int, Meta(ge=0, description="How many there were.")]
    hidden: Annotated[
        int, Meta(ge=0, description="The number of hidden notebooks and folders, not searched.")
    ]
    ended_by: Annotated[
        Literal["limit", "max_files", "time"] | None,
        Meta(description="What ended this reply; null if there is no more to search."),
    ]
    cursor: Annotated[
        str | None,
        Meta(description="Continues the same search; null if there is no more to search."),
    ]
