"""Operations from random numbers, and what another program makes of a file."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from jupyter_nbedit.notebook.operations import Operation
from tests.notebook.strategies import FileLayout, Members, Token

# What the model of sections understands of Markdown.
LINES = ["# A", "## B", "# C", "### D", "- one", "- Two", "- two and one", "  deep", "text", ""]


NAMES = ["A", "B", "## B", "C", "# A", "D", "missing"]


WORDS = ["one", "two", "text", "deep", "uno", "e"]


TYPES = ["code", "markdown", "markdown", "raw"]


PATCHES: list[dict[str, Any]] = [
    {"tags": ["a"]},
    {"tags": None},
    {"k": {"x": {"y": 1}}},
    {"k": {"x": None, "z": [None, 1.5]}},
    {"editable": False},
    {"editable": None},
    {"editable": True, "k": 2},
    {"deletable": None, "tags": []},
    {"deletable": False},
    {"deletable": None},
    {},
]


class RandomOperations:
    """The choices of one step, all made from one number, which is much faster to draw."""

    def __init__(self, seed: int, total: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- predictable on purpose
        self.total = total
        self.ids: list[str] = []

    def source(self) -> str:
        lines = [self.random.choice(LINES) for _ in range(self.random.randrange(7))]
        return "\n".join(lines) + self.random.choice(["", "\n"])

    def notebook(self, layout: FileLayout) -> bytes:
        """Write a notebook as many are: some cells, with outputs, and ids of their own."""
        ids, cells = self.random.random() < 0.7, []
        for at in range(self.random.randrange(2, 9)):
            cell_type = self.random.choice(TYPES)
            pairs = [("cell_type", cell_type), ("metadata", Members([])), ("source", self.source())]
            if cell_type == "code":
                output = Members([("output_type", "stream"), ("text", ["1\n"])])
                pairs += [("execution_count", at), ("outputs", [output])]
            cells.append(Members([*pairs, ("id", f"c{at}")] if ids else pairs))
        top = [("cells", cells), ("metadata", Members([])), ("nbformat", 4)]
        return layout.write(Members([*top, ("nbformat_minor", 5 if ids else 4)])).encode()

    def cell(self) -> str | int:
        at = self.random.randrange(self.total + (self.random.random() < 0.03)) if self.total else 0
        named = self.ids and self.random.random() < 0.3
        if named:
            return self.random.choice(self.ids)
        return at if self.random.random() < 0.7 else f"cell-{at}"

    def draw_address(self) -> dict[str, Any]:
        if self.random.random() < 0.5:
            return {"cell": self.cell()}
        return {"cells": [self.cell() for _ in range(self.random.randrange(1, 4))]}

    def place(self) -> dict[str, Any]:
        choices: list[dict[str, Any]] = [
            {"at": self.random.choice(["start", "end"])},
            {"index": self.random.randrange(self.total + 1)},
            {self.random.choice(["after", "before"]): self.cell()},
        ]
        return self.random.choice(choices)

    def operation(self, kind: str) -> dict[str, Any]:
        return {"op": kind, **getattr(self, kind)()}

    def replace(self) -> dict[str, Any]:
        fields = {"source": self.source(), "cell_type": self.random.choice(TYPES)}
        members = self.random.choice([["source"], ["source"], ["cell_type"], list(fields)])
        outputs = self.random.choice(["clear", "keep"])
        return {"cell": self.cell(), "outputs": outputs, **{name: fields[name] for name in members}}

    def replace_text(self) -> dict[str, Any]:
        def one() -> dict[str, Any]:
            old, new = self.random.choice(WORDS), self.random.choice(WORDS)
            return {"old": old, "new": new, "all": self.random.random() < 0.6}

        edits = {"edits": [one() for _ in range(self.random.randrange(1, 3))]}
        return {"cell": self.cell(), **self.random.choice([one(), edits])}

    def insert(self) -> dict[str, Any]:
        cell_type, fields = self.random.choice(TYPES), {}
        if self.random.random() < 0.5:
            fields["id"] = f"new-{self.random.randrange(1000)}"
            self.ids.append(fields["id"])
        return {"source": self.source(), "cell_type": cell_type, **fields, **self.place()}

    def delete(self) -> dict[str, Any]:
        return self.draw_address()

    def move(self) -> dict[str, Any]:
        return {**self.draw_address(), **self.place()}

    def split(self) -> dict[str, Any]:
        return {"cell": self.cell(), "at_line": self.random.choice([2, 2, 3])}

    def merge(self) -> dict[str, Any]:
        at = self.random.randrange(max(1, self.total - 1))
        return {"cells": [at, at + 1]}

    def clear_outputs(self) -> dict[str, Any]:
        return self.random.choice([{"all": True}, self.draw_address()])

    def set_metadata(self) -> dict[str, Any]:
        named = {"cell": self.cell()} if self.random.random() < 0.7 else {}
        return {"patch": self.random.choice(PATCHES), **named}

    def append_to_section(self) -> dict[str, Any]:
        kind = self.random.choice([{}, {}, {"cell_type": "code"}])
        return {"section": self.random.choice(NAMES), "source": self.source(), **kind}

    def replace_section(self) -> dict[str, Any]:
        return self.append_to_section()

    def remove_entry(self) -> dict[str, Any]:
        match = self.random.choice(["ONE", "two", "deep", "and"])
        return {"section": self.random.choice(NAMES), "match": match}


OPERATIONS = sorted(operation.__struct_config__.tag for operation in get_args(Operation))


CELL_OPERATIONS = [name for name in OPERATIONS if not name.endswith(("_section", "_entry"))]
SECTION_OPERATIONS = [name for name in OPERATIONS if name not in CELL_OPERATIONS]


def rewrite(text: bytes, layout: FileLayout, change: Callable[[list[Any]], None]) -> bytes:
    """Rewrite the file as another program: another layout, and a change of its cells."""
    notebook = json.loads(
        text.decode("utf-8-sig"),
        object_pairs_hook=Members,
        parse_int=Token,
        parse_float=Token,
        parse_constant=Token,
    )
    change(dict(notebook.pairs)["cells"])
    try:
        return layout.write(notebook).encode()
    except UnicodeEncodeError:
        return replace(layout, ascii=True).write(notebook).encode()
