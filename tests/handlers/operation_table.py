"""The operations, row by row: the request, and the cells afterwards or the error.

Cells are written as the type's first letter, the source, and what is said of outputs, metadata or
ids behind it.
"""

# ruff: noqa: E501 -- a row is a line

import json
from typing import Any

from tests.support import samples

OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}


def build_view(cell: dict[str, Any]) -> str:
    """Write a cell as the rows do: `c: x = 1 [1 out] {tags: [a]}`."""
    outputs = f" [{len(cell['outputs'])} out]" if cell.get("outputs") else ""
    metadata = f" {json.dumps(cell['metadata'])}" if cell["metadata"] else ""
    return f"{cell['cell_type'][0]}: {''.join(cell['source'])}{outputs}{metadata}"


CODE = samples.code("x = 1\ny = x\nx", "code", execution_count=3, outputs=[OUTPUT])
TEXT = samples.markdown("# Title\n\nwords", "text", metadata={"tags": ["a"]})
RAW = samples.raw("as is", "raw")
LOCKED = samples.code("locked", "locked", outputs=[OUTPUT], metadata={"editable": False})
KEPT = samples.raw("kept", "kept", metadata={"deletable": False})

#: What the notebook of `CELLS` shows.
C, T, R = "c: x = 1\ny = x\nx [1 out]", 'm: # Title\n\nwords {"tags": ["a"]}', "r: as is"
L, K = 'c: locked [1 out] {"editable": false}', 'r: kept {"deletable": false}'
CELLS = [CODE, TEXT, RAW, LOCKED, KEPT]


def op(name: str, **fields: Any) -> dict[str, Any]:
    return {"op": name, **fields}


def put(source: str, **fields: Any) -> dict[str, Any]:
    return op("insert", source=source, cell_type="raw", **fields)


def build_texts(*edits: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in edits]


ROWS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    # replace: outputs become [] unless kept; id and metadata stay; a type change
    "replace": ([op("replace", cell="code", source="z")], ["c: z", T, R, L, K]),
    "replace, kept": (
        [op("replace", cell="code", source="z", outputs="keep")],
        ["c: z [1 out]", T, R, L, K],
    ),
    "replace by cell-N": ([op("replace", cell="cell-2", source="z")], [C, T, "r: z", L, K]),
    "replace keeps metadata": (
        [op("replace", cell="text", source="z")],
        [C, 'm: z {"tags": ["a"]}', R, L, K],
    ),
    "replace type": (
        [op("replace", cell="code", cell_type="raw"), op("replace", cell="raw", cell_type="code")],
        ["r: x = 1\ny = x\nx", T, "c: as is", L, K],
    ),
    # replace_text: exact, unique or all, one or several edits one after the other
    "replace_text": (
        [op("replace_text", cell="code", old="y = x", new="y = 2")],
        ["c: x = 1\ny = 2\nx", T, R, L, K],
    ),
    "replace_text, all": (
        [op("replace_text", cell="code", old="x", new="z", all=True)],
        ["c: z = 1\ny = z\nz", T, R, L, K],
    ),
    "replace_text, edits": (
        [op("replace_text", cell="raw", edits=build_texts(("as", "was"), ("was is", "was")))],
        [C, T, "r: was", L, K],
    ),
    # insert has a position, perhaps an id and metadata
    "insert at start": ([put("z", at="start")], ["r: z", C, T, R, L, K]),
    "insert at end": ([put("z", at="end")], [C, T, R, L, K, "r: z"]),
    "insert at index": ([put("z", index=1)], [C, "r: z", T, R, L, K]),
    "insert after": ([put("z", after="raw")], [C, T, R, "r: z", L, K]),
    "insert with an id, named later": (
        [put("z", at="start", id="new"), op("replace", cell="new", source="Z"), put("y", after="new")],
        ["r: Z", "r: y", C, T, R, L, K],
    ),
    # delete takes one cell or several
    "delete": ([op("delete", cell="text")], [C, R, L, K]),
    # move: cell or cells, position
    "move": ([op("move", cell="raw", at="start")], [R, C, T, L, K]),
    "move several": ([op("move", cells=["raw", "code"], after="locked")], [T, L, R, C, K]),
    # split / merge: at_line from 1; adjacent, same type; first keeps the id
    "split": ([op("split", cell="code", at_line=2)], ["c: x = 1", "c: y = x\nx", T, R, L, K]),
    "split copies metadata": (
        [op("split", cell="text", at_line=3)],
        [C, 'm: # Title\n {"tags": ["a"]}', 'm: words {"tags": ["a"]}', R, L, K],
    ),
    "merge": (
        [op("replace", cell="raw", cell_type="markdown"), op("merge", cells=["text", "raw"])],
        [C, 'm: # Title\n\nwords\nas is {"tags": ["a"]}', L, K],
    ),
    # clear_outputs: cell, cells or all
    "clear_outputs": ([op("clear_outputs", cell="code")], ["c: x = 1\ny = x\nx", T, R, L, K]),
    "clear_outputs of all": (
        [op("set_metadata", cell="locked", patch={"editable": True}), op("clear_outputs", all=True)],
        ["c: x = 1\ny = x\nx", T, R, 'c: locked {"editable": true}', K],
    ),
    # set_metadata: RFC 7396
    "set_metadata": (
        [op("set_metadata", cell="raw", patch={"tags": ["b"], "n": {"m": 1, "o": None}})],
        [C, T, 'r: as is {"n": {"m": 1}, "tags": ["b"]}', L, K],
    ),
    "set_metadata of the notebook": ([op("set_metadata", patch={"title": "é"})], [C, T, R, L, K]),
}  # fmt: skip

