"""Notebooks for one test each."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support import samples
from tests.support.http import Client, Local

_NUMBERS = itertools.count()


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> str:
    """Return the path of a notebook that no other test has; the module's ``TEXT`` is in it."""
    name = f"{request.node.originalname}-{next(_NUMBERS)}.ipynb"
    (live.root / name).write_bytes(getattr(request.module, "TEXT", samples.three_cells()))
    return name


@pytest.fixture
def notebook(local: Local, request: pytest.FixtureRequest) -> Path:
    """Return the file ``a.ipynb`` of the test's own server; the module's ``TEXT`` is in it."""
    found = local.root / "a.ipynb"
    found.write_bytes(getattr(request.module, "TEXT", samples.three_cells()))
    return found
