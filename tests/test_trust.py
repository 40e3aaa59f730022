"""Trust: kept over an edit, and never given where it was not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat.sign import MemorySignatureStore, NotebookNotary

from jupyter_nbedit import trust
from jupyter_nbedit.notebook.batch import apply
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Insert
from jupyter_nbedit.notebook.splices import join
from tests.handlers.refused import details, untouched
from tests.support import corpora, samples
from tests.support.http import Local
from tests.support.sizes import is_nightly

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
EDITS: dict[str, list[dict[str, Any]]] = {
    "replace Markdown": [{"op": "replace", "cell": "title", "source": "changed"}],
    "replace code": [{"op": "replace", "cell": "one", "source": "changed"}],
    "replace code and keep its outputs": [
        {"op": "replace", "cell": "one", "source": "changed", "outputs": "keep"}
    ],
    "another type": [{"op": "replace", "cell": "title", "cell_type": "code"}],
    "insert": [{"op": "insert", "cell_type": "code", "source": "<script>", "at": "end"}],
    "delete": [{"op": "delete", "cell": "one"}],
    "move": [{"op": "move", "cell": "two", "at": "start"}],
    "all at once": [
        {"op": "insert", "cell_type": "code", "source": "3", "after": "one", "id": "three"},
        {"op": "replace", "cell": "three", "source": "4"},
        {"op": "move", "cell": "one", "at": "end"},
        {"op": "delete", "cell": "title"},
    ],
}


# nbformat makes up ids where there are none and where there are twins, and warns of it.
made_up_ids = pytest.mark.filterwarnings(
    "ignore::nbformat.warnings.MissingIDFieldWarning", "ignore::nbformat.warnings.DuplicateCellId"
)


@pytest.fixture
def notebook(local: Local) -> Path:
    return put(local, TEXT)


def put(local: Local, text: bytes) -> Path:
    path = local.root / NAME
    path.write_bytes(text)
    return path


def text_of(path: Path) -> bytes:
    return path.read_bytes()


async def give_trust(local: Local) -> None:
    """Trust the notebook as its user does, by the Contents API."""
    answer = await local.request("POST", "api", "contents", NAME, "trust", body=b"")
    assert answer.status == 201, answer.body


async def trusted(local: Local) -> bool:
    """Ask Jupyter cell by cell; our own answer must be the same."""
    model = await local.contents(NAME)
    cells = [cell for cell in model["content"]["cells"] if cell["cell_type"] == "code"]
    flags = {cell["metadata"]["trusted"] for cell in cells}
    assert len(flags) == 1
    assert flags == {(await local.read(NAME)).json["trusted"]}
    return bool(flags.pop())


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("kind", EDITS)
async def test_what_was_trusted_stays_trusted(local: Local, kind: str) -> None:
    await give_trust(local)
    assert await trusted(local)
    answer = await local.patch(NAME, *EDITS[kind])
    assert (answer.status, answer.json["warnings"]) == (200, [])
    assert await trusted(local)
    again = {"op": "insert", "cell_type": "raw", "source": "again", "at": "start"}
    assert (await local.patch(NAME, again)).status == 200
    assert await trusted(local)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("kind", EDITS)
async def test_what_was_not_trusted_does_not_become_trusted(local: Local, kind: str) -> None:
    assert not await trusted(local)
    for operations in (EDITS[kind], EDITS["insert"]):
        assert (await local.patch(NAME, *operations)).status == 200
        assert not await trusted(local)


async def test_trust_ends_with_a_change_from_outside_and_no_edit_brings_it_back(
    local: Local, notebook: Path
) -> None:
    await give_trust(local)
    await local.patch(NAME, *EDITS["replace Markdown"])
    put(local, text_of(notebook).replace(b"document.title", b"document.cookie"))
    assert not await trusted(local)
    await local.patch(NAME, *EDITS["insert"])
    assert not await trusted(local)


@pytest.mark.usefixtures("notebook")
async def test_a_dry_run_signs_nothing(local: Local) -> None:
    await give_trust(local)
    dry = await local.patch(NAME, *EDITS["replace Markdown"], dry_run=True)
    put(local, TEXT.replace(b"# Title", b"changed"))
    assert (await local.read(NAME)).json["hash"] == dry.json["hash"]
    assert not await trusted(local)


@pytest.mark.usefixtures("notebook")
async def test_a_refused_batch_signs_nothing(local: Local) -> None:
    await give_trust(local)
    bad = {"op": "delete", "cell": "nobody"}
    details(await local.patch(NAME, *EDITS["replace Markdown"], bad), 404, "cell_not_found")
    assert await trusted(local)
    put(local, TEXT.replace(b"# Title", b"changed"))
    assert not await trusted(local)


async def test_what_the_file_itself_says_of_trust_counts_for_nothing(
    local: Local,
) -> None:
    says = {"trusted": True}
    cell = samples.code("1", "one", outputs=[samples.HTML_OUTPUT], metadata=says)
    put(local, samples.notebook(cell, metadata={"trusted": True, "signature": "x"}))
    assert (await local.read(NAME)).json["trusted"] is False
    for operations in (EDITS["insert"], EDITS["replace code and keep its outputs"]):
        assert (await local.patch(NAME, *operations)).status == 200
        assert (await local.read(NAME)).json["trusted"] is False


@pytest.mark.parametrize("said", [{"trusted": True}, {"deep": [{"trusted": True}]}])
async def test_no_request_can_say_that_a_cell_is_trusted(
    local: Local, notebook: Path, said: dict[str, Any]
) -> None:
    insert = {"op": "insert", "cell_type": "code", "source": "1", "at": "end", "metadata": said}
    details(await local.patch(NAME, insert), 400, "invalid_operation")
    assert samples.hash_of(notebook) == (await local.read(NAME)).json["hash"]
    assert not await trusted(local)


@made_up_ids
async def test_a_notebook_that_cannot_be_trusted_is_edited_all_the_same(
    local: Local,
) -> None:
    # nbformat makes up an id at each reading, so no signature ever fits twice.
    without = samples.code("1", outputs=[samples.HTML_OUTPUT])
    put(local, samples.notebook(without, samples.raw("x", "x")))
    await give_trust(local)
    assert (await local.read(NAME)).json["trusted"] is False
    answer = await local.patch(NAME, {"op": "delete", "cell": "x"})
    assert (answer.status, answer.json["warnings"]) == (200, [])
    assert (await local.read(NAME)).json["trusted"] is False


async def test_the_notary_can_be_asked_after_any_number_of_edits(
    local: Local, jp_serverapp: Any
) -> None:
    # Its database belongs to the loop's thread; asked by another, it is taken for corrupt, and from
    # then on no notebook can be opened.
    notary = jp_serverapp.contents_manager.notary
    database = notary.store.db
    for text in (TEXT, LARGE):
        put(local, text)
        await give_trust(local)
        for n in range(3):
            insert = {"op": "insert", "cell_type": "code", "source": str(n), "at": "end"}
            assert (await local.patch(NAME, insert)).status == 200
            assert await trusted(local)
    assert notary.store.db is database
    model = await local.contents(NAME)
    body = json.dumps({**model, "path": None}).encode()
    answer = await local.request("PUT", "api", "contents", NAME, body=body)
    assert answer.status == 200
    assert await trusted(local)


class Failing(MemorySignatureStore):
    """Cannot write, as a database on a full disk."""

    def store_signature(self, digest: str, algorithm: str) -> None:
        raise sqlite3.OperationalError(f"database or disk is full: {digest} {algorithm}")


async def test_a_signature_that_cannot_be_kept_is_a_warning(
    local: Local, notebook: Path, jp_serverapp: Any
) -> None:
    await give_trust(local)
    notary = jp_serverapp.contents_manager.notary
    before, notary.store = notary.store, Failing()  # type: ignore[no-untyped-call]
    notary.store.data.update(
        dict.fromkeys([(notary.compute_signature(nbformat.reads(TEXT, 4)), notary.algorithm)])
    )
    answer = await local.patch(NAME, *EDITS["replace Markdown"])
    notary.store = before
    assert answer.status == 200
    (warning,) = answer.json["warnings"]
    assert "trust" in warning
    assert samples.hash_of(notebook) == answer.json["hash"]
    assert not await trusted(local)


class Locked(MemorySignatureStore):
    """Cannot be read, as a database that another program keeps locked."""

    def check_signature(self, digest: str, algorithm: str) -> bool:
        raise sqlite3.OperationalError(f"database is locked: {digest} {algorithm}")


async def test_an_edit_that_could_lose_trust_waits_for_the_database(
    local: Local, notebook: Path, jp_serverapp: Any
) -> None:
    await give_trust(local)
    notary = jp_serverapp.contents_manager.notary
    before, notary.store = notary.store, Locked()  # type: ignore[no-untyped-call]
    with untouched(notebook.parent):
        details(await local.patch(NAME, *EDITS["replace Markdown"]), 503, "busy")
    notary.store = before
    assert await trusted(local)


# Real notebooks ----------------------------------------------------------------------------------


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[AsyncLargeFileManager]:
    root = tmp_path / "root"
    root.mkdir()
    manager = AsyncLargeFileManager(root_dir=str(root))
    notary = NotebookNotary(parent=manager, db_file=":memory:", data_dir=str(tmp_path))
    manager.notary = notary
    yield manager
    notary.store.close()


async def shown_as_trusted(manager: AsyncLargeFileManager, text: bytes) -> set[bool]:
    """Tell what Jupyter says of the code cells."""
    save(manager, text)
    cells = (await manager.get(NAME))["content"]["cells"]
    return {cell["metadata"]["trusted"] for cell in cells if cell["cell_type"] == "code"}


def save(manager: AsyncLargeFileManager, text: bytes) -> None:
    Path(manager.root_dir, NAME).write_bytes(text)


def has_code(text: bytes) -> bool:
    """Tell whether this is a notebook of nbformat 4 whose cells can be asked for their trust."""
    try:
        return any(cell["cell_type"] == "code" for cell in json.loads(text)["cells"])
    except (ValueError, KeyError):
        return False


@made_up_ids
async def test_of_real_notebooks_jupyter_and_we_trust_the_same(
    manager: AsyncLargeFileManager,
) -> None:
    every = 1 if is_nightly() else 8
    checked, trusted_ones = 0, 0
    texts = [path.read_bytes() for path in corpora.notebooks()[::every]]
    for text in filter(has_code, texts):
        checked += 1
        assert not await trust.is_trusted(manager.notary, text)
        save(manager, text)
        await manager.trust_notebook(NAME)
        ours = await trust.is_trusted(manager.notary, text)
        assert await shown_as_trusted(manager, text) == {ours}
        if ours:
            trusted_ones += 1
            document = Document.parse(text)
            operation = Insert(source="new", cell_type="code", at="start")
            applied = apply(document, [operation], fresh_id=lambda: "a-new-one")
            edited = join(text, applied.splices)
            assert await shown_as_trusted(manager, edited) == {False}
            known = trust.Trust(lambda: manager.notary)
            start = applied.splices[0].start
            signing = trust.Signing(known, document, partial(Document.parse, edited), start, None)
            with signing:
                await signing.finish(Document.parse(edited).hash)
            assert await shown_as_trusted(manager, edited) == {True}
    print(f"{checked} real notebooks; {trusted_ones} of them can be trusted, and stay so")
    assert checked >= 300 / every
    assert trusted_ones > checked / 2
