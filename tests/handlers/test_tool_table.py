"""Compare every row of the table of tools with a real server."""

import itertools
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.agents.tools import TOOLS
from tests.handlers.conftest import Servers
from tests.handlers.error_checks import assert_no_local_names
from tests.handlers.golden import Messages
from tests.handlers.tool_failures import parse_failure
from tests.handlers.tool_table import FILES, NEW8, NEW12, NOTEBOOKS, NUMBER, ROWS, SAME, Call, Row
from tests.support import samples
from tests.support.http import JSON, Answer, Client

SESSIONS = itertools.count()


@pytest.fixture
def client(servers: Servers, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Return a client of the row's server, which is in the row's mode."""
    case = request.getfixturevalue("case")
    client = servers(case.server)
    if case.mode == "edit":
        yield client
        return
    # Another test may have left one to the notebook itself.
    client.reset_modes("a.ipynb")
    body = {"mode": case.mode}
    assert client.send_json("PUT", "mode", body).status == 200
    yield client
    client.reset_modes("a.ipynb")


@pytest.fixture
def tree(client: Client) -> Iterator[Path]:
    """Put all files into the root of the row's server, and nothing else."""
    root = client.root
    clear_folder(root)
    for name, text in {**NOTEBOOKS, **FILES}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text)
    yield root
    clear_folder(root)


def clear_folder(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def read_state(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def expand_paths(value: Any, root: Path) -> Any:
    """Put the server's folder in the place of ``~``."""
    if isinstance(value, dict):
        return {name: expand_paths(item, root) for name, item in value.items()}
    if isinstance(value, list):
        return [expand_paths(item, root) for item in value]
    return value.replace("~", f"{root}/") if isinstance(value, str) else value


def matches(found: Any, expected: Any, root: Path) -> bool:
    """Return whether an answer has all expected members."""
    if isinstance(expected, re.Pattern):
        text = found.replace(f"{root}/", "~") if isinstance(found, str) else ""
        return expected.search(text) is not None
    if expected is NUMBER:
        return isinstance(found, int)
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            matches(found.get(name), value, root) for name, value in expected.items()
        )
    if isinstance(expected, list) and expected and isinstance(expected[0], dict | re.Pattern):
        return len(found) == len(expected) and all(
            matches(one, other, root) for one, other in zip(found, expected, strict=True)
        )
    return bool(found == expand_paths(expected, root))


def list_changed_cells(before: bytes | None, after: bytes) -> str:
    """Describe a cell as a row does."""
    known = [] if before is None else samples.load_cells(before)
    return " ".join(map(partial(describe_cell, known=known), samples.load_cells(after)))


def describe_cell(cell: dict[str, Any], *, known: Sequence[dict[str, Any]]) -> str:
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
    tool, arguments, *other = call
    body = json.dumps(expand_paths(arguments, client.root)).encode()
    headers = {**JSON, "X-NbEdit-Session": "".join([session, *other])}
    return client.request("POST", f"nbedit/tools/{tool}", body, headers)


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.name)
def test_every_row_of_the_table_is_true(
    client: Client, messages: Messages, case: Row, tree: Path
) -> None:
    session = f"row {next(SESSIONS)}"
    for earlier in case.first:
        assert call(client, earlier, session).status == 200
    between = read_state(tree)

    answer = call(client, (case.tool, case.input), session)

    assert answer.status == case.status, answer.body
    assert matches(answer.json, case.answer, tree), answer.body
    if case.status >= 400:
        message = parse_failure(case.tool, answer, f"{tree}/").replace(f"{tree}/", "~")
        messages.check(case.name, case.status, "-", message)
    assert_no_local_names(answer.body.replace(str(tree).encode(), b""), answer.root)
    assert_left(case, {**NOTEBOOKS, **FILES}, between, read_state(tree))


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
        names = ("notebook_path", "file", "path")
        where = next(case.input[name] for name in names if name in case.input)
        notebook = where.removeprefix("~")
        assert list_changed_cells(before.get(notebook), after[notebook]) == cells
        expected[notebook] = after[notebook]
        expected |= {name: after[name] for name in more}
        if more:
            assert after[more[0]] == before[notebook]
    assert after == expected


def test_every_tool_has_rows() -> None:
    assert {case.tool for case in ROWS} == set(TOOLS)
