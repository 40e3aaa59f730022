"""Notebooks of a given size or number of cells, the same on every run."""

import base64
import json
import random
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

EDITED = "edited-cell"
WORDS = ("the", "data", "model", "plot", "mean", "and", "then", "we", "see", "that", "rain")
_LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_AROUND = {
    "cells": ["CELLS"],
    "metadata": {"kernelspec": _KERNEL, "language_info": _LANGUAGE},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_HEAD, _TAIL = json.dumps(_AROUND, indent=1).encode().split(b'  "CELLS"')
_ID = b"the-id-of-this-cell"
# So many different cells of each kind, over and over again.
_VARIANTS = 8


def build_mixed(size: int) -> bytes:
    """Make a notebook of about that many bytes: prose, code with text output, plots."""
    chance = random.Random(size)  # noqa: S311 - reproducible, not secret
    plot = min(150_000, size // 20)
    kinds = [
        kind
        for _ in range(_VARIANTS)
        for kind in (_prose(chance), _code(chance, _stream(chance, 10)), _plot(chance, plot))
    ]
    return _join_cells(_fill(size, kinds))


def build_pictures(size: int) -> bytes:
    """Make a notebook of about that many bytes, nearly all of them plots."""
    chance = random.Random(size)  # noqa: S311 - as above
    return _join_cells(_fill(size, [_plot(chance, 250_000) for _ in range(_VARIANTS)]))


def build_printed(size: int) -> bytes:
    """Make a notebook of about that many bytes, nearly all of them lines of text output."""
    chance = random.Random(size)  # noqa: S311 - as above
    kinds = [_code(chance, _stream(chance, 2_500)) for _ in range(_VARIANTS)]
    return _join_cells(_fill(size, kinds))


def build_many_cells(cells: int) -> bytes:
    """Make a notebook of that many small cells, of about 360 bytes each."""
    chance = random.Random(cells)  # noqa: S311 - as above
    kinds = cycle([kind for _ in range(_VARIANTS) for kind in (_code(chance), _note(chance))])
    return _join_cells([next(kinds) for _ in range(cells - 1)])


#: Notebooks that are nearly all output, by its kind.
LARGE: Mapping[str, Callable[[int], bytes]] = {
    "plots": build_pictures,
    "printed text": build_printed,
}


def _fill(size: int, kinds: list[bytes]) -> list[bytes]:
    endless = cycle(kinds)
    chosen = []
    while size > 0:
        chosen.append(next(endless))
        size -= len(chosen[-1])
    return chosen


def _join_cells(cells: list[bytes]) -> bytes:
    """Put cells into a notebook, each with its id, and the one to edit in the middle."""
    named = [cell.replace(_ID, b"cell-%06d" % number, 1) for number, cell in enumerate(cells)]
    chance = random.Random(0)  # noqa: S311 - as above
    edited = _code(chance, _stream(chance, 3)).replace(_ID, EDITED.encode(), 1)
    named.insert(len(named) // 2, edited)
    return _HEAD + b",\n".join(named) + _TAIL + b"\n"


def _prose(chance: random.Random) -> bytes:
    return _dump_cell("markdown", ["## A section\n", "\n", _sentence(chance, 60)])


def _note(chance: random.Random) -> bytes:
    return _dump_cell("markdown", [_sentence(chance, 8) + "\n" for _ in range(6)])


def _code(chance: random.Random, *outputs: dict[str, Any]) -> bytes:
    lines = [f"x_{line} = {_sentence(chance, 6)!r}\n" for line in range(4)]
    run = {"execution_count": chance.randrange(1000), "outputs": outputs}
    return _dump_cell("code", [*lines, "print(x_0)"], **run)


def _plot(chance: random.Random, size: int) -> bytes:
    png = base64.b64encode(chance.randbytes(size * 3 // 4)).decode()
    data = {"image/png": png, "text/plain": ["<Figure size 640x480 with 1 Axes>"]}
    return _code(chance, {"data": data, "metadata": {}, "output_type": "display_data"})


def _stream(chance: random.Random, lines: int) -> dict[str, Any]:
    text = [_sentence(chance, 12) + "\n" for _ in range(lines)]
    return {"name": "stdout", "output_type": "stream", "text": text}


def _dump_cell(kind: str, source: list[str], **members: Any) -> bytes:
    cell = {"cell_type": kind, "id": _ID.decode(), "metadata": {}, "source": source, **members}
    lines = json.dumps(cell, indent=1, sort_keys=True).splitlines()
    return "\n".join(f"  {line}" for line in lines).encode()


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))
