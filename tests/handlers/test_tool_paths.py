"""No tool reads, writes or reports anything outside the root folder."""

import json
import re
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.error_checks import assert_no_local_names, no_changes
from tests.handlers.tool_failures import parse_failure
from tests.handlers.tool_inputs import post
from tests.handlers.traversal_requests import CALLS, MARK, SECRET, TEXTS
from tests.support import samples
from tests.support.http import Answer, Client

MAX_NAME_LENGTH = 255


def send(client: Client, tool: str, path: str) -> Answer:
    name, rest, _ = CALLS[tool]
    return post(client, tool, json.dumps({**rest, name: path}).encode())


@pytest.fixture
def root(live: Client) -> Iterator[Path]:
    """Create hidden and outside files around and in the root."""
    top = live.root.parent
    made = [top / "notebooks-evil", top / "elsewhere", live.root / ".hidden"]
    for folder in made:
        folder.mkdir()
        for name in ("a.ipynb", "a.md"):
            (folder / name).write_bytes(SECRET if name.endswith(".ipynb") else MARK.encode())
    for name in ("a.ipynb", "a.md"):
        (live.root / f"out-{name}").symlink_to(top / "elsewhere" / name)
        (live.root / f"veiled-{name}").symlink_to(live.root / ".hidden" / name)
    (live.root / "out").symlink_to(top / "elsewhere")
    yield live.root
    for path in live.root.iterdir():
        if not path.is_dir() or path.is_symlink():
            path.unlink()
    for folder in made:
        shutil.rmtree(folder)


def list_outside_paths(root: Path) -> list[Path]:
    """List the folders in which nothing may change; the server's own log is in another."""
    return [root, root.parent / "notebooks-evil", root.parent / "elsewhere"]


_CREATING = {"claude_code/Write", "agent/notebook_create"}
OUTSIDE = [
    "../elsewhere/a",
    "../notebooks-evil/a",
    "sub/../../elsewhere/a",
    "out/a",
    "out-a",
    ".hidden/a",
    "veiled-a",
    "../notebooks/.hidden/a",
    "missing",
    "a\0",
    "../elsewhere/a\0",
    "%2e%2e/elsewhere/a",
    "..%2felsewhere%2fa",
    "..\\elsewhere\\a",
    "x" * 5000,
    "x/" * 3000 + "a",
    "．．/elsewhere/a",  # noqa: RUF001 -- that is the trap
    "‥/elsewhere/a",
]


@pytest.mark.parametrize("tool", CALLS)
def test_outside_hidden_and_missing_paths_get_the_same_error_from_every_tool(
    live: Client, root: Path, tool: str
) -> None:
    suffixes = [".ipynb"] if tool not in TEXTS else [".ipynb", ".md"]
    suffixes = [".ipynb", ".md"] if tool == "sections/notebook_edit" else suffixes
    for suffix in suffixes:
        responses = set()
        if tool in {"claude_code/Write", "claude_code/Edit"} and suffix == ".ipynb":
            # The one refuses what is no notebook, the other every one, before it looks.
            continue
        for name in OUTSIDE:
            path = f"{root}/{name}{suffix}"
            if tool in _CREATING and is_new(root, path):
                continue
            with no_changes(*list_outside_paths(root)):
                answer = send(live, tool, path)
            assert answer.status == 404, (path, answer.body)
            text = parse_failure(tool, answer, f"{root}/").replace(path, "it")
            # Only the path decides whether its folder or a hidden part is named.
            responses.add(re.sub(r"(?s)(folder )?(['\"]).*\2 (?:for|in)", "NAME", text))
        is_creating = tool in _CREATING
        assert len(responses) <= 2 + is_creating, responses


@pytest.mark.parametrize("tool", CALLS)
def test_a_hidden_part_is_named_whether_it_exists_or_not(
    live: Client, root: Path, tool: str
) -> None:
    if tool in TEXTS or tool.startswith("sections/"):
        pytest.skip("for texts")
    texts = {}
    for part in (".hidden", ".gone"):
        path = f"{root}/{part}/a.ipynb"
        answer = send(live, tool, path)
        assert answer.status == 404, answer.body
        text = parse_failure(tool, answer, f"{root}/")
        assert f"'{part}' in this path is hidden" in text
        texts[part] = text.replace(part, "PART")
    assert texts[".hidden"] == texts[".gone"]


def test_the_missing_folder_of_a_new_notebook_is_named(live: Client, root: Path) -> None:
    tool = "agent/notebook_create"
    answer = send(live, tool, f"{root}/absent/reports/a.ipynb")
    assert answer.status == 404, answer.body
    assert "no folder 'reports' for the new notebook" in parse_failure(tool, answer, f"{root}/")


def is_new(root: Path, path: str) -> bool:
    """Return whether a path is a free name in the root."""
    name = path.removeprefix(f"{root}/")
    plain = "/" not in name and "\0" not in name and len(name) < MAX_NAME_LENGTH
    return plain and not name.startswith((".", "out-", "veiled-"))


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", [tool for tool, (_, _, relative) in CALLS.items() if relative])
def test_relative_paths_do_not_leave_the_root(live: Client, tool: str) -> None:
    for name in OUTSIDE:
        if tool in _CREATING and is_new(live.root, f"{name}.ipynb"):
            continue
        with no_changes(*list_outside_paths(live.root)):
            answer = send(live, tool, f"{name}.ipynb")
        assert answer.status == 404, (name, answer.body)
        parse_failure(tool, answer)


def test_names_in_different_unicode_forms_are_different_files(live: Client, root: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é.ipynb") for form in ("NFC", "NFD"))
    (root / composed).write_bytes(samples.three_cells())
    with no_changes(root):
        assert send(live, "nexo/NotebookEdit", f"{root}/{decomposed}").status == 404
    assert send(live, "nexo/NotebookEdit", f"{root}/{composed}").status == 200
    assert samples.load_cells((root / composed).read_bytes())[0]["source"] == "new"


def test_a_link_within_the_root_leads_to_its_target(live: Client, root: Path) -> None:
    (root / "real.ipynb").write_bytes(samples.three_cells())
    (root / "link.ipynb").symlink_to(root / "real.ipynb")
    answer = send(live, "nexo/NotebookEdit", f"{root}/link.ipynb")
    assert answer.json["notebook_path"] == f"{root}/link.ipynb"
    assert (root / "link.ipynb").is_symlink()
    assert samples.load_cells((root / "real.ipynb").read_bytes())[0]["source"] == "new"


@pytest.mark.parametrize("tool", CALLS)
def test_no_reply_contains_a_path_that_the_request_did_not_contain(
    live: Client, root: Path, tool: str
) -> None:
    path = f"{root}/sub/../{'a.md' if tool in TEXTS else 'a.ipynb'}"
    (root / "sub").mkdir()
    try:
        if tool != "agent/notebook_create":
            (root / "a.ipynb").write_bytes(samples.three_cells())
        (root / "a.md").write_text(MARK)
        send(live, "claude_code/Read", path)
        answer = send(live, tool, path)
        assert answer.status == 200, answer.body
        # The copy is beside the notebook, and is named as the notebook was.
        mine = answer.body.replace(f"{root}/sub/../".encode(), b"")
        assert_no_local_names(mine, root)
    finally:
        (root / "sub").rmdir()
