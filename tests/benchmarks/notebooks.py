"""Notebooks of a given size, the same on every run: prose, code with text output, plots."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

EDITED = "edited-cell"
WORDS = (
    "the",
    "data",
    "model",
    "plot",
    "mean",
    "and",
    "then",
    "we",
    "see",
    "that",
    "rain",
    "falls",
)


def notebook(size: int) -> bytes:
    """Make a notebook of about that many bytes; a code cell in the middle has the id to edit."""
    chance = random.Random(size)  # noqa: S311 - reproducible, not secret
    plot = min(150_000, size // 20)
    cells: list[dict[str, Any]] = []
    written = 0
    for cell in _endless_cells(chance, plot):
        cells.append(cell)
        written += len(json.dumps(cell, indent=1))
        if written >= size:
            break
    cells.insert(len(cells) // 2, _code(chance, EDITED, [_stream(chance)]))
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": kernelspec, "language_info": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _endless_cells(chance: random.Random, plot: int) -> Iterator[dict[str, Any]]:
    for number in range(1_000_000):
        yield {
            "cell_type": "markdown",
            "id": f"text-{number}",
            "metadata": {},
            "source": [f"## Section {number}\n", "\n", _sentence(chance, 60)],
        }
        yield _code(chance, f"code-{number}", [_stream(chance)])
        yield _code(chance, f"plot-{number}", [_plot(chance, plot)])


def _code(chance: random.Random, cell_id: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": chance.randrange(1000),
        "id": cell_id,
        "metadata": {},
        "outputs": outputs,
        "source": [f"x_{line} = {_sentence(chance, 6)!r}\n" for line in range(8)] + ["print(x_0)"],
    }


def _stream(chance: random.Random) -> dict[str, Any]:
    lines = [_sentence(chance, 12) + "\n" for _ in range(10)]
    return {"name": "stdout", "output_type": "stream", "text": lines}


def _plot(chance: random.Random, size: int) -> dict[str, Any]:
    png = base64.b64encode(chance.randbytes(size * 3 // 4)).decode()
    return {
        "data": {"image/png": png, "text/plain": ["<Figure size 640x480 with 1 Axes>"]},
        "metadata": {},
        "output_type": "display_data",
    }


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))
