import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import websocket

from jupyter_nbedit.cli.demo import play
from jupyter_nbedit.cli.demo.script import CLIENT, NOTEBOOK, STEPS, Step
from jupyter_nbedit.cli.demo.server import DemoError, Server

JUPYTER = Path(sys.executable).parent / "jupyter"
LIMIT = 120  # seconds
REQUESTS = [(step, message) for step in STEPS for message, _ in step.requests]
(PROPOSING,) = (step for step in STEPS if step.mode == "review")


@pytest.fixture
def own_places(tmp_path: Path) -> dict[str, str]:
    """A home and a temporary folder of the test's own, and the encoding of pipes on Windows."""
    places = {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "tmp"}
    for place in places.values():
        place.mkdir()
    paths = {name: str(place) for name, place in places.items()}
    return {**os.environ, **paths, "PYTHONIOENCODING": "cp1252"}


def make_display_less(environment: dict[str, str], **variables: str) -> dict[str, str]:
    """Return an environment in which Python finds no browser, and the given variables."""
    names = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in environment.items() if name not in names}
    return {**kept, "PATH": str(JUPYTER.parent), **variables}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a browser")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "this machine has no display"),
        ({"DISPLAY": ":1"}, "no browser was found"),
        ({"WAYLAND_DISPLAY": "wayland-1"}, "no browser was found"),
        ({"BROWSER": "/usr/bin/w3m"}, "the only browser is w3m, which cannot show JupyterLab"),
        ({"BROWSER": "firefox"}, "None"),
    ],
)
def test_the_demo_knows_whether_a_browser_can_be_opened(
    variables: dict[str, str], expected: str
) -> None:
    code = "from jupyter_nbedit.cli.demo import play; print(play.explain_missing_browser())"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=make_display_less(dict(os.environ), **variables),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )

    assert answer.stdout.strip() == expected


@pytest.mark.parametrize(
    ("variables", "options", "reason"),
    [
        ({}, ("--once",), ""),
        ({"BROWSER": "w3m"}, (), "No browser can be opened: the only browser is w3m"),
        (
            {"BROWSER": "/usr/bin/true"},
            ("--wait", "0"),
            "No page has opened the notebook within 0 seconds",
        ),
    ],
    ids=["once", "no browser", "no page"],
)
def test_the_demo_without_a_page_prints_every_exchange_and_leaves_nothing_behind(
    own_places: dict[str, str], variables: dict[str, str], options: tuple[str, ...], reason: str
) -> None:
    process = subprocess.run(
        [JUPYTER, "nbedit", "demo", *options],
        env=make_display_less(own_places, **variables),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert process.returncode == 0, process.stdout + process.stderr
    beginning, _, end = process.stdout.partition("\nPATCH ")
    assert reason in beginning
    assert reason in end
    assert ("as with `--once`" in beginning) == bool(reason)
    assert ("nbedit demo --no-browser`" in end) == bool(reason)
    count = len(REQUESTS)
    assert process.stdout.count(f"\nPATCH /nbedit/notebooks/{NOTEBOOK}\n") == count
    assert process.stdout.count("\n200 OK\n") == count - 1
    assert process.stdout.count("\n202 Accepted\n") == 1
    assert '-    "[city for city, mm in rain.items() if mm > 1000]"' in process.stdout
    assert '+    "sorted(city for city, mm in rain.items() if mm > 1000)"' in process.stdout
    assert f"All {count} answers were as promised" in process.stdout
    assert list(Path(own_places["TMPDIR"]).iterdir()) == []
    # Other extensions may have caches there; Jupyter's own places must be untouched.
    names = {entry.name for entry in Path(own_places["HOME"]).iterdir()}
    assert names.isdisjoint({".ipython", ".jupyter", ".local"})


def test_the_demo_in_the_browser_plays_all_steps_and_goes_on_if_a_cell_is_gone(
    own_places: dict[str, str],
) -> None:
    with play_demo(own_places, "--step") as demo:
        assert demo.stdin is not None
        server = demo.server
        assert server.send_request("DELETE", f"{play.ROUTE}/cells/wet")[0] == 200
        tabs = websocket.create_connection(
            f"ws://127.0.0.1:{server.port}/nbedit/tabs",
            header={"Authorization": f"token {server.token}"},
            timeout=LIMIT,
        )
        with contextlib.closing(tabs):
            tabs.send(json.dumps({"tabs": {NOTEBOOK: 1}}))
            demo.stdin.write("\n")
            demo.stdin.flush()
            printed = demo.read_until(STEPS[0].hint)
        # The agent waits for no page that is closed.
        demo.stdin.write("\n" * sum(max(1, len(step.requests)) for step in STEPS))
        demo.stdin.flush()
        printed += demo.read_until("Ctrl-C ends JupyterLab")

        for number, step in enumerate(STEPS, 1):
            assert f"{number} of {len(STEPS)}: {step.title}\n    {step.hint}\n" in printed
        assert "The agent could not do it: No cell has the id 'wet'" in printed
        _, history = server.send_request("GET", f"{play.ROUTE}/history")
        by_agent = [edit for edit in history["edits"] if edit["client"] == CLIENT]
        assert [edit["message"] for edit in reversed(by_agent)] == [
            message for step, message in REQUESTS if step in STEPS[1:3]
        ]
        assert server.send_request("GET", "/nbedit/mode")[1]["mode"] == "edit"


def test_a_signal_ends_the_demo_with_its_server_and_its_files(own_places: dict[str, str]) -> None:
    with play_demo(own_places) as demo:
        assert is_answering(demo.server.port)
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=LIMIT)

    assert demo.returncode == 0
    assert not is_answering(demo.server.port)
    assert list(Path(own_places["TMPDIR"]).iterdir()) == []


