"""The shared corpora: real notebooks and torture data, beside the checkout and never in it."""

import os
from pathlib import Path

import pytest

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"


def corpus(name: str) -> Path:
    """Return the folder of a corpus; in CI it must exist."""
    folder = CORPORA / name
    if folder.exists():
        return folder
    message = f"the corpus {name!r} is not beside this checkout, in ../shared/corpora"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def notebooks() -> list[Path]:
    """List the real notebooks."""
    return sorted(corpus("notebooks").rglob("*.ipynb"))
