"""The options and the reply of the read service."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook.operations import MAX_INTEGER, MAX_SECTION_NAME_LENGTH
from jupyter_nbedit.notebook.views import CellView, OutputsDetail, View
from jupyter_nbedit.services.requests import Rev


class Kernelspec(msgspec.Struct, frozen=True):
    """The kernel that the metadata of the notebook names."""

    name: str | None
    display_name: str | None


class TruncationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What `max_chars` left out of the reply, in total; each cell has its own counts."""

    cells: Annotated[
        int,
        Meta(ge=0, description="Cells of the page that are not shown at all; `next` is the first."),
    ]
    source: Annotated[int, Meta(ge=0, description="Characters of the shown cells' sources.")]
    metadata: Annotated[int, Meta(ge=0, description="Characters of their metadata as JSON.")]
    attachments: Annotated[int, Meta(ge=0, description="Characters of their attachments as JSON.")]
    outputs: Annotated[int, Meta(ge=0, description="Characters of their outputs.")]
    output_count: Annotated[int, Meta(ge=0, description="Outputs that are not shown at all.")]


class ChangesSince(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the whole notebook from the version that ``since`` names."""

    hash: Annotated[str, Meta(description="The version.")]
    changed: Annotated[
        int,
        Meta(
            ge=0,
            description="The number of new and changed cells, by their text in the file. `cells` "
            "has these only.",
        ),
    ]
    gone: Annotated[
        list[str], Meta(description="The ids of the version that the notebook does not have.")
    ]
    reordered: Annotated[bool, Meta(description="Whether the common cells are in another order.")]
    total_cells: Annotated[int, Meta(ge=0, description="How many cells the version had.")]


class ReadReply(msgspec.Struct, frozen=True, kw_only=True):
    """A view of a notebook; ``next`` is the ``start`` of the next page, or null.

    ``omitted`` is present if the query has ``max_chars``, ``since`` if it has ``since``.
    """

    path: str
    hash: str
    last_modified: datetime
    nbformat: int
    nbformat_minor: int
    language: str | None
    kernelspec: Kernelspec | None
    trusted: bool
    live: bool
    total_cells: int
    cells: list[CellView]
    next: int | None
    omitted: TruncationTotals | UnsetType = UNSET
    since: ChangesSince | UnsetType = UNSET


@dataclass(frozen=True, kw_only=True)
class NotebookText:
    """A notebook as compact text: ``body`` has the cells, the rest is for the first line."""

    path: str
    hash: str
    total_cells: int
    language: str | None
    is_trusted: bool
    is_room: bool
    body: str
    since: ChangesSince | UnsetType


class CellOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How much of each cell to return; the query of a GET of one cell."""

    view: Annotated[
        View | UnsetType,
        Meta(
            description="`outline` has the first line of each cell, `source` the sources, "
            "`full` metadata and attachments as well. Without it `source`; a text has an "
            "outline if the sources do not fit `max_chars`."
        ),
    ] = UNSET
    outputs: Annotated[
        OutputsDetail | UnsetType,
        Meta(
            description="`summary` has number, types and size; `text` has the texts, without "
            "ANSI escapes, and `{mime, bytes}` for images and all else; `full` has everything. "
            "Without it `text` with `view=full`, else `summary`."
        ),
    ] = UNSET
    max_chars: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INTEGER,
                description="The most characters of the notebook's text in the reply: of the "
                "outline first, then of sources, then of metadata, attachments and outputs. "
                "`omitted` of each cell and of the reply counts what is left out; ids, hashes and "
                "the structure of the reply do not count. Of a text, everything counts, and the "
                "default is 8000.",
            ),
        ]
        | UnsetType
    ) = UNSET
    rev: Rev | UnsetType = UNSET


class ReadOptions(CellOptions, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which cells to return, and how much of them; all cells if none are named."""

    view: (
        Annotated[
            View,
            Meta(
                description="`outline` has the first line of each cell, `source` the sources, "
                "`full` metadata and attachments as well. `nbformat`, only together with `since`, "
                "has the difference from that version. Without it `source`; a text has an outline "
                "if the sources do not fit `max_chars`.",
                extra_json_schema={"enum": ["full", "nbformat", "outline", "source"]},
            ),
        ]
        | UnsetType
    ) = UNSET
    cell: Annotated[
        list[str],
        Meta(
            description="The cells to return: ids, guarded names `N:hhhhhh`, `cell-N`, or indexes "
            "from 0. Repeatable."
        ),
    ] = []
    section: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"maxLength": MAX_SECTION_NAME_LENGTH})]],
        Meta(description="Headings: the cells of their sections are returned. Repeatable."),
    ] = []
    since: Annotated[
        str | UnsetType,
        Meta(
            description="The hash of a version you have, or its first digits, at least 8: only "
            "cells changed since then; see `since` there."
        ),
    ] = UNSET
    start: Annotated[
        int,
        Meta(ge=0, le=MAX_INTEGER, description="The index of the first cell; a reply's `next`."),
    ] = 0
    limit: (
        Annotated[int, Meta(ge=1, le=MAX_INTEGER, description="How many cells at most.")]
        | UnsetType
    ) = UNSET


class DeltaOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET with `view=nbformat`."""

    view: Literal["nbformat"]
    since: str


class DeltaPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A range of cells of the version that `since` names, or another cell."""

    copy: Annotated[
        tuple[int, int] | UnsetType,
        Meta(
            description="The index of the first cell in the file of that version, and the "
            "index after the last one."
        ),
    ] = UNSET
    cell: (
        Annotated[
            msgspec.Raw,
            Meta(
                description="A cell as in the Contents API, without `metadata.trusted`. It has no "
                "`id` if the Contents API would generate one.",
                extra_json_schema={"type": "object"},
            ),
        ]
        | UnsetType
    ) = UNSET


class DeltaReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A notebook as its difference from a version: the reply to `view=nbformat`."""

    since: Annotated[str, Meta(description="The hash of that version.")]
    hash: Annotated[str, Meta(description="The hash of the notebook.")]
    last_modified: datetime
    trusted: Annotated[
        bool, Meta(description="`metadata.trusted` of every code cell in the Contents API.")
    ]
    cells: Annotated[list[DeltaPart], Meta(description="All its cells, in their order.")]
    metadata: (
        Annotated[
            msgspec.Raw,
            Meta(
                description="The notebook's metadata, if it differs.",
                extra_json_schema={"type": "object"},
            ),
        ]
        | UnsetType
    ) = UNSET
    nbformat_minor: Annotated[
        int | UnsetType, Meta(description="The minor version of the format, if it differs.")
    ] = UNSET
