"""A notebook can be read and edited exactly if the Contents API shows it."""

import os
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.handlers.error_checks import build_body, no_changes
from tests.support import samples
from tests.support.http import Client

GOOD = samples.three_cells()
EDIT = build_body(op="replace", cell="alpha", source="changed")
NFC = unicodedata.normalize("NFC", "café.ipynb")
NFD = unicodedata.normalize("NFD", "café.ipynb")

#: Names of notebooks that are there, as bytes: every one can be read and edited.
NAMES = [
    "plain.ipynb",
    "with space.ipynb",
    " begins with one.ipynb",
    "ends with one .ipynb",
    "ends with a dot..ipynb",
    "-dash.ipynb",
    "~tilde.ipynb",
    "#?%&+;=@,!$'()*.ipynb",
    "100%25.ipynb",
    "back\\slash.ipynb",
    "C:.ipynb",
    "con.ipynb",
    "tab\t.ipynb",
    "line\n.ipynb",
    "bell\x07.ipynb",
    "<b>.ipynb",
    "表.ipynb",
    "🙂.ipynb",
    "\u202etxt.ipynb",
    NFC,
    NFD,
    "sub/plain.ipynb",
    "sub.ipynb/plain.ipynb",
    "space at the end /plain.ipynb",
    "dot at the end./plain.ipynb",
    "a" * 249 + ".ipynb",
]

#: Spellings, as they go out, of what is there, is not, or is not to be seen; more of those that
#: are not are in `test_bad_files.py`.
SPELLINGS = [
    "PLAIN.ipynb",
    "plain.IPYNB",
    "plain.ipynb/",
    "sub/./plain.ipynb",
    "sub%2Fplain.ipynb",
    "sub%5Cplain.ipynb",
    "back%5Cslash.ipynb",
    "plain.ipynb%20",
    "plain.ipynb.",
    "%20plain.ipynb",
    "plain.ipynb::$DATA",
    "pl%61in.ipynb",
    "%2570lain.ipynb",
    "plain.ipynb%3Fx",
    "raw%FF.ipynb",
    "raw%ED%B3%BF.ipynb",
    "%ED%A0%80.ipynb",
    "link.ipynb",
    "door/plain.ipynb",
    "veiled.ipynb",
    "way/plain.ipynb",
    "linked.ipynb",
]


@pytest.fixture(scope="module")
def place(live: Client) -> Client:
    root = live.root
    for name in (*NAMES, ".hidden.ipynb", ".hidden/plain.ipynb"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(GOOD)
    Path(os.fsdecode(os.fsencode(root) + b"/raw\xff.ipynb")).write_bytes(GOOD)
    (root / "link.ipynb").symlink_to("plain.ipynb")
    (root / "door").symlink_to("sub")
    (root / "veiled.ipynb").symlink_to(".hidden.ipynb")
    (root / "way").symlink_to(".hidden")
    (root / "linked.ipynb").hardlink_to(root / "sub" / "plain.ipynb")
    return live


def is_shown(client: Client, spelling: str) -> bool:
    """Return whether the Contents API shows a notebook at a path."""
    answer = client.request("GET", f"api/contents/{spelling}?content=0")
    return answer.status == 200 and answer.json["type"] == "notebook"


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.threat("S6")
def test_only_notebooks_that_the_contents_api_shows_are_read_and_edited(
    place: Client, spelling: str
) -> None:
    target = f"nbedit/notebooks/{spelling}"
    theirs = is_shown(place, spelling)
    if theirs:
        ours = place.request("GET", target)
        assert ours.status in {200, 400, 404}, ours.body
        return
    with no_changes(place.root):
        for verb, body in (("GET", None), ("PATCH", EDIT), ("PUT", b"")):
            ours = place.request(verb, target, body, {"Content-Type": "application/json"})
            assert ours.status in {400, 404, 405, 409}, (verb, ours.body)


@pytest.mark.parametrize("name", NAMES)
def test_every_valid_notebook_name_is_read_and_edited(place: Client, name: str) -> None:
    spelling = quote(name)
    (place.root / name).write_bytes(GOOD)
    if name == "sub/plain.ipynb":
        # It has a second name in this folder.
        (place.root / "linked.ipynb").unlink(missing_ok=True)
    assert is_shown(place, spelling)
    assert place.request("GET", f"nbedit/notebooks/{spelling}").status == 200
    answer = place.send(name, EDIT)
    assert answer.status == 200, answer.body
    assert samples.load_cells((place.root / name).read_bytes())[0]["source"] == "changed"


def test_a_notebook_is_found_in_folders_of_any_depth(place: Client) -> None:
    folder = "d/" * 900
    (place.root / folder).mkdir(parents=True)
    (place.root / folder / "a.ipynb").write_bytes(GOOD)
    assert is_shown(place, f"{folder}a.ipynb")
    assert place.send(f"{folder}a.ipynb", EDIT).status == 200


def test_names_in_different_unicode_forms_are_different_notebooks(place: Client) -> None:
    if (place.root / NFC).samefile(place.root / NFD):
        pytest.skip("to this file system they are one")
    for name, source in ((NFC, "composed"), (NFD, "decomposed")):
        answer = place.patch(name, {"op": "replace", "cell": "alpha", "source": source})
        assert answer.status == 200, answer.body
    for name, source in ((NFC, "composed"), (NFD, "decomposed")):
        assert samples.load_cells((place.root / name).read_bytes())[0]["source"] == source
    (place.root / NFC).unlink()
    assert place.read(NFC).status == 404
    assert not is_shown(place, quote(NFC))
    assert place.read(NFD).status == 200
