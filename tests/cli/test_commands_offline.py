"""Commands without a server, and beside servers that cannot make the change."""

import json
import re
from pathlib import Path

import pytest

from jupyter_nbedit.cli import exit_codes
from tests.cli.conftest import Shell
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.server_farm import Farm
from tests.support.servers import run_server

NOTE = "No server serves this: the command works on the file itself.\n"


def test_without_a_server_commands_work_on_the_file_and_a_server_can_undo_it_later(
    alone: Shell, tmp_path: Path
) -> None:
    assert alone.succeed("read", "a.ipynb").startswith("a.ipynb | 3 cells")
    (name,) = re.findall(r"^2:\w+", alone.succeed("read", "a.ipynb", "--outline"), re.MULTILINE)
    assert "== a.ipynb" in alone.succeed("search", "Title")
    dry = alone.succeed("edit", "a.ipynb", "--delete", name, "--dry-run")
    assert "dry run" in dry
    edit = alone.run("edit", "a.ipynb", "--delete", name, "--offline", "--json")
    assert (edit.exit_code, edit.err) == (exit_codes.DONE, NOTE)
    number = str(json.loads(edit.out)["edit_id"])
    assert alone.succeed("history", "a.ipynb").count("\n") == 2
    assert alone.run("undo", "a.ipynb", number).exit_code == exit_codes.DONE
    assert Path("a.ipynb").read_bytes() == samples.three_cells()
    assert alone.run("redo", "a.ipynb").exit_code == exit_codes.DONE
    assert alone.run("new", "b.ipynb").out.startswith("b.ipynb | 0 cells")
    stale = alone.run("edit", "a.ipynb", "--delete", name)
    assert stale.exit_code == exit_codes.STALE

    environment = {"JUPYTER_DATA_DIR": str(tmp_path / "data")}
    with run_server(tmp_path, environment=environment):
        assert "redo" in alone.succeed("history", "a.ipynb")
        # Whoever works without a server is the owner of the token.
        undone = alone.succeed("undo", "a.ipynb")
    assert "a.ipynb | 3 cells" in undone
    assert Path("a.ipynb").read_bytes() == samples.three_cells()


def test_an_id_of_a_deleted_cell_means_no_other_cell(alone: Shell) -> None:
    cells = [samples.raw(f"x{number}", f"cell-{number}") for number in range(4)]
    for ids in (cells, [cells[2], *(samples.raw("y", each) for each in "abc")]):
        Path("a.ipynb").write_bytes(samples.notebook(*ids))
        assert alone.run("edit", "a.ipynb", "--delete", "cell-2").exit_code == exit_codes.DONE
        left = Path("a.ipynb").read_bytes()
        second = alone.run("edit", "a.ipynb", "--delete", "cell-2")
        assert second.exit_code != exit_codes.DONE
        assert "may have been deleted" in second.err
        assert "may have been deleted" in alone.run("read", "a.ipynb", "cell-2").err
        assert Path("a.ipynb").read_bytes() == left


def test_a_path_that_leads_nowhere_is_named(alone: Shell) -> None:
    for command in (
        ["read", "missing.ipynb"],
        ["read", "/missing/a.ipynb"],
        ["new", "missing/a.ipynb"],
        ["search", "x", "missing"],
    ):
        result = alone.run(*command)
        assert (result.exit_code, result.out) == (exit_codes.REFUSED, "")
        assert f"notebook_not_found: Nothing is found at {command[-1]!r}" in result.err


def test_a_missing_folder_of_a_new_notebook_is_named(alone: Shell) -> None:
    result = alone.run("new", "missing/reports/a.ipynb")
    assert "The folder 'missing/reports' does not exist; create it first" in result.err


def test_texts_without_a_server_say_so_in_their_head(alone: Shell) -> None:
    for command in (
        ["read", "a.ipynb"],
        ["read", "a.ipynb", "--outline"],
        ["edit", "a.ipynb", "--delete", "2"],
        ["undo", "a.ipynb"],
        ["new", "b.ipynb", "--dry-run"],
    ):
        head = alone.run(*command).out.split("\n")[0]
        assert " | no server" in head, head


