"""Every collected spelling of a path out of the root: none leads anywhere.

Each of the 23,058 lines is sent as the path of a URL, as the path in a body and as the path of each
tool at night; by day a tenth of the lines, the same each time, in one of the three.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from tests.handlers.error_checks import assert_no_local_names, no_changes
from tests.handlers.traversal_requests import (
    CALLS,
    DEPTH,
    EDIT,
    MARK,
    NAME,
    SECRET,
    TEXT,
    TEXTS,
    RawAnswer,
    RawRequest,
    aim_at_file,
    list_spellings,
    list_targets,
    send_requests,
)
from tests.support import samples
from tests.support.http import Client
from tests.support.sampling import is_nightly, seeded_random
from tests.support.servers import run_server

NIGHTLY = is_nightly()
REASON = re.compile(rb'"reason":"(notebook_not_found|invalid_request)"')
LINES = 23_058


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Run a server in a deep folder, with secrets in every folder above its root."""
    top = tmp_path_factory.mktemp("deep")
    folder = top.joinpath(*"d" * DEPTH)
    (folder / "notebooks").mkdir(parents=True)
    (folder / "notebooks-secret").mkdir()
    for place in (folder / "notebooks-secret", folder, *folder.parents[:DEPTH]):
        (place / NAME).write_bytes(SECRET)
        (place / TEXT).write_text(f"# {MARK}\n")
    with run_server(folder, "--log-level=ERROR") as client:
        yield client


@pytest.fixture(scope="module")
def lines() -> list[str]:
    found = list_spellings()
    assert len(found) == LINES
    return sorted(set(found))


