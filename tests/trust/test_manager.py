"""Trust over HTTP and with a notary that fails; random histories are in `test_random_histories`."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.sign import MemorySignatureStore

from jupyter_nbedit.notebook.operations import Insert
from jupyter_nbedit.trust.manager import is_trusted
from tests.handlers.error_checks import get_error, no_changes
from tests.support import corpora, samples
from tests.support.http import Local
from tests.support.sampling import is_nightly
from tests.support.services import ServiceBuilder

NAME = "a.ipynb"
#: Two cells that run scripts in the page once they are trusted.
TEXT = samples.notebook(
    samples.code("1", "one", outputs=[samples.HTML_OUTPUT], execution_count=1),
    samples.markdown("# Title", "title"),
    samples.code("2", "two", outputs=[samples.HTML_OUTPUT], execution_count=2),
)
LARGE = samples.notebook(
    *[samples.code("x" * 2000, f"id-{n}", outputs=[samples.HTML_OUTPUT]) for n in range(60)]
)
REPLACE = {"op": "replace", "cell": "title", "source": "changed"}
INSERT = {"op": "insert", "cell_type": "code", "source": "<script>", "at": "end"}
DELETE_MISSING = {"op": "delete", "cell": "nobody"}

# nbformat creates missing and duplicate ids, with a warning.
made_up_ids = pytest.mark.filterwarnings(
    "ignore::nbformat.warnings.MissingIDFieldWarning", "ignore::nbformat.warnings.DuplicateCellId"
)


def put(path: Path, text: bytes) -> None:
    path.write_bytes(text)


async def give_trust(local: Local) -> None:
    """Trust the notebook as its user does, by the Contents API."""
    answer = await local.request("POST", "api", "contents", NAME, "trust", body=b"")
    assert answer.status == 201, answer.body


async def is_shown_as_trusted(local: Local) -> bool:
    """Ask Jupyter cell by cell; our own answer must be the same."""
    model = await local.contents(NAME)
    cells = [cell for cell in model["content"]["cells"] if cell["cell_type"] == "code"]
    flags = {cell["metadata"]["trusted"] for cell in cells}
    assert len(flags) == 1
    assert flags == {(await local.read(NAME)).json["trusted"]}
    return bool(flags.pop())


@pytest.mark.parametrize("is_refused", [False, True])
async def test_unwritten_bytes_are_not_signed(
    local: Local, local_file: Path, *, is_refused: bool
) -> None:
    await give_trust(local)
    if is_refused:
        get_error(await local.patch(NAME, REPLACE, DELETE_MISSING), 404, "cell_not_found")
    else:
        assert (await local.patch(NAME, REPLACE, dry_run=True)).status == 200
    assert await is_shown_as_trusted(local)
    put(local_file, TEXT.replace(b"# Title", b"changed"))
    assert not await is_shown_as_trusted(local)


@made_up_ids
async def test_a_notebook_that_cannot_be_signed_is_edited_nevertheless(
    local: Local, local_file: Path
) -> None:
    # nbformat makes up an id at each reading, so no signature ever fits twice.
    without = samples.code("1", outputs=[samples.HTML_OUTPUT])
    put(local_file, samples.notebook(without, samples.raw("x", "x")))
    await give_trust(local)
    assert (await local.read(NAME)).json["trusted"] is False
    answer = await local.patch(NAME, {"op": "delete", "cell": "x"})
    assert (answer.status, answer.json["warnings"]) == (200, [])
    assert (await local.read(NAME)).json["trusted"] is False


async def test_the_notary_knows_a_notebook_after_any_number_of_edits(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    # Its database belongs to the loop's thread; asked by another, it is taken for corrupt, and from
    # then on no notebook can be opened.
    notary = jp_serverapp.contents_manager.notary
    database = notary.store.db
    for text in (TEXT, LARGE):
        put(local_file, text)
        await give_trust(local)
        for _ in range(3):
            assert (await local.patch(NAME, INSERT)).status == 200
            assert await is_shown_as_trusted(local)
    assert notary.store.db is database
    model = await local.contents(NAME)
    body = json.dumps({**model, "path": None}).encode()
    answer = await local.request("PUT", "api", "contents", NAME, body=body)
    assert answer.status == 200
    assert await is_shown_as_trusted(local)


class FullStore(MemorySignatureStore):
    """Cannot write, as a database on a full disk."""

    def store_signature(self, signature: str, algorithm: str) -> None:
        raise sqlite3.OperationalError(f"database or disk is full: {signature} {algorithm}")


async def test_a_signature_that_cannot_be_stored_is_a_warning(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    await give_trust(local)
    notary = jp_serverapp.contents_manager.notary
    before, notary.store = notary.store, FullStore()  # type: ignore[no-untyped-call]
    signature = notary.compute_signature(nbformat.reads(TEXT, 4))
    notary.store.data[signature, notary.algorithm] = None
    answer = await local.patch(NAME, REPLACE)
    notary.store = before
    assert (answer.status, len(answer.json["warnings"])) == (200, 1)
    assert samples.hash_file(local_file) == answer.json["hash"]
    assert not await is_shown_as_trusted(local)


async def test_an_edit_is_refused_if_the_signing_secret_cannot_be_written(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    notary = jp_serverapp.contents_manager.notary
    # Jupyter makes the file when it first signs a notebook.
    notary.secret_file = str(local_file.parent / "missing" / "secret")
    with no_changes(local_file.parent):
        found = get_error(await local.patch(NAME, REPLACE), 500, "io_error")
    assert found["applied"] is False


class LockedStore(MemorySignatureStore):
    """Cannot be read, as a database that another program keeps locked."""

    def check_signature(self, signature: str, algorithm: str) -> bool:
        raise sqlite3.OperationalError(f"database is locked: {signature} {algorithm}")


async def test_an_edit_that_could_lose_trust_waits_for_the_database(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    await give_trust(local)
    notary = jp_serverapp.contents_manager.notary
    before, notary.store = notary.store, LockedStore()  # type: ignore[no-untyped-call]
    with no_changes(local_file.parent):
        get_error(await local.patch(NAME, REPLACE), 503, "busy")
    notary.store = before
    assert await is_shown_as_trusted(local)


def has_code(text: bytes) -> bool:
    """Return whether this is a notebook of nbformat 4 whose cells have a trust state."""
    try:
        return any(cell["cell_type"] == "code" for cell in json.loads(text)["cells"])
    except (ValueError, KeyError):
        return False


@made_up_ids
async def test_real_notebooks_are_trusted_like_in_jupyter_and_stay_trusted(
    services: ServiceBuilder,
) -> None:
    manager = services.build_manager()
    editing = services.build_editing(services.build_storages(manager), notary=manager.notary)
    file = services.root / NAME

    async def list_shown() -> set[bool]:
        """Return the trust of the code cells in Jupyter."""
        cells = (await manager.get(NAME))["content"]["cells"]
        return {cell["metadata"]["trusted"] for cell in cells if cell["cell_type"] == "code"}

    checked, trusted_ones = 0, 0
    texts = [path.read_bytes() for path in corpora.notebooks()[:: 1 if is_nightly() else 16]]
    for text in filter(has_code, texts):
        checked += 1
        file.write_bytes(text)
        assert not await is_trusted(manager.notary, text)
        await manager.trust_notebook(NAME)
        ours = (await editing.read(NAME)).trusted
        assert await list_shown() == {ours}
        if ours:
            trusted_ones += 1
            await editing.edit(NAME, Insert(source="new", cell_type="code", at="start"))
            assert await list_shown() == {True}
    assert checked >= 20
    assert trusted_ones > checked / 2