SECTIONS = [
    samples.markdown("# Title", "title"),
    samples.markdown("## Setup\n\n- One\n- Two\n  more\n  - inner", "setup"),
    samples.code("x", "x", outputs=[OUTPUT]),
    samples.markdown("words\n\n## Next\n\ntail", "next"),
    samples.markdown("Last\n====", "last"),
]
#: What the notebook of `SECTIONS` shows: Title has all but the last; Setup ends in the cell `next`.
H, S, X = "m: # Title", "m: ## Setup\n\n- One\n- Two\n  more\n  - inner", "c: x [1 out]"
N, E = "m: words\n\n## Next\n\ntail", "m: Last\n===="

SECTION_ROWS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    # append_to_section: up to the next heading of the same or a higher level
    "append": (
        [op("append_to_section", section="Title", source="new")],
        [H, S, X, N, "m: new", E],
    ),
    "append code": (
        [op("append_to_section", section="Last", source="new", cell_type="code")],
        [H, S, X, N, E, "c: new"],
    ),
    "append where the section ends within a cell": (
        [op("append_to_section", section="Setup", source="new")],
        [H, S, X, "m: words\n\nnew\n\n## Next\n\ntail", E],
    ),
    # replace_section: keeps the heading
    "replace": (
        [op("replace_section", section="Title", source="new")],
        [H, "m: new", E],
    ),
    "replace by code": (
        [op("replace_section", section="Next", source="new", cell_type="code")],
        [H, S, X, "m: words\n\n## Next", "c: new", E],
    ),
    "replace what ends within a cell": (
        [op("replace_section", section="Setup", source="new")],
        [H, "m: ## Setup", "m: new", "m: ## Next\n\ntail", E],
    ),
    # remove_entry: list items whose text contains match, case-insensitive
    "remove": (
        [op("remove_entry", section="Setup", match="ONE")],
        [H, S.replace("- One\n", ""), X, N, E],
    ),
    "remove with all that belongs to it": (
        [op("remove_entry", section="Title", match="two more")],
        [H, "m: ## Setup\n\n- One", X, N, E],
    ),
}  # fmt: skip

#: What the reply contains about an operation.
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "replace": (
        op("replace", cell="code", source="z"),
        {"cell_id": "code", "index": 0, "cell_type": "code", "source_hash": samples.compute_hash("z"), "outputs_cleared": True},
    ),
    "delete several": (
        op("delete", cells=["raw"]),
        {"cell_id": None, "index": None, "cell_type": None, "source_hash": None, "cells": [{"cell_id": "raw", "index": 2, "cell_type": "raw", "source_hash": samples.compute_hash("as is"), "source": "as is"}]},
    ),
    "set_metadata of the notebook": (
        op("set_metadata", patch={"a": 1}),
        {"cell_id": None, "index": None, "cell_type": None, "source_hash": None},
    ),
}  # fmt: skip
