"""Edits without a server: the replies, the history, the locks and the modes of a server."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from jupyter_nbedit import errors
from jupyter_nbedit.cli.offline.server import OfflineServer
from jupyter_nbedit.client import Client, requests
from jupyter_nbedit.client.requests import Request
from jupyter_nbedit.client.server import Address, Server
from jupyter_nbedit.db.database import NAME as DATABASE
from tests.support import http, samples
from tests.support.servers import ServerProcess, run_server, start_server

NAME = "a.ipynb"
TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a server of `start` serves, with a notebook; this process shares its data."""
    for variable, name in (
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
        ("JUPYTER_CONFIG_DIR", "config"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / name))
    folder = tmp_path / "notebooks"
    (folder / "sub").mkdir(parents=True)
    (folder / NAME).write_bytes(TEXT)
    return folder


@contextmanager
def open_offline(notebook: Path, folder: Path | None = None) -> Iterator[tuple[Client, str]]:
    """Give a client without a server, and the API path of the notebook."""
    with closing(OfflineServer(notebook, folder or notebook.parent)) as server:
        yield Client(server, name="tester"), server.path


def edit_offline(notebook: Path, *operations: Any, folder: Path | None = None) -> dict[str, Any]:
    with open_offline(notebook, folder) as (client, path):
        return client.edit(path, operations or [REPLACE])


@contextmanager
def start(root: Path, *options: str, configuration: str = "") -> Iterator[ServerProcess]:
    """Run a server on the folder of `root`."""
    server = start_server(root.parent, *options, configuration=configuration)
    try:
        yield server
    finally:
        server.stop()


def connect(server: http.Client) -> Client:
    """Return a client of the kind that `open_offline` gives, for a server."""
    address = Address.from_url(f"http://127.0.0.1:{server.port}{server.base_url}")
    return Client(Server(address, str(server.root), _token=server.token), name="tester")


def test_edits_and_proposals_without_a_server_are_continued_by_a_server_and_back(
    root: Path,
) -> None:
    other = root / "sub" / "b.ipynb"
    other.write_bytes(TEXT)
    (root.parent / "data").mkdir()
    notary = NotebookNotary(data_dir=str(root.parent / "data"))
    notary.sign(nbformat.reads(TEXT.decode(), 4))
    # Of a folder below the root that the server has later.
    made = edit_offline(other, folder=other.parent)
    assert (made["path"], made["warnings"]) == ("b.ipynb", [])
    edited = other.read_bytes()
    assert edited == TEXT.replace(b"# Title", b"# Changed")
    assert notary.check_signature(nbformat.reads(edited.decode(), 4))
    write_configuration(root, mode="review")
    proposed = edit_offline(other, {**REPLACE, "source": "# Proposed"}, folder=root)
    assert other.read_bytes() == edited

    with start(root) as server:
        client = connect(server.client)
        (proposal,) = client.list_proposals()["proposals"]
        assert (proposal["proposal_id"], proposal["path"]) == (
            proposed["proposal_id"],
            "sub/b.ipynb",
        )
        accept = Request("POST", ("proposals", str(proposal["proposal_id"]), "accept"), body={})
        client.send(accept)
        assert b"# Proposed" in other.read_bytes()
        # In review mode the undo of a program would be a proposal.
        client.send(Request("PUT", ("mode",), body={"path": "sub/b.ipynb", "mode": "edit"}))
        client.undo("sub/b.ipynb", whose="all")
        assert other.read_bytes() == edited
        client.undo("sub/b.ipynb", made["edit_id"])
        assert other.read_bytes() == TEXT
        client.send(Request("PUT", ("mode",), body={"path": NAME, "mode": "plan"}))

    write_configuration(root, mode="edit")
    with open_offline(other) as (client, path):
        assert path == "b.ipynb"
        assert len(client.list_edits(path)["edits"]) == 4
        client.redo(path, whose="all")
        assert other.read_bytes() == edited
    with pytest.raises(errors.PlanMode):
        edit_offline(root / NAME, folder=root / "sub")
    with open_offline(root / NAME) as (client, path):
        assert client.edit(path, [REPLACE], dry_run=True)["dry_run"]
    assert (root / NAME).read_bytes() == TEXT


