"""Hold every row of the table of tools against a real server."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.demo import server
from jupyter_nbedit.tools import ADDRESSES
from tests.handlers.refused import assert_says_nothing_of_this_machine
from tests.handlers.tool_table import FILES, NEW8, NEW12, NOTEBOOKS, NUMBER, ROWS, SAME, Call, Row
from tests.support import samples
from tests.support.http import JSON, Answer, Client

SESSIONS = itertools.count()

OPTIONS = {
    "plan": ["--NbEditApp.mode=plan"],
    "review": ["--NbEditApp.mode=review"],
    "nobody": ["--NbEditApp.owners=nobody"],
    "owners": [
        "--NbEditApp.owners=ada",
        "--NbEditApp.section_files=else",
        "--NbEditApp.section_files=reminders",
        "--ServerApp.identity_provider_class=tests.handlers.ada.AdaProvider",
    ],
}


@pytest.fixture(scope="module")
def servers(live: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """Run a server for each set of settings."""
    with ExitStack() as running:
        found = {"live": live}
        for name, options in OPTIONS.items():
            folder = tmp_path_factory.mktemp(name)
            (folder / "notebooks").mkdir()
            started = running.enter_context(server.running("jupyter_server", folder, *options))
            found[name] = Client(started.port, started.token, started.root)
        yield found


@pytest.fixture
def tree(servers: dict[str, Client], request: pytest.FixtureRequest) -> Iterator[Path]:
    """Put all files into the root of the row's server, and nothing else."""
    root = servers[request.getfixturevalue("case").server].root
    empty(root)
    for name, text in {**NOTEBOOKS, **FILES}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text)
    yield root
    empty(root)


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def state(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def spelled(value: Any, root: Path) -> Any:
    """Put the server's folder in the place of ``~``."""
    if isinstance(value, dict):
        return {name: spelled(item, root) for name, item in value.items()}
    if isinstance(value, list):
        return [spelled(item, root) for item in value]
    return value.replace("~", f"{root}/") if isinstance(value, str) else value


def has(found: Any, expected: Any, root: Path) -> bool:
    """Tell whether an answer has all that is expected of it."""
    if isinstance(expected, re.Pattern):
        text = found.replace(f"{root}/", "~") if isinstance(found, str) else ""
        return expected.search(text) is not None
    if expected is NUMBER:
        return isinstance(found, int)
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            has(found.get(name), value, root) for name, value in expected.items()
        )
    if isinstance(expected, list) and expected and isinstance(expected[0], dict | re.Pattern):
        return len(found) == len(expected) and all(
            has(one, other, root) for one, other in zip(found, expected, strict=True)
        )
    return bool(found == spelled(expected, root))


def cells_left(before: bytes | None, after: bytes) -> str:
    """Tell the cells as a row does."""
    known = [] if before is None else samples.cells_of(before)
    return " ".join(map(partial(told, known=known), samples.cells_of(after)))


def told(cell: dict[str, Any], *, known: Sequence[dict[str, Any]]) -> str:
    cell_id = cell.get("id", "-")
    if cell in known:
        return str(cell_id)
    if cell_id not in {other.get("id", "-") for other in known}:
        lengths = {12: ("NEW12", NEW12), 8: ("NEW8", NEW8)}
        name, pattern = lengths[len(cell_id)]
        assert pattern.fullmatch(cell_id)
        cell_id = name
    source = "".join(cell["source"]).replace(" ", "_").replace("\n", "|")
    return f"{cell_id}:{cell['cell_type']}:{source}"


def call(client: Client, call: Call, session: str) -> Answer:
    tool, given, *other = call
    body = json.dumps(spelled(given, client.root)).encode()
    headers = {**JSON, "X-NbEdit-Session": "".join([session, *other])}
    return client.request("POST", f"nbedit/tools/{tool}", body, headers)


@pytest.mark.parametrize("case", ROWS, ids=lambda case: f"{case.tool}: {case.says}")
def test_every_sentence_of_the_table_holds(
    servers: dict[str, Client], case: Row, tree: Path
) -> None:
    client, session = servers[case.server], f"row {next(SESSIONS)}"
    for earlier in case.first:
        assert call(client, earlier, session).status == 200
    between = state(tree)

    answer = call(client, (case.tool, case.input), session)

    assert answer.status == case.status, answer.body
    assert has(answer.json, case.answer, tree), answer.body
    assert_says_nothing_of_this_machine(answer.body.replace(str(tree).encode(), b""))
    assert_left(case, {**NOTEBOOKS, **FILES}, between, state(tree))


def assert_left(
    case: Row, before: dict[str, bytes], between: dict[str, bytes], after: dict[str, bytes]
) -> None:
    if case.status != 200:
        assert after == between
    expected = dict(before)
    if isinstance(case.left, dict):
        expected |= {name: text.encode() for name, text in case.left.items()}
    elif case.left != SAME:
        cells, *more = case.left.split(" +")
        where = case.input.get("notebook_path") or case.input["file"]
        notebook = where.removeprefix("~")
        assert cells_left(before.get(notebook), after[notebook]) == cells
        expected[notebook] = after[notebook]
        expected |= {name: after[name] for name in more}
        if more:
            assert after[more[0]] == before[notebook]
    assert after == expected


def test_every_tool_has_rows() -> None:
    assert {case.tool for case in ROWS} == set(ADDRESSES)
