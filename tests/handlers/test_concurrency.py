"""Concurrent requests: no change is lost, no file is incomplete, no server error."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import nbformat
import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client

MANY = 64


def run_concurrently(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def build_edits(notebook: Notebook, operations: Sequence[dict[str, Any]]) -> list[Answer]:
    def call(operation: dict[str, Any]) -> Callable[[], Answer]:
        return lambda: notebook.patch(operation)

    return run_concurrently([call(operation) for operation in operations])


def assert_chain(before: bytes, replies: Sequence[dict[str, Any]], after: bytes) -> None:
    """Check that each edit was made on the outcome of another, none on the same."""
    steps = {reply["hash_before"]: reply for reply in replies}
    assert len(steps) == len(replies)
    at = samples.compute_hash(before)
    numbers = []
    while at in steps:
        numbers.append(steps[at]["edit_id"])
        at = steps[at]["hash"]
    assert at == samples.compute_hash(after)
    assert len(numbers) == len(replies)
    assert numbers == sorted(numbers)


def test_64_concurrent_edits_of_different_cells_are_all_made(live: Client) -> None:
    path = live.root / "many.ipynb"
    before = samples.notebook(*[samples.code("", f"id-{n}") for n in range(MANY)])
    path.write_bytes(before)
    operations = [replace(f"id-{n}", f"edited {n}") for n in range(MANY)]
    answers = build_edits(Notebook(live, path.name), operations)
    assert [answer.status for answer in answers] == [200] * MANY
    after = path.read_bytes()
    assert [cell["source"] for cell in samples.load_cells(after)] == [
        f"edited {n}" for n in range(MANY)
    ]
    assert_chain(before, [answer.json for answer in answers], after)


@pytest.mark.parametrize("knows", ["version", "cell"])
def test_one_of_many_concurrent_edits_of_a_version_or_cell_succeeds(
    notebook: Notebook, knows: str
) -> None:
    fields: dict[str, Any] = {"hash": notebook.read().json["hash"]} if knows == "version" else {}
    expect: dict[str, Any] = {"expect": {"source": "# Title"}} if knows == "cell" else {}

    def call(n: int) -> Callable[[], Answer]:
        return lambda: notebook.patch(replace("beta", f"by {n}", **expect), **fields)

    answers = run_concurrently([call(n) for n in range(16)])
    winners = [n for n, answer in enumerate(answers) if answer.status == 200]
    reasons = {answer.json["reason"] for answer in answers if answer.status != 200}
    assert len(winners) == 1
    assert reasons == {"hash_mismatch" if knows == "version" else "cell_changed"}
    assert notebook.list_sources()[1] == f"by {winners[0]}"


def test_concurrent_edits_and_saves_never_corrupt_a_notebook(live: Client) -> None:
    path = live.root / "saved.ipynb"
    cells = [samples.code("x" * 200, f"id-{n}") for n in range(200)]
    path.write_bytes(samples.notebook(*cells))

    def save(n: int) -> Callable[[], Answer]:
        # Longer and shorter by turns, which shows where one is written over another.
        saved_cells = [samples.code(f"saved {n}", f"id-{at}") for at in range(200 if n % 2 else 50)]
        model = {"type": "notebook", "format": "json"}
        content = json.loads(samples.notebook(*saved_cells))
        body = json.dumps({**model, "content": content}).encode()
        return lambda: live.request("PUT", f"api/contents/{path.name}", body, JSON)

    def edit(n: int) -> Callable[[], Answer]:
        operation = replace(f"id-{n}", f"edited {n}")
        return lambda: live.patch(path.name, operation)

    def read(_: int) -> Callable[[], Answer]:
        return lambda: live.read(path.name, view="outline")

    answers = run_concurrently([kind(n) for n in range(20) for kind in (save, edit, read)])
    assert [answer.status for answer in answers] == [200] * 60
    nbformat.validate(json.loads(path.read_bytes()))
    replies = [answer.json for answer in answers[1::3]]
    assert len({reply["hash_before"] for reply in replies}) == len(replies)
    assert sorted(live.root.glob(".*saved*")) == []
    assert live.request("GET", f"api/contents/{path.name}").status == 200


def test_concurrent_edits_and_renames_leave_one_notebook(live: Client) -> None:
    names = ["ping.ipynb", "pong.ipynb"]
    (live.root / names[0]).write_bytes(samples.three_cells())

    def rename(n: int) -> Callable[[], Answer]:
        body = json.dumps({"path": names[1 - n % 2]}).encode()
        return lambda: live.request("PATCH", f"api/contents/{names[n % 2]}", body, JSON)

    def edit(n: int) -> Callable[[], Answer]:
        operation = replace("beta", f"edited {n}")
        return lambda: live.patch(names[n % 2], operation)

    answers = run_concurrently([kind(n) for n in range(12) for kind in (rename, edit)])
    # A request while the notebook is elsewhere gets 404.
    assert {answer.status for answer in answers[1::2]} <= {200, 404}
    left = [name for name in names if (live.root / name).exists()]
    assert len(left) == 1
    samples.load_cells((live.root / left[0]).read_bytes())


def test_an_edit_waits_for_a_notebook_that_another_program_writes(
    live: Client, notebook: Notebook
) -> None:
    file = notebook.file
    text = samples.notebook(*[samples.raw(str(n), f"id-{n}") for n in range(100)])
    with file.open("wb") as program, ThreadPoolExecutor(1) as pool:
        # As many programs write: in place, and without a copy beside it.
        program.write(text[:100])
        program.flush()
        waiting = pool.submit(live.patch, notebook.path, replace("id-99", "edited"))
        assert live.request("GET", "nbedit").status == 200
        program.write(text[100:])
        program.flush()
        answer = waiting.result()
    assert answer.status == 200, answer.body
    assert notebook.list_sources() == [*map(str, range(99)), "edited"]


def test_a_notebook_that_stays_incomplete_is_refused_after_a_wait(notebook: Notebook) -> None:
    file = notebook.file
    file.write_bytes(samples.three_cells()[:100])
    with no_changes(file):
        get_error(notebook.patch({"op": "delete", "cell": 0}), 422, "invalid_notebook")
