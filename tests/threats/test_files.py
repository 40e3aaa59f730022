"""Prepared files, and files that change at the wrong moment: S2, S3 and S4."""

import contextlib
import hashlib
import json
import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.handlers.error_checks import assert_no_local_names, no_changes
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.sampling import is_nightly
from tests.support.servers import run_server

GOOD = samples.three_cells()
MARK = "for nobody's eyes"
SECRET = samples.notebook(samples.markdown(MARK, "alpha"))
EDIT = {"op": "replace", "cell": "alpha", "source": "changed"}
# How many edits must get through, and how often it is tried at most.
EDITS = 200 if is_nightly() else 10
TURNS = EDITS * 500
# How often a file is looked for that changes its name all the time.
LOOKS = 1_000


@pytest.fixture(scope="module")
def strict_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Run a server that follows no link out of its root."""
    option = "--NbEditApp.links_outside_root=False"
    with run_server(tmp_path_factory.mktemp("strict"), option) as client:
        yield client


@dataclass(frozen=True)
class LinkCase:
    """Links out of the root: what to create in the root, and the path to request."""

    path: str
    links: dict[str, str]
    #: Whether something is there: the Contents API shows it then.
    leads_somewhere: bool = True


LINK_CASES = {
    "an absolute link": LinkCase("a.ipynb", {"a.ipynb": "{top}/outside/a.ipynb"}),
    "a relative link": LinkCase("a.ipynb", {"a.ipynb": "../outside/a.ipynb"}),
    "a folder": LinkCase("door/a.ipynb", {"door": "../outside"}),
    "the folder above": LinkCase("up/outside/a.ipynb", {"up": ".."}),
    "the system's root": LinkCase("all{top}/outside/a.ipynb", {"all": "/"}),
    "a chain": LinkCase(
        "a.ipynb",
        {"a.ipynb": "sub/b.ipynb", "sub": "sub2", "sub2/b.ipynb": "../../outside/a.ipynb"},
    ),
    "a sibling whose name begins like the root's": LinkCase(
        "a.ipynb", {"a.ipynb": "../notebooks-secret/a.ipynb"}
    ),
    "through the process's root": LinkCase(
        "proc{top}/outside/a.ipynb", {"proc": "/proc/self/root"}
    ),
    "to nowhere outside": LinkCase(
        "a.ipynb", {"a.ipynb": "../outside/missing.ipynb"}, leads_somewhere=False
    ),
    "to nowhere, through a folder": LinkCase(
        "door/missing.ipynb", {"door": "../outside"}, leads_somewhere=False
    ),
    "to a folder that is missing": LinkCase(
        "door/a.ipynb", {"door": "../missing"}, leads_somewhere=False
    ),
    "to itself": LinkCase("loop.ipynb", {"loop.ipynb": "loop.ipynb"}, leads_somewhere=False),
    "through itself": LinkCase("loop/a.ipynb", {"loop": "loop"}, leads_somewhere=False),
    "in circles": LinkCase("x/a.ipynb", {"x": "y", "y": "x"}, leads_somewhere=False),
    "to an open file": LinkCase("fd.ipynb", {"fd.ipynb": "/proc/self/fd/1"}, leads_somewhere=False),
    "to an open file's number": LinkCase(
        "fd/1.ipynb", {"fd": "/proc/self/fd"}, leads_somewhere=False
    ),
}


@contextlib.contextmanager
def make_link(client: Client, way: LinkCase) -> Iterator[str]:
    """Create the links of a case, and the outside files; return the path to request."""
    root = client.root
    top = root.parent
    for folder in ("outside", "notebooks-secret"):
        (top / folder).mkdir(exist_ok=True)
        (top / folder / "a.ipynb").write_bytes(SECRET)
    made = []
    for name, target in way.links.items():
        link = root / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target.format(top=top))
        made.append(link)
    try:
        yield way.path.format(top=top)
    finally:
        for link in made:
            link.unlink()
        if (root / "sub2").exists():
            (root / "sub2").rmdir()


def read_path(client: Client, path: str) -> list[Answer]:
    """Ask for a notebook in all ways that there are."""
    target = f"nbedit/notebooks/{path}"
    insert = json.dumps({"cell_type": "raw", "source": "x", "at": "end"}).encode()
    change = json.dumps({"source": "x"}).encode()
    return [
        client.read(path),
        client.read(path, view="full"),
        client.patch(path, EDIT),
        client.patch(path, EDIT, dry_run=True),
        client.request("POST", f"{target}/cells", insert, JSON),
        client.request("GET", f"{target}/cells/alpha"),
        client.request("PATCH", f"{target}/cells/alpha", change, JSON),
        client.request("DELETE", f"{target}/cells/alpha"),
    ]


def create_at(client: Client, path: str) -> Answer:
    return client.send_json("PUT", f"notebooks/{path}")


def search_path(client: Client, path: str) -> Answer:
    body = {"query": "nobody", "path": path}
    return client.send_json("POST", "search", body)


@pytest.mark.threat("S2")
def test_a_link_out_of_the_root_is_reported_as_missing(strict_client: Client) -> None:
    # One test, so that only one worker of the tests needs the server.
    for way in LINK_CASES.values():
        assert_not_there(strict_client, way)


def assert_not_there(strict_client: Client, way: LinkCase) -> None:
    with (
        make_link(strict_client, way) as path,
        no_changes(strict_client.root, strict_client.root.parent / "outside"),
    ):
        missing = read_path(strict_client, "missing.ipynb")
        assert [answer.status for answer in missing] == [404] * len(missing)
        assert [answer.body for answer in read_path(strict_client, path)] == [
            a.body for a in missing
        ]
        folder = path.rpartition("/")[0]
        if folder and not way.path.startswith("fd/"):
            error = create_at(strict_client, f"{folder}/new.ipynb")
            assert error.body == create_at(strict_client, "missing/new.ipynb").body
            assert error.status == 404
            assert (
                search_path(strict_client, folder).body
                == search_path(strict_client, "missing").body
            )
        assert search_path(strict_client, path).body == search_path(strict_client, "missing").body
        everything = search_path(strict_client, "")
        assert everything.status == 200
        assert MARK.encode() not in everything.body


@pytest.mark.parametrize("way", LINK_CASES.values(), ids=LINK_CASES)
@pytest.mark.threat("S2")
def test_by_default_a_link_is_followed_as_in_the_contents_api(live: Client, way: LinkCase) -> None:
    with make_link(live, way) as path:
        theirs = live.request("GET", f"api/contents/{path}?content=0")
        ours = live.read(path)
        assert (ours.status == 200) <= (theirs.status == 200)
        if not way.leads_somewhere:
            assert ours.status in {404, 409, 422}, ours.body
            return
        assert (theirs.status, ours.status) == (200, 200)
        assert ours.json["cells"][0]["source"] == MARK
        assert live.patch(path, EDIT).status == 200
        target = (live.root / path).resolve()
        assert live.root not in target.parents
        assert samples.load_cells(target.read_bytes())[0]["source"] == "changed"


@pytest.mark.parametrize("client", ["live", "strict_client"])
@pytest.mark.threat("S2")
def test_a_link_within_the_root_is_followed(request: pytest.FixtureRequest, client: str) -> None:
    here: Client = request.getfixturevalue(client)
    # A folder of its own: the links of other tests have the same names.
    folder = here.root / "links"
    (folder / "deep").mkdir(parents=True)
    real = folder / "deep" / "real.ipynb"
    real.write_bytes(GOOD)
    (folder / "near.ipynb").symlink_to("deep/real.ipynb")
    (folder / "door").symlink_to(folder / "deep")
    # Out and in again: what counts is where it ends.
    (folder / "around.ipynb").symlink_to(f"../../{here.root.name}/links/deep/real.ipynb")
    for number, name in enumerate(("near.ipynb", "door/real.ipynb", "around.ipynb")):
        answer = here.patch(f"links/{name}", {**EDIT, "source": f"x = {number}"})
        assert answer.status == 200, answer.body
        assert f"x = {number}".encode() in real.read_bytes()
    assert (folder / "near.ipynb").is_symlink()
    assert create_at(here, "links/door/new.ipynb").status == 201
    assert (folder / "deep" / "new.ipynb").is_file()


@dataclass
class SwappedFolder:
    """A root in which a folder and a file change places with links to outside files."""

    client: Client
    outside: Path = field(init=False)
    answers: Counter[int] = field(default_factory=Counter)
    mended: int = 0
    edits: int = 0

    def __post_init__(self) -> None:
        root = self.client.root
        self.outside = root.parent / "canaries"
        self.outside.mkdir()
        (root / "work").mkdir()
        for folder in (self.outside, root / "work"):
            (folder / "a.ipynb").write_bytes(SECRET if folder == self.outside else GOOD)
        (root / "other").symlink_to(self.outside)
        (root / "file.ipynb").write_bytes(GOOD)
        (root / "twin.ipynb").symlink_to(self.outside / "a.ipynb")

    @property
    def pairs(self) -> list[str]:
        root = self.client.root
        return [str(root / name) for name in ("work", "other", "file.ipynb", "twin.ipynb")]

    def texts(self, number: int) -> Iterator[bytes]:
        """Read one of the two notebooks that are in the root, by whatever names."""
        root = self.client.root
        for name in (("work", "other"), ("file.ipynb", "twin.ipynb"))[number]:
            with contextlib.suppress(OSError):
                if number == 1:
                    yield _read(os.open(root / name, os.O_NOFOLLOW))
                    continue
                folder = os.open(root / name, os.O_NOFOLLOW | os.O_DIRECTORY)
                try:
                    yield _read(os.open("a.ipynb", os.O_NOFOLLOW, dir_fd=folder))
                finally:
                    os.close(folder)

    def has_source(self, number: int, source: str) -> bool:
        """Return whether a notebook has an edit; its name may change meanwhile."""
        found = (source.encode() in text for _ in range(LOOKS) for text in self.texts(number))
        return any(found)

    def repair(self) -> str:
        """Put the link back that an edit has replaced, just when it was exchanged for the file.

        A rename replaces whatever has the name by then; the link itself, never what it leads to.
        Returns the hash of the file.
        """
        names = [self.client.root / name for name in ("file.ipynb", "twin.ipynb")]
        kinds = {(status.st_ino, stat.S_ISLNK(status.st_mode)) for status in map(os.lstat, names)}
        if len(kinds) == 2 and not any(link for _, link in kinds):
            link = self.client.root / "link"
            link.symlink_to(self.outside / "a.ipynb")
            link.replace(names[1])
            self.mended += 1
        text = next(text for _ in range(LOOKS) for text in self.texts(1))
        return hashlib.sha256(text).hexdigest()

    def count(self, answer: Answer) -> Answer:
        self.answers[answer.status] += 1
        assert answer.status < 500 or answer.status == 503, answer.body
        if answer.status >= 400:
            assert_no_local_names(answer.body, answer.root)
        return answer


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


@contextlib.contextmanager
def run_swapper(place: SwappedFolder) -> Iterator[None]:
    """Exchange names while the block runs."""
    command = [sys.executable, str(Path(__file__).with_name("path_swapper.py")), *place.pairs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        try:
            yield
        finally:
            process.terminate()
        flips = int(process.stdout.read())
    print(f"S3: {flips} flips, {place.edits} edits, {place.mended} mended, {place.answers}")
    assert flips > place.edits


def count_turns(place: SwappedFolder) -> Iterator[int]:
    """Count until enough edits got through."""
    for turn in range(TURNS):
        yield turn
        if place.edits >= EDITS:
            return
    raise AssertionError(place)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two names at once")
@pytest.mark.threat("S3")
def test_a_link_exchanged_during_an_edit_does_not_redirect_it(strict_client: Client) -> None:
    place = SwappedFolder(strict_client)
    with no_changes(place.outside), run_swapper(place):
        for _ in count_turns(place):
            for number, names in enumerate((("work/a", "other/a"), ("file", "twin"))):
                source = f"turn = {place.edits}"
                for name in names:
                    answer = place.count(
                        strict_client.patch(f"{name}.ipynb", {**EDIT, "source": source})
                    )
                    if answer.status == 200:
                        place.edits += 1
                        assert place.has_source(number, source)
                        break
                read = place.count(strict_client.read(f"{names[0]}.ipynb"))
                assert MARK.encode() not in read.body
            place.repair()
            found = place.count(search_path(strict_client, "work"))
            assert MARK.encode() not in found.body
            place.count(create_at(strict_client, f"work/new{place.edits}.ipynb"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two names at once")
@pytest.mark.threat("S3")
def test_content_read_inside_is_never_written_outside(live: Client) -> None:
    # Links may lead out here, but an edit of one version belongs to the file that has it.
    place = SwappedFolder(live)
    hashes: list[str] = [live.read(name).json["hash"] for name in ("work/a.ipynb", "file.ipynb")]
    with no_changes(place.outside), run_swapper(place):
        for _ in count_turns(place):
            for number, name in enumerate(("work/a.ipynb", "file.ipynb")):
                source = f"turn = {place.edits}"
                operation = {**EDIT, "source": source}
                answer = place.count(live.patch(name, operation, hash=hashes[number]))
                if answer.status == 200:
                    place.edits += 1
                    hashes[number] = answer.json["hash"]
                    assert place.has_source(number, source)
            hashes[1] = place.repair()