def select_share(name: str, lines: list[str]) -> list[str]:
    """Return the lines that are sent by a test in this run."""
    return lines if NIGHTLY else seeded_random(name).sample(lines, len(lines) // 30)


def read_canaries(deep: Client) -> list[Path]:
    """List the secret files beside the root and in each folder above it."""
    top = deep.root.parents[DEPTH]
    found = [path for path in top.rglob("secret.*") if deep.root not in path.parents]
    assert len(found) == 2 * (DEPTH + 2)
    return found


def send_all(deep: Client, requests: Iterable[RawRequest], what: str) -> list[RawAnswer]:
    """Send requests, and check that none shows or changes anything outside the root."""
    pending = list(requests)
    secrets = read_canaries(deep)
    with no_changes(*secrets):
        answers = list(send_requests(deep, pending))
    print(f"{len(answers)} {what}: {dict(Counter(answer.status for answer in answers))}")
    assert len(answers) == len(pending)
    for answer in answers:
        assert answer.status < 500, answer
        assert MARK.encode() not in (answer.body or b""), answer
    assert read_canaries(deep) == secrets
    return answers


def assert_nothing_there(deep: Client, answers: Iterable[RawAnswer]) -> None:
    """Check that outside, hidden and missing paths get the same error."""
    responses = set()
    for answer in answers:
        if answer.body is None:
            # The request line is no HTTP.
            assert answer.status == 400, answer
            continue
        assert_no_local_names(answer.body, deep.root)
        assert REASON.search(answer.body), answer
        assert answer.status in {400, 404}, answer
        if answer.status == 404:
            responses.add(answer.body)
        else:
            path = unquote_to_bytes(re.split("[?#]", answer.request.target)[0])
            assert not path.endswith(b".ipynb") or not _is_utf_8(path), answer
    assert len(responses) == 1, responses


def _is_utf_8(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.threat("S1")
def test_no_path_in_a_url_writes_outside_the_root(deep: Client, lines: list[str]) -> None:
    assert len(list_targets()) > 5_000
    ways = select_share("edit", list_targets())
    requests = [RawRequest("GET", f"notebooks/{line}") for line in select_share("address", lines)]
    requests += [RawRequest("PATCH", f"notebooks/{way}", EDIT) for way in ways]
    with no_changes(deep.root):
        answers = send_all(deep, requests, "addresses out of the root")
    assert_nothing_there(deep, answers)


def test_no_path_in_a_url_shows_a_file_outside_the_root(deep: Client) -> None:
    requests = [
        RawRequest("GET", f"notebooks/{way}") for way in select_share("read", list_targets())
    ]
    assert_nothing_there(deep, send_all(deep, requests, "reads out of the root"))


def test_no_path_in_a_body_makes_a_search_leave_the_root(deep: Client, lines: list[str]) -> None:
    spellings = dict.fromkeys(select_share("search", lines))
    if NIGHTLY:
        spellings |= dict.fromkeys(
            unquote_to_bytes(line).decode("utf-8", "replace") for line in lines
        )
    requests = [
        RawRequest("POST", "search", json.dumps({"query": MARK, "path": path}).encode())
        for path in spellings
    ]
    with no_changes(deep.root):
        answers = send_all(deep, requests, "searches out of the root")
    assert {answer.status for answer in answers} == {404}
    (body,) = {answer.body for answer in answers}
    assert b'"notebook_not_found"' in (body or b"")


def build_tool_call(deep: Client, tool: str, number: int, line: str) -> RawRequest:
    """Call a tool with a path of a notebook or a text: absolute, or relative where it may be."""
    name, rest, relative = CALLS[tool]
    way = aim_at_file(line, TEXT if tool in TEXTS and number % 2 else NAME)
    before = ["/", f"{deep.root}/"] + [""] * relative
    path = before[number // len(CALLS) % len(before)] + way
    return RawRequest("POST", f"tools/{tool}", json.dumps({**rest, name: path}).encode())


def test_no_path_makes_a_tool_leave_the_root(deep: Client, lines: list[str]) -> None:
    tools = list(CALLS)
    turns = len(tools) if NIGHTLY else 1
    requests = [
        build_tool_call(deep, tools[(number + turn) % len(tools)], number, line)
        for turn in range(turns)
        for number, line in enumerate(select_share("tool", lines))
    ]
    top = deep.root.parents[DEPTH]
    outside_files = sorted(path for path in top.rglob("*.*") if deep.root not in path.parents)
    for answer in send_all(deep, requests, "calls of tools out of the root"):
        tool = answer.request.target.removeprefix("tools/")
        sent = json.loads(answer.request.body)[CALLS[tool][0]]
        # A name may look like a way out and be none: a call may make a file of that name in the
        # root, and later ones find it.
        target = deep.root.joinpath(sent)
        is_there = ".." not in target.parts and target.is_relative_to(deep.root)
        # False for what is too long for a name, too.
        is_there = is_there and os.path.isfile(target)  # noqa: PTH113 -- Path raises for long names
        if answer.status != 200 or not (is_there or tool in {*TEXTS, "agent/notebook_create"}):
            assert 400 <= answer.status < 500, answer
            text = (
                (answer.body or b"")
                .decode()
                .replace(json.dumps(sent, ensure_ascii=False)[1:-1], "")
            )
            assert str(deep.root) not in text, answer
    # Nothing was made outside either, but for the server's own files.
    after = sorted(path for path in top.rglob("*.*") if deep.root not in path.parents)
    assert {
        path
        for path in after
        if path not in outside_files and not {"runtime", "data"}.intersection(path.parts)
    } == set()
    for path in deep.root.rglob("*"):
        assert path.resolve().is_relative_to(deep.root)


def test_the_same_requests_reach_files_inside_the_root(deep: Client) -> None:
    folder = deep.root / "inside"
    folder.mkdir()
    inside = folder / NAME
    inside.write_bytes(SECRET)
    requests = [
        RawRequest("GET", f"notebooks/inside/{NAME}"),
        RawRequest("PATCH", f"notebooks/inside/{NAME}", EDIT),
        RawRequest("POST", "search", b'{"query": "changed", "path": "inside"}'),
        *(
            RawRequest(
                "POST",
                f"tools/{tool}",
                json.dumps({**CALLS[tool][1], CALLS[tool][0]: str(inside)}).encode(),
            )
            for tool in ("claude_code/Read", "nexo/NotebookEdit")
        ),
    ]
    answers = list(send_requests(deep, requests))
    assert [answer.status for answer in answers] == [200] * len(requests)
    assert MARK.encode() in (answers[0].body or b"")
    assert b'"files":1' in (answers[2].body or b"")
    assert b"changed" in (answers[3].body or b"")
    assert str(samples.load_cells(inside.read_bytes())[0]["source"]) == "new"