def test_the_notebook_of_the_demo_lists_its_steps_and_their_hints() -> None:
    notebook = json.loads((play.HERE / NOTEBOOK).read_text())
    guide = "".join(notebook["cells"][0]["source"])

    assert guide.splitlines()[-len(STEPS) :] == [
        f"{number}. **{step.title}** {step.hint}" for number, step in enumerate(STEPS, 1)
    ]


def test_the_demo_takes_at_most_a_minute() -> None:
    step_seconds = (step.seconds * max(1, len(step.requests)) for step in STEPS)
    assert play.START_SECONDS + sum(step_seconds) <= 60


def test_the_samples_have_the_forms_that_the_documentation_needs() -> None:
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
        (PROPOSING, 200, {"proposal_id": 1}, b"old"),
        (PROPOSING, 202, {}, b"old"),
        # Proposed, but the file has changed.
        (PROPOSING, 202, {"proposal_id": 1}, b"new"),
    ],
)
def test_the_demo_detects_an_answer_that_breaks_a_promise(
    step: Step, status: int, answer: dict[str, object], after: bytes
) -> None:
    with pytest.raises(DemoError):
        play.check_promises(step, status, answer, b"old", after)


class Demo(subprocess.Popen[str]):
    """The demo as a process, with the server that it has started."""

    server: Server

    def read_until(self, text: str) -> str:
        """Return what the demo prints, up to the line with a text."""
        assert self.stdout is not None
        lines = []
        for line in self.stdout:
            lines.append(line)
            if text in line:
                return "".join(lines)
        pytest.fail("".join(lines))


@contextlib.contextmanager
def play_demo(places: dict[str, str], *options: str) -> Iterator[Demo]:
    """Run the demo in JupyterLab, without a page; end it by a signal if it still runs."""
    command: list[str | Path] = [JUPYTER, "nbedit", "demo", "--no-browser", *options]
    pipe = subprocess.PIPE
    with Demo(command, env=places, stdin=pipe, stdout=pipe, text=True) as demo:
        try:
            page = urlsplit(demo.read_until("http://").split()[-1])
            assert page.path == f"/lab/tree/{NOTEBOOK}"
            (token,) = parse_qs(page.query)["token"]
            demo.server = Server(page.port or 0, token, Path(places["TMPDIR"]))
            yield demo
        finally:
            demo.send_signal(signal.SIGTERM)
            demo.communicate(timeout=LIMIT)


def is_answering(port: int | None) -> bool:
    connection = HTTPConnection("127.0.0.1", port or 0, timeout=LIMIT)
    try:
        connection.request("GET", "/api")
        return connection.getresponse().status == 200
    except ConnectionRefusedError:
        return False
    finally:
        connection.close()
