"""An older release and the current one use one database at the same time."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.paths import ROOT
from tests.support.sampling import is_nightly
from tests.support.servers import run_server
from tests.support.waiting import wait_until

#: The last commit whose database names notebooks by the root of a server.
OLDER = "81927d7"

pytestmark = pytest.mark.skipif(not is_nightly(), reason="it installs the older release: nightly")


@pytest.fixture(scope="module")
def older_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Install the older release into an environment of its own."""
    folder = tmp_path_factory.mktemp("older")
    archive = subprocess.run(["git", "archive", OLDER], cwd=ROOT, capture_output=True, check=False)  # noqa: S607 -- as in PATH
    if archive.returncode != 0:
        pytest.skip(f"this checkout has no commit {OLDER}")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder / "source", filter="data")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", folder / "source"],
        env={**os.environ, "NBEDIT_SKIP_LAB": "1"},
        check=True,
    )
    return python


@dataclass(frozen=True)
class Places:
    """The folders of two servers with one database: the root of one lies in that of the other."""

    top: Path
    #: The root of the inner server.
    project: Path
    environment: dict[str, str]

    def run(self, place: str, **more: Any) -> Any:
        return run_server(self.top / place, environment=self.environment, **more)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    top = tmp_path.resolve()
    project = top / "outer" / "notebooks" / "project"
    project.mkdir(parents=True)
    for name in ("inner", "elsewhere", "data"):
        (top / name).mkdir()
    (top / "inner" / "notebooks").symlink_to(project)
    for name in ("a", "b", "c", "offline"):
        (project / f"{name}.ipynb").write_bytes(samples.three_cells())
    (top / "elsewhere" / "x.ipynb").write_bytes(samples.three_cells())
    (project / "link.ipynb").symlink_to(top / "elsewhere" / "x.ipynb")
    runtime = {"JUPYTER_RUNTIME_DIR": str(top / "runtime")}
    before = Path.cwd()
    # Else the servers of the older release would import the package of this checkout.
    os.chdir(top)
    yield Places(top, project, {"JUPYTER_DATA_DIR": str(top / "data"), **runtime})
    os.chdir(before)


def change(client: Client, path: str, source: str) -> int:
    return Notebook(client, path).edit(replace("beta", source))


def has_mode(client: Client, path: str, mode: str) -> bool:
    return bool(client.get_json(f"mode?path={path}")["mode"] == mode)


def list_edits(client: Client, path: str) -> list[int]:
    return [edit["edit_id"] for edit in Notebook(client, path).list_history()]


def test_histories_and_modes_of_the_older_release_come_together(
    places: Places, older_python: str
) -> None:
    with (
        places.run("outer", python=older_python) as outer,
        places.run("inner", python=older_python) as inner,
    ):
        first = change(outer, "project/a.ipynb", "# 1")
        second = change(inner, "a.ipynb", "# 2")
        linked = [change(outer, "project/link.ipynb", "# 1"), change(inner, "link.ipynb", "# 2")]
        assert Notebook(outer, "project/a.ipynb").keep().status == 200
        outer.set_mode("review", "project/b.ipynb")
        inner.set_mode("plan", "b.ipynb")
    code = "import sys; from jupyter_nbedit.cli import main; sys.exit(main())"
    command = [older_python, "-c", code, "edit", "offline.ipynb", "--cell", "beta"]
    environment = {**os.environ, **places.environment}
    subprocess.run([*command, "--source", "# 1"], cwd=places.project, env=environment, check=True)
    with places.run("inner") as client:
        assert list_edits(client, "a.ipynb") == [second, first]
        wait_until(lambda: list_edits(client, "link.ipynb") == linked[::-1], "the resolved link")
        assert len(list_edits(client, "offline.ipynb")) == 1
        (cell,) = Notebook(client, "a.ipynb").list_unseen()
        assert cell["edit_ids"] == [second]
        assert client.request("GET", "nbedit/mode?path=b.ipynb").json["mode"] == "plan"
        for number in (second, first):
            undone = Notebook(client, "a.ipynb").undo(edit_id=number)
            assert undone.status == 200
    assert (places.project / "a.ipynb").read_bytes() == samples.three_cells()


def test_the_older_release_never_edits_a_paused_notebook(places: Places, older_python: str) -> None:
    paths = ("project/b.ipynb", "project/link.ipynb", "project/c.ipynb")
    before = {path: (places.project.parent / path).read_bytes() for path in paths}
    with places.run("outer", python=older_python) as older:
        # Its root is known by now.
        change(older, "project/a.ipynb", "# 1")
        with places.run("inner") as client:
            for path in paths:
                mode = {"path": path.removeprefix("project/"), "mode": "plan"}
                assert client.send_json("PUT", "mode", mode).status == 200
            operation = {"op": "replace", "cell": "beta", "source": "# Escaped"}
            for path in paths:
                wait_until(partial(has_mode, older, path, "plan"), "the mode at the older server")
                get_error(older.patch(path, operation), 403, "plan_mode")
    with places.run("outer", python=older_python, name="again") as older:
        for path in paths:
            get_error(older.patch(path, operation), 403, "plan_mode")
    assert {path: (places.project.parent / path).read_bytes() for path in paths} == before
