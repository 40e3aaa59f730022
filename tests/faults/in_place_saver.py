"""Save a notebook in a loop as a Jupyter server does, in place, until the input ends.

python -m tests.faults.in_place_saver ROOT
"""

import asyncio
import select
import sys
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

NAME = "a.ipynb"
_FILLING = "x" * 300_000


def build_version(number: int) -> str:
    known = '"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5'
    return f'{{"n": {number}, "filling": "{_FILLING}", {known}, "again": {number}}}'


async def save(manager: Any, number: int) -> None:
    model = {"type": "file", "format": "text", "content": build_version(number)}
    await manager.save(model, NAME)


def main() -> None:
    manager = AsyncLargeFileManager(root_dir=sys.argv[1])
    number = 0
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        number += 1
        asyncio.run(save(manager, number))
        if number == 1:
            print("begun", flush=True)
    print(number, flush=True)


if __name__ == "__main__":
    main()