def test_a_server_on_the_root_of_the_file_system_has_all_edits(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The database must be hidden from a server that serves everything.
    environment = {"JUPYTER_DATA_DIR": str(root.parent / ".data")}
    monkeypatch.setenv("JUPYTER_DATA_DIR", environment["JUPYTER_DATA_DIR"])
    made = edit_offline(root / NAME)
    path = (root / NAME).relative_to(root.anchor).as_posix()
    top = root.parent / "top"
    top.mkdir()
    (top / "notebooks").symlink_to(root.anchor)
    with run_server(top, environment=environment) as server:
        on_top = connect(server)
        (edit,) = on_top.list_edits(path)["edits"]
        assert edit["edit_id"] == made["edit_id"]
        with run_server(root.parent, environment=environment) as other:
            (edit,) = connect(other).list_edits(NAME)["edits"]
            assert edit["edit_id"] == made["edit_id"]


def write_configuration(root: Path, **settings: str) -> None:
    """Write the configuration that the next server, or offline edit, reads."""
    folder = root.parent / "config"
    folder.mkdir(exist_ok=True)
    content = {"NbEditApp": settings}
    (folder / "jupyter_config.json").write_text(json.dumps(content))


@pytest.mark.parametrize("name", ["jupyter_server_config", "jupyter_jupyter_nbedit_config"])
def test_a_configured_mode_is_obeyed(root: Path, name: str) -> None:
    (root.parent / "config").mkdir()
    (root.parent / "config" / f"{name}.py").write_text("c.NbEditApp.mode = 'plan'\n")
    with pytest.raises(errors.PlanMode):
        edit_offline(root / NAME)
    assert (root / NAME).read_bytes() == TEXT


@pytest.mark.parametrize(
    ("value", "message"),
    [("1 / 0", r"jupyter_server_config.py.*ZeroDivision"), ("'reveiw'", r"mode.*'reveiw'")],
)
def test_a_configuration_that_fails_forbids_everything(
    root: Path, value: str, message: str
) -> None:
    (root.parent / "config").mkdir()
    file = root.parent / "config" / "jupyter_server_config.py"
    file.write_text(f"c.NbEditApp.mode = {value}\n")
    with pytest.raises(errors.ModesUnreadable, match=message):
        edit_offline(root / NAME)


def test_lost_modes_forbid_changes_until_a_person_has_decided_on_a_server(root: Path) -> None:
    database = root.parent / "data" / "nbedit" / DATABASE
    edit_offline(root / NAME)
    edited = (root / NAME).read_bytes()
    database.write_bytes(b"damaged" * 1_000)
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    again = {**REPLACE, "source": "# Again"}
    with open_offline(root / NAME) as (client, path):
        assert client.read(path)["cells"][1]["source"] == "# Changed"
        assert client.edit(path, [again], dry_run=True)["dry_run"]
        with pytest.raises(errors.ModesUnreadable):
            client.edit(path, [again])
    assert (root / NAME).read_bytes() == edited
    with start(root) as server:
        connect(server.client).send(Request("PUT", ("mode",), body={"mode": None}))
    edit_offline(root / NAME, again, folder=root / "sub")
    assert (root / NAME).read_bytes() != edited


# Every command of the command line. A number in parentheses is that of the edit before.
COMMANDS = (
    requests.describe_server(),
    requests.read(NAME),
    requests.read(NAME, cell=["beta"], outputs="text", max_chars=200),
    requests.read(NAME, cell=["9"]),
    requests.read("missing.ipynb"),
    requests.read("../a.ipynb"),
    requests.read(".hidden/a.ipynb"),
    requests.edit(NAME, [REPLACE, {"op": "delete", "cell": 0}], message="why"),
    requests.edit(NAME, [{**REPLACE, "cell": "1:79aeaf"}]),
    requests.edit(NAME, [{"op": "replace"}]),
    requests.edit(NAME, [{**REPLACE, "source": "dry"}], dry_run=True),
    requests.create("new.ipynb", [{"source": "x = 1", "id": "first"}]),
    requests.create(NAME),
    requests.search(query="Changed"),
    requests.search(query="Changed", path="missing"),
    requests.list_edits(NAME),
    requests.read_edit(NAME, 1),
    requests.read_edit(NAME, 99),
    requests.undo(NAME),
    requests.undo("new.ipynb"),
    requests.redo(NAME),
    requests.read_proposal(7),
    requests.list_proposals(),
    requests.read_mode(NAME),
)
# What differs between any two servers.
VARYING = re.compile(
    r"""\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d\.\d+Z)?|"(user|epoch|version|guard|file)": ?"[^"]*"|"""
    r"""(?<= )\S+(?= \(tester\))"""
)


def test_replies_are_those_of_a_server(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline = tmp_path / "offline"
    # Else the two would number their edits together.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "other data"))
    offline.mkdir()
    (offline / NAME).write_bytes(TEXT)
    with start(root) as server, open_offline(offline / NAME) as (client, _):
        for as_text in (False, True):
            for command in COMMANDS:
                expected = describe_reply(connect(server.client), command, as_text=as_text)
                found = describe_reply(client, command, as_text=as_text)
                assert found.replace(" | no server", "") == expected
        assert (offline / NAME).read_bytes() == (root / NAME).read_bytes()


def describe_reply(client: Client, request: Request, *, as_text: bool) -> str:
    try:
        reply = client.send(request, as_text=as_text)
    except errors.NbEditError as error:
        return VARYING.sub("...", f"{error.reason} {error.message} {json.dumps(error.details)}")
    return VARYING.sub("...", f"{reply.status} {reply.text}")


def test_no_edit_is_lost_beside_a_server(root: Path) -> None:
    sources = [f"{writer} {number}" for writer in ("server", "offline") for number in range(15)]

    def add(client: Client, writer: str) -> None:
        for source in sources:
            if source.startswith(writer):
                insert = {"op": "insert", "at": "end", "source": source, "cell_type": "code"}
                client.edit(NAME, [insert])

    with start(root) as server, ThreadPoolExecutor(2) as threads:
        on_server = threads.submit(add, connect(server.client), "server")

        def add_offline() -> None:
            with open_offline(root / NAME) as (client, _):
                add(client, "offline")

        threads.submit(add_offline).result()
        on_server.result()
        edits = connect(server.client).list_edits(NAME)["edits"]
    cells = samples.load_cells((root / NAME).read_bytes())
    assert sorted("".join(cell["source"]) for cell in cells[3:]) == sorted(sources)
    # The server takes no edit for a change by another program.
    assert {edit["kind"] for edit in edits} <= {"edit"}
