from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jupyter_nbedit import __version__
from jupyter_nbedit.cli.demo import play
from jupyter_nbedit.cli.demo.script import RICH, STEPS, Step
from jupyter_nbedit.cli.demo.server import DemoError

JUPYTER = Path(sys.executable).parent / "jupyter"
LIMIT = 120  # seconds
(REFUSED,) = (step for step in STEPS if step.expected_reason)


@pytest.fixture
def own_places(tmp_path: Path) -> dict[str, str]:
    """A home and a temporary folder of the test's own."""
    places = {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "tmp"}
    for place in places.values():
        place.mkdir()
    return {**os.environ, **{name: str(place) for name, place in places.items()}}


def test_the_command_prints_its_version() -> None:
    answer = subprocess.run(
        [JUPYTER, "nbedit", "--version"], capture_output=True, text=True, timeout=LIMIT, check=True
    )

    assert answer.stdout.strip() == __version__


def test_the_demo_without_a_page_prints_every_exchange_and_leaves_nothing_behind(
    own_places: dict[str, str],
) -> None:
    process = subprocess.run(
        [JUPYTER, "nbedit", "demo", "--no-browser", "--once"],
        env=own_places,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.count("\nPATCH /nbedit/notebooks/") == len(STEPS)
    assert process.stdout.count("\n200 OK\n") == len(STEPS) - 1
    assert process.stdout.count("\n409 Conflict\n") == 1
    assert '-    "wet = 100  # a month' in process.stdout
    assert '+    "wet = 200  # a month' in process.stdout
    assert f"All {len(STEPS)} answers were as promised" in process.stdout
    assert list(Path(own_places["TMPDIR"]).iterdir()) == []
    # Other extensions may have caches there; Jupyter's own places must be untouched.
    names = {entry.name for entry in Path(own_places["HOME"]).iterdir()}
    assert names.isdisjoint({".ipython", ".jupyter", ".local"})


def test_a_signal_ends_the_demo_with_its_server_and_its_files(own_places: dict[str, str]) -> None:
    with subprocess.Popen(
        [JUPYTER, "nbedit", "demo", "--no-browser"],
        env=own_places,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        address = next(
            found[0] for line in demo.stdout if (found := re.search(r"http://\S+", line))
        )
        page = urlsplit(address)
        assert page.path == f"/lab/tree/{RICH}"
        assert is_answering(page.port)

        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=LIMIT)

    assert demo.returncode == 0
    assert not is_answering(page.port)
    assert list(Path(own_places["TMPDIR"]).iterdir()) == []


def test_the_demo_describes_its_samples_correctly() -> None:
    windows = (play.SAMPLES / "windows.ipynb").read_bytes()
    archive = (play.SAMPLES / "archive.ipynb").read_bytes()
    rainfall = (play.SAMPLES / "rainfall.ipynb").read_bytes()

    assert windows.count(b"\n") == windows.count(b"\r\n")
    assert windows.startswith(b'{\r\n  "cells": [\r\n    {\r\n')
    assert b'"nbformat_minor": 4' in archive
    assert b'"id"' not in archive
    assert b'"text/html"' in rainfall
    assert b'"image/svg+xml"' in rainfall


@pytest.mark.parametrize(
    ("step", "status", "answer", "after"),
    [
        (STEPS[0], 500, {"message": "no"}, b"new"),
        (STEPS[0], 200, {"hash_before": "0", "hash": "0", "bytes_preserved": True}, b"new"),
        (STEPS[0], 409, {"reason": "cell_changed"}, b"old"),
        # Refused as expected, but the file has changed.
        (REFUSED, 409, {"reason": REFUSED.expected_reason}, b"new"),
    ],
)
def test_the_demo_detects_an_answer_that_breaks_a_promise(
    step: Step, status: int, answer: dict[str, object], after: bytes
) -> None:
    with pytest.raises(DemoError):
        play.check_promises(step, status, answer, b"old", after)


def is_answering(port: int | None) -> bool:
    connection = HTTPConnection("127.0.0.1", port or 0, timeout=LIMIT)
    try:
        connection.request("GET", "/api")
        return connection.getresponse().status == 200
    except ConnectionRefusedError:
        return False
    finally:
        connection.close()


def test_cli_and_client_load_neither_nbformat_nor_jupyter_server() -> None:
    code = (
        "import sys\n"
        "import jupyter_nbedit.cli, jupyter_nbedit.db.database, jupyter_nbedit.history.store\n"
        "import jupyter_nbedit.notebook.apply_batch, jupyter_nbedit.storage.files.file_storage\n"
        "print({'nbformat', 'jupyter_server'} & set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "set()\n"