def test_a_hidden_notebook_that_a_server_does_not_show_is_edited_without_it(
    alone: Shell, tmp_path: Path
) -> None:
    folder = Path(".claude/worktrees/x")
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "a.ipynb").write_bytes(samples.three_cells())
    (folder / "a.ipynb").write_bytes(samples.three_cells())
    path = str(folder / "a.ipynb")
    environment = {"JUPYTER_DATA_DIR": str(tmp_path / "data")}
    with run_server(tmp_path, environment=environment) as server:
        assert " | no server" in alone.succeed("read", path).split("\n")[0]
        for more in ((), ("--offline",)):
            edited = alone.run("edit", path, "--delete", "0", *more)
            assert (edited.exit_code, edited.err) == (exit_codes.DONE, NOTE)
        assert len(samples.load_cells(Path(path).read_bytes())) == 1
        assert alone.run("undo", path).exit_code == exit_codes.DONE
        assert alone.run("new", str(folder / "b.ipynb")).exit_code == exit_codes.DONE
        found = alone.succeed("search", "as is", str(folder))
        assert f"== {path}" in found
        assert ".git" not in found
        # A shown notebook is still that of the server.
        assert "no server" not in alone.succeed("read", "a.ipynb").split("\n")[0]
        assert alone.run("read", "a.ipynb", "--offline").exit_code == exit_codes.REFUSED
        # A person who has paused agents means hidden notebooks, too.
        put = server.request("PUT", "nbedit/mode", b'{"mode": "plan"}', JSON)
        assert put.status == 200, put.body
        refused = alone.run("edit", path, "--delete", "0")
        assert refused.exit_code == exit_codes.REFUSED
        assert "'.claude' is hidden" in refused.err
    with run_server(tmp_path, "--ContentsManager.allow_hidden=True", environment=environment):
        assert "no server" not in alone.succeed("read", path).split("\n")[0]


def test_configured_modes_hold_without_a_server(alone: Shell, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "jupyter_server_config.py").write_text("c.NbEditApp.mode = 'review'\n")

    proposed = alone.run("edit", "a.ipynb", "--delete", "0")

    assert proposed.exit_code == exit_codes.PROPOSED
    (number,) = re.findall(r"proposed as (\d+)", proposed.out)
    assert alone.run("proposal", number).exit_code == exit_codes.PROPOSED
    assert Path("a.ipynb").read_bytes() == samples.three_cells()


def test_offline_is_refused_while_a_server_serves_the_notebook(shell: Shell, live: Client) -> None:
    for command in (["read", "a.ipynb"], ["edit", "a.ipynb", "--delete", "0"]):
        result = shell.run(*command, "--offline")
        assert (result.exit_code, result.out) == (exit_codes.REFUSED, "")
        assert f":{live.port}/ serves this" in result.err
    usage = shell.run("read", "a.ipynb", "--offline", "--url", f"http://localhost:{live.port}/")
    assert usage.exit_code == exit_codes.USAGE
    assert (live.root / "a.ipynb").read_bytes() == samples.three_cells()


def test_a_notebook_in_a_linked_folder_is_edited_by_the_server_of_the_link(
    alone: Shell, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.ipynb").write_bytes(samples.three_cells())
    Path("link").symlink_to(elsewhere)
    edit = ("edit", "link/a.ipynb", "--delete", "0")

    with run_server(tmp_path, environment={"JUPYTER_DATA_DIR": str(tmp_path / "data")}) as server:
        mode = b'{"path": "link/a.ipynb", "mode": "plan"}'
        headers = {"Content-Type": "application/json"}
        assert server.request("PUT", "nbedit/mode", mode, headers).status == 200
        served = alone.run(*edit)
    # The mode of the notebook also holds when its server has stopped.
    for refused in (served, alone.run(*edit)):
        assert refused.exit_code == exit_codes.REFUSED
        assert "plan_mode: " in refused.err
    assert NOTE not in served.err
    assert (elsewhere / "a.ipynb").read_bytes() == samples.three_cells()


def test_a_server_without_the_extension_is_warned_of_and_the_file_is_edited(
    farm: Farm, alone: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = farm.bare.client.root
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(farm.runtime))
    monkeypatch.chdir(root)

    assert alone.succeed("read", "a.ipynb")
    edit = alone.run("edit", "a.ipynb", "--old", "as is", "--new", "as was")

    assert edit.exit_code == exit_codes.DONE
    assert "a tab that is open there does not show the change" in edit.err
    assert edit.err.endswith(NOTE)
    assert b"as was" in (root / "a.ipynb").read_bytes()


def test_a_server_that_cannot_be_asked_keeps_its_notebooks(
    farm: Farm, alone: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = farm.locked.client.root
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(farm.runtime))
    monkeypatch.chdir(root)

    for more in ([], ["--offline"]):
        result = alone.run("edit", "a.ipynb", "--delete", "0", *more)
        assert (result.exit_code, result.out) == (exit_codes.NO_SERVER, "")
        assert result.err.startswith("access_denied: ")
    assert (root / "a.ipynb").read_bytes() == samples.three_cells()
    status = alone.run("status")
    assert status.exit_code == exit_codes.NO_SERVER
    assert str(root) in status.out
