"""The commands that read and change notebooks, with a running server."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_nbedit import __version__
from jupyter_nbedit.cli import exit_codes
from tests.cli.conftest import Shell
from tests.support import samples
from tests.support.http import Client


def read(live: Client, path: str = "a.ipynb") -> list[str]:
    return [cell["source"] for cell in live.read(path).json["cells"]]


def get_names(shell: Shell, path: str = "a.ipynb") -> list[str]:
    outline = shell.succeed("read", path, "--outline")
    return [line.split()[0] for line in outline.splitlines()[1:]]


# What commands do ---------------------------------------------------------------------------------


def test_a_notebook_is_read_as_text_or_as_the_reply_of_the_rest_api(
    shell: Shell, live: Client
) -> None:
    assert shell.succeed("read", "a.ipynb").startswith("a.ipynb | 3 cells | python | rev ")
    names = get_names(shell)
    assert re.fullmatch(r"0:[0-9a-f]{6}", names[0])
    assert shell.succeed("read", "a.ipynb", names[0], "2").count("<cell ") == 2
    assert "# Title" in shell.succeed("read", "a.ipynb", "--section", "Title", "--source")
    assert shell.succeed("read", "a.ipynb", "--start", "2", "--outline").count("\n") == 2
    assert "<outputs>" in shell.succeed("read", "a.ipynb", "0", "--outputs", "text")
    printed = json.loads(shell.succeed("read", "a.ipynb", "--outline", "--json"))
    assert printed == live.read("a.ipynb", view="outline").json
    rev = printed["hash"][:8]
    shell.succeed("edit", "a.ipynb", "--old", "as is", "--new", "as was")
    assert shell.succeed("read", "a.ipynb", "--since", rev).count("<cell ") == 1
    absolute = str(live.root / "a.ipynb")
    assert shell.succeed("read", absolute) == shell.succeed("read", "./a.ipynb")


def test_a_search_prints_paths_that_commands_take(
    shell: Shell, live: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = live.root / "deep" / "er"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "b.ipynb").write_bytes(samples.notebook(samples.code("import pandas as pd")))

    def search(*arguments: str) -> tuple[str, ...]:
        return tuple(re.findall(r"^== (.*)$", shell.succeed("search", *arguments), re.MULTILINE))

    assert search("pandas") == ("deep/er/b.ipynb",)
    assert search("PANDAS", "deep", "-i") == ("deep/er/b.ipynb",)
    assert search("--regex", "pand.s|itle") == ("a.ipynb", "deep/er/b.ipynb")
    assert search("--regex", "pand.s|itle", "a.ipynb") == ("a.ipynb",)
    assert search("document.title", "--in", "outputs") == ()
    assert search("--limit", "1", "--regex", ".") == ("a.ipynb",)
    monkeypatch.chdir(folder.parent)
    assert search("pandas") == ("er/b.ipynb",)
    monkeypatch.chdir(folder)
    assert search("pandas", str(live.root)) == ("b.ipynb",)
    assert search("Title", "../..") == (str(live.root.resolve() / "a.ipynb"),)
    hits = json.loads(shell.succeed("search", "pandas", "--json"))["hits"]
    assert [hit["path"] for hit in hits] == ["deep/er/b.ipynb"]
    cursor = json.loads(shell.succeed("search", "a", "../..", "--limit", "1", "--json"))["cursor"]
    assert cursor
    shell.succeed("search", "a", "../..", "--limit", "1", "--cursor", cursor)


@pytest.mark.skipif(sys.platform == "win32", reason="not allowed in the name of a file")
@pytest.mark.parametrize("name", ["a\u00a0b", "a\tb", '"a"', "a\u202eb", "a\u200db"])
def test_a_path_that_is_shown_in_quotes_is_taken(shell: Shell, live: Client, name: str) -> None:
    folder = live.root / name
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.ipynb"
    file.write_bytes(samples.notebook(samples.code("quoted path")))
    try:
        (shown,) = re.findall(r"^== (.*)$", shell.succeed("search", "quoted path"), re.MULTILINE)
        assert json.loads(shown) == f"{name}/{name}.ipynb"
        for path in (shown, f"{name}/{name}.ipynb"):
            assert shell.succeed("read", path).startswith(f"{shown} | 1 cell |")
        shell.succeed("edit", shown, "--old", "quoted", "--new", "shown")
        assert "shown path" in file.read_text()
        assert shell.succeed("search", "shown path", json.dumps(name)).startswith("1 hit")
        assert shell.run("status", shown).exit_code == exit_codes.DONE
    finally:
        file.unlink()
        folder.rmdir()


EDITS: dict[str, tuple[list[str], list[str]]] = {
    "text in the only cell that has it": (
        ["--old", "as", "--new", "was"],
        ["x = 1\nx", "# Title", "was is"],
    ),
    "text in a cell": (
        ["--old", "1", "--new", "2", "--cell", "{0}"],
        ["x = 2\nx", "# Title", "as is"],
    ),
    "every text in a cell": (
        ["--old=x", "--new=y", "--cell", "0", "--all"],
        ["y = 1\ny", "# Title", "as is"],
    ),
    "every text in every cell": (
        ["--old", "i", "--new", "I", "--all"],
        ["x = 1\nx", "# TItle", "as Is"],
    ),
    "text removed": (["--old", " = 1\nx", "--new", ""], ["x", "# Title", "as is"]),
    "source": (["--cell", "{1}", "--source", "# New"], ["x = 1\nx", "# New", "as is"]),
    "empty source": (["--cell", "gamma", "--source", ""], ["x = 1\nx", "# Title", ""]),
    "source and type": (
        ["--cell", "1", "--source", "2", "--type", "code"],
        ["x = 1\nx", "2", "as is"],
    ),
    "type": (["--cell", "1", "--type", "raw"], ["x = 1\nx", "# Title", "as is"]),
    "insert after": (
        ["--insert", "new", "--after", "{0}"],
        ["x = 1\nx", "new", "# Title", "as is"],
    ),
    "insert before": (
        ["--insert", "new", "--before", "0", "--type", "raw"],
        ["new", "x = 1\nx", "# Title", "as is"],
    ),
    "insert at end": (["--insert", "-", "--at", "end"], ["x = 1\nx", "# Title", "as is", "stdin"]),
    "delete": (["--delete", "{0}", "{2}"], ["# Title"]),
    "move": (["--move", "{0}", "1", "--at", "end"], ["as is", "x = 1\nx", "# Title"]),
    "operations": (["--operations", "operations.json"], ["# Title", "as is"]),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_what_its_options_say(shell: Shell, live: Client, name: str) -> None:
    arguments, expected = EDITS[name]
    (live.root / "operations.json").write_text('[{"op": "delete", "cell": "alpha"}]')
    names = get_names(shell)
    command = ["edit", "a.ipynb", *(each.format(*names) for each in arguments)]

    dry = shell.succeed(*command, "--dry-run", stdin="stdin\n")
    assert "dry run: nothing was written" in dry
    assert read(live) == ["x = 1\nx", "# Title", "as is"]
    made = shell.succeed(*command, "-m", "why", "--client", "me", stdin="stdin\n")
    assert re.match(r"a\.ipynb \| \d cells? \| rev [0-9a-f]{8} \| edit \d+", made)
    assert read(live) == expected
    assert "me: why | " in shell.succeed("history", "a.ipynb", "--limit", "1")
    shell.succeed("undo", "a.ipynb", "--client", "me")
    assert (live.root / "a.ipynb").read_bytes() == samples.three_cells()


def test_digits_are_the_id_of_a_cell_before_they_are_an_index(shell: Shell, live: Client) -> None:
    cells = [samples.raw(str(index), cell_id) for index, cell_id in enumerate(("1", "0", "9"))]
    (live.root / "a.ipynb").write_bytes(
        samples.notebook(*cells, samples.raw("same", "b"), samples.raw("same", "c"))
    )
    shell.succeed("edit", "a.ipynb", "--cell", "1", "--source", "first")
    shell.succeed("edit", "a.ipynb", "--delete", "2", "4")
    shell.succeed("edit", "a.ipynb", "--move", "0", "--after", "2")

    assert read(live) == ["first", "same", "1"]


def test_outputs_are_cleared_or_kept(shell: Shell, live: Client) -> None:
    def has_outputs() -> bool:
        return bool(json.loads((live.root / "a.ipynb").read_text())["cells"][0]["outputs"])

    shell.succeed("edit", "a.ipynb", "--old", "1", "--new", "2", "--keep-outputs")
    assert has_outputs()
    for cells in (["all"], ["0"], ["alpha"]):
        shell.succeed("edit", "a.ipynb", "--clear-outputs", *cells)
        assert not has_outputs()
        shell.succeed("undo", "a.ipynb")
    shell.succeed("edit", "a.ipynb", "--old", "2", "--new", "3")
    assert not has_outputs()


@pytest.mark.parametrize(
    ("stdin", "source"),
    [
        ("print('a\\n')\n", "print('a\\n')"),
        ("a\n\n", "a\n"),
        ("no line break", "no line break"),
        ("a\r\n", "a"),
        ("", ""),
        ("\\u00e9 \\x41 $HOME `id` {} %s é 😀\n", "\\u00e9 \\x41 $HOME `id` {} %s é 😀"),
        ("x" * 1_000_000, "x" * 1_000_000),
    ],
)
def test_standard_input_is_taken_as_it_is(
    shell: Shell, live: Client, stdin: str, source: str
) -> None:
    shell.succeed("edit", "a.ipynb", "--cell", "2", "--source", "-", stdin=stdin)
    assert read(live)[2] == source


def test_escapes_in_arguments_are_not_interpreted(shell: Shell, live: Client) -> None:
    shell.succeed("edit", "a.ipynb", "--cell", "2", "--source", r"a\nb\t\\")
    assert read(live)[2] == r"a\nb\t\\"
    shell.succeed("edit", "a.ipynb", "--old", r"\nb", "--new", r"\1\g<0>")
    assert read(live)[2] == r"a\1\g<0>\t\\"


def test_a_notebook_is_created_with_cells_and_never_replaced(shell: Shell, live: Client) -> None:
    cells = [{"cell_type": "markdown", "source": "# New"}, {"cell_type": "code", "source": "1"}]
    made = shell.succeed(
        "new", "b.ipynb", "--kernel", "python3", "--from", "-", stdin=json.dumps(cells)
    )
    assert made.startswith("b.ipynb | 2 cells")
    assert read(live, "b.ipynb") == ["# New", "1"]
    assert json.loads((live.root / "b.ipynb").read_text())["metadata"]["kernelspec"]["name"] == (
        "python3"
    )
    result = shell.run("new", "b.ipynb")
    assert (result.exit_code, result.out) == (exit_codes.REFUSED, "")
    assert result.err.startswith("notebook_exists: ")
    shell.succeed("new", "new.ipynb", "--dry-run")
    assert not (live.root / "new.ipynb").exists()


def test_edits_are_listed_shown_undone_and_redone(shell: Shell, live: Client) -> None:
    reply = json.loads(shell.succeed("edit", "a.ipynb", "--old", "1", "--new", "2", "--json"))
    number = str(reply["edit_id"])
    shell.succeed("edit", "a.ipynb", "--delete", "2")

    assert f"\n{number} " in shell.succeed("history", "a.ipynb")
    assert "+x = 2" in shell.succeed("history", "a.ipynb", number)
    assert f"\n{number} " not in shell.succeed("history", "a.ipynb", "--before", number)
    assert "-x = 2" in shell.succeed("undo", "a.ipynb", number)
    assert read(live) == ["x = 1\nx", "# Title"]
    assert "+x = 2" in shell.succeed("redo", "a.ipynb", "-m", "again")
    history = json.loads(shell.succeed("history", "a.ipynb", "--limit", "1", "--json"))
    assert (history["edits"][0]["kind"], history["edits"][0]["message"]) == ("redo", "again")


def test_unseen_changes_are_printed_kept_and_undone_and_states_restored(
    shell: Shell, live: Client
) -> None:
    # The edits of other tests.
    shell.succeed("keep", "a.ipynb")
    first = json.loads(shell.succeed("edit", "a.ipynb", "--old", "1", "--new", "2", "--json"))
    number = first["edit_id"]
    shell.succeed("edit", "a.ipynb", "--delete", "2")
    found = shell.succeed("unseen", "a.ipynb")
    assert found.startswith("a.ipynb | 2 changes that you have not kept")
    assert f"change {number}.0 | edit {number} | " in found
    assert "+x = 2" in found
    assert "\na.ipynb | 2 edits" in shell.succeed("unseen")
    unseen = json.loads(shell.succeed("keep", "a.ipynb", f"{number}.0", "--json"))
    [deleted] = unseen["cells"]
    stale = shell.run("undo", "a.ipynb", "--cells", deleted["key"], "--until", str(number))
    assert (stale.exit_code, stale.err.partition(":")[0]) == (exit_codes.STALE, "cell_changed")
    shell.succeed("undo", "a.ipynb", "--cells", deleted["key"])
    assert read(live) == ["x = 2\nx", "# Title", "as is"]
    assert "0 changes" in shell.succeed("unseen", "a.ipynb")
    shell.succeed("edit", "a.ipynb", "--delete", "0")
    shell.succeed("restore", "a.ipynb", str(number))
    assert read(live) == ["x = 2\nx", "# Title", "as is"]
    assert "0 changes" in shell.succeed("keep", "a.ipynb")


def test_a_proposal_has_its_own_exit_code_until_it_is_accepted(shell: Shell, live: Client) -> None:
    live.set_mode("review", "a.ipynb")
    proposed = shell.run("edit", "a.ipynb", "--delete", "0")
    assert (proposed.exit_code, proposed.err) == (exit_codes.PROPOSED, "")
    (number,) = re.findall(r"proposed as (\d+)", proposed.out)

    waiting = shell.run("proposal", number, "--wait", "0.01")
    assert waiting.exit_code == exit_codes.PROPOSED
    assert f"proposal {number} | pending" in waiting.out
    assert live.accept(int(number)).status == 200
    assert f"proposal {number} | accepted" in shell.succeed("proposal", number, "--wait", "5")

    rejected = json.loads(shell.run("edit", "a.ipynb", "--delete", "0", "--json").out)
    number = rejected["proposal_id"]
    assert live.reject(number).status == 200
    decided = shell.run("proposal", str(number), "--json")
    assert decided.exit_code == exit_codes.REFUSED
    assert json.loads(decided.out)["status"] == "rejected"


# Exit codes ---------------------------------------------------------------------------------------

EDIT = ["edit", "a.ipynb"]
FAILURES: dict[str, tuple[int, str, list[str]]] = {
    "missing notebook": (1, "notebook_not_found", ["read", "missing.ipynb"]),
    "no notebook": (1, "invalid_notebook", ["read", "bad.ipynb"]),
    "missing cell": (1, "cell_not_found", ["read", "a.ipynb", "9"]),
    "missing section": (1, "section_not_found", ["read", "a.ipynb", "--section", "No"]),
    "invalid argument": (1, "invalid_request", ["read", "a.ipynb", "--max-chars", "-1"]),
    "invalid operation": (1, "invalid_operation", [*EDIT, "--operations", "bad.json"]),
    "invalid regex": (1, "invalid_request", ["search", "--regex", "("]),
    "no folder": (1, "notebook_not_found", ["new", "no/folder/a.ipynb"]),
    "nothing to redo": (1, "nothing_to_undo", ["redo", "never.ipynb"]),
    "unknown change": (1, "change_not_found", ["keep", "a.ipynb", "0.0"]),
    "missing edit": (1, "edit_not_found", ["undo", "a.ipynb", "999999"]),
    "missing proposal": (1, "proposal_not_found", ["proposal", "999999"]),
    "no proposal to accept": (1, "proposal_not_found", ["proposal", "accept", "999999"]),
    "unknown version": (4, "version_unknown", ["read", "a.ipynb", "--since", "12345678"]),
    "stale cell": (4, "cell_changed", [*EDIT, "--delete", "0:000000"]),
    "stale text": (4, "text_mismatch", [*EDIT, "--old", "gone", "--new", "x"]),
    "stale text in a cell": (4, "text_mismatch", [*EDIT, "--old", "gone", "--new", "", "--cell=0"]),
    "text in two cells": (4, "text_mismatch", [*EDIT, "--old", "i", "--new", ""]),
    "text twice": (4, "text_mismatch", [*EDIT, "--old", "x", "--new", ""]),
    "outside": (1, "notebook_not_found", ["read", "/a.ipynb"]),
    "no server": (3, "connect_failed", ["read", "a.ipynb", "--url", "http://127.0.0.1:1/"]),
    "bad url": (3, "invalid_address", ["read", "a.ipynb", "--url", "nowhere"]),
    "no token file": (3, "invalid_address", ["read", "a.ipynb", "--token-file", "missing"]),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_an_exit_code_and_a_reason_and_changes_nothing(
    shell: Shell, live: Client, name: str
) -> None:
    exit_code, reason, arguments = FAILURES[name]
    (live.root / "bad.ipynb").write_text("{}")
    (live.root / "never.ipynb").write_bytes(samples.three_cells())
    (live.root / "bad.json").write_text('[{"op": "explode"}]')

    result = shell.run(*arguments)

    assert (result.exit_code, result.out) == (exit_code, "")
    assert result.err.startswith(f"{reason}: ")
    as_json = shell.run(*arguments, "--json")
    assert (as_json.exit_code, as_json.out) == (exit_code, "")
    assert json.loads(as_json.err)["reason"] == reason
    assert (live.root / "a.ipynb").read_bytes() == samples.three_cells()
    # A search would find it.
    (live.root / "never.ipynb").unlink()


def test_a_stale_cell_is_shown_as_it_is_now(shell: Shell) -> None:
    name = get_names(shell)[0]
    shell.succeed("edit", "a.ipynb", "--old", "1", "--new", "2")

    result = shell.run("edit", "a.ipynb", "--cell", name, "--source", "mine")

    assert result.exit_code == exit_codes.STALE
    assert "x = 2" in result.err


def test_a_person_decides_on_a_proposal_in_a_shell(shell: Shell, live: Client) -> None:
    live.set_mode("review", "a.ipynb")
    proposed = shell.run("edit", "a.ipynb", "--cell", "0", "--source", "x = 2\nx")
    (number,) = re.findall(r"proposed as (\d+)", proposed.out)

    rejected = shell.succeed("proposal", "reject", number, "--reason", "Keep it small")
    assert f"proposal {number} | rejected\nreason: Keep it small\n" in rejected
    assert "reason: Keep it small" in shell.run("proposal", number).out
    assert f"proposal {number} | pending\n" in shell.succeed("proposal", "reopen", number)
    assert "reason" not in shell.run("proposal", number).out

    live.set_mode("edit", "a.ipynb")
    shell.succeed("edit", "a.ipynb", "--cell", "0", "--source", "# first\nx = 1\n\nx")
    stale = shell.run("proposal", "accept", number)
    assert (stale.exit_code, stale.out) == (exit_codes.STALE, "")
    assert stale.err.startswith("cell_changed: ")
    assert "part 0: the cell has changed since; the changes conflict" in (
        shell.run("proposal", number).out
    )
    shell.succeed("edit", "a.ipynb", "--cell", "0", "--source", "x = 1\nx\n")
    assert "both changes can be merged" in shell.run("proposal", number).out
    assert "accept 0:" in shell.succeed("proposal", "accept", number, "--merge")
    assert read(live)[0] == "x = 2\nx\n"


def test_a_paused_notebook_is_read_and_not_changed(shell: Shell, live: Client) -> None:
    live.set_mode("plan", "a.ipynb")
    result = shell.run("edit", "a.ipynb", "--delete", "0")
    assert (result.exit_code, result.err.partition(":")[0]) == (exit_codes.REFUSED, "plan_mode")
    shell.succeed("edit", "a.ipynb", "--delete", "0", "--dry-run")
    shell.succeed("read", "a.ipynb")


USAGE: list[list[str]] = [
    [],
    ["explode"],
    ["read"],
    ["read", "a.ipynb", "--outline", "--source"],
    ["read", "a.ipynb", "--outl"],
    ["read", "a.ipynb", "--outputs", "all"],
    ["search"],
    ["search", "two", "words", "unquoted"],
    ["search", "a", "b", "--regex", "c"],
    ["edit", "a.ipynb"],
    ["edit", "a.ipynb", "--old", "x"],
    ["edit", "a.ipynb", "--new", "x"],
    ["edit", "a.ipynb", "--source", "x"],
    ["edit", "a.ipynb", "--cell", "0"],
    ["edit", "a.ipynb", "--cell", "0", "--source", "x", "--all"],
    ["edit", "a.ipynb", "--cell", "0", "--source", "x", "--delete", "0"],
    ["edit", "a.ipynb", "--insert", "x"],
    ["edit", "a.ipynb", "--insert", "x", "--after", "0", "--before", "1"],
    ["edit", "a.ipynb", "--insert", "x", "--at", "middle"],
    ["edit", "a.ipynb", "--move", "0"],
    ["edit", "a.ipynb", "--delete", "0", "--type", "raw"],
    ["edit", "a.ipynb", "--old", "-", "--new", "-"],
    ["edit", "a.ipynb", "--operations", "missing.json"],
    ["edit", "a.ipynb", "--operations", "a.ipynb"],
    ["edit", "a.ipynb", "--operations", "-"],
    ["edit", "a.ipynb", "--cell", "0", "--source", "-"],
    ["new", "b.ipynb", "--from", "-"],
    ["undo", "a.ipynb", "last"],
    ["proposal"],
    ["proposal", "decide", "1"],
    ["proposal", "1", "--merge"],
    ["proposal", "reject", "1", "--merge"],
    ["proposal", "accept", "1", "--reason", "x"],
    ["proposal", "reopen", "1", "--wait", "0"],
    ["proposal", "reject", "--reason", "x", "1"],
    ["completion", "tcsh"],
    ["read", "a.ipynb", "--URL", "http://h/?token=TOKEN"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_a_wrong_command_line_is_usage_and_changes_nothing(
    shell: Shell, live: Client, arguments: list[str]
) -> None:
    arguments = [each.replace("TOKEN", live.token) for each in arguments]

    result = shell.run(*arguments, stdin=b"\xff")

    assert (result.exit_code, result.out) == (exit_codes.USAGE, "")
    assert "jupyter nbedit" in result.err
    assert (live.root / "a.ipynb").read_bytes() == samples.three_cells()


@pytest.mark.threat("S20")
def test_control_characters_do_not_reach_a_terminal(
    shell: Shell, live: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "a\tb\x1b]0;title\x07\r\x9b1m"
    (live.root / "a.ipynb").write_bytes(samples.notebook(samples.code(source)))
    assert source.splitlines()[0] in shell.succeed("read", "a.ipynb")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    printed = shell.succeed("read", "a.ipynb")
    assert "a\tb\\x1b]0;title\\x07\\x0d\\x9b1m" in printed


# The start ----------------------------------------------------------------------------------------


def test_the_command_prints_its_version() -> None:
    answer = subprocess.run(
        [Path(sys.executable).parent / "jupyter", "nbedit", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout.strip() == __version__


def test_cli_and_client_load_neither_nbformat_nor_jupyter_server() -> None:
    code = (
        "import sys\n"
        "import jupyter_nbedit.cli, jupyter_nbedit.db.database\n"
        "import jupyter_nbedit.services.history.store\n"
        "import jupyter_nbedit.notebook.apply_batch, jupyter_nbedit.storage.files.file_storage\n"
        "print({'nbformat', 'jupyter_server'} & set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "set()\n"
