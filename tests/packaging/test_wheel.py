"""Contents of the sdist and the wheel and, at night, installs of the wheel."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path, PurePosixPath

import pytest

from jupyter_nbedit.cli.demo.play import SAMPLES
from tests.support.paths import LAB, ROOT
from tests.support.sampling import is_nightly
from tests.support.servers import run_server

PACKAGE_JSON = LAB / "package.json"
REPOSITORY = "https://example.invalid/jupyter_nbedit"
LIMIT = 900  # seconds; only ends what hangs
pytestmark = pytest.mark.timeout(2 * LIMIT)
installs = pytest.mark.skipif(not is_nightly(), reason="needs another environment")
builds = pytest.mark.skipif(not is_nightly(), reason="takes two builds of the JavaScript")


def run(
    *command: str | Path, status: int = 0, env: dict[str, str] | None = None, cwd: Path = ROOT
) -> str:
    """Run a program that must end with a status; return its output."""
    process = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert process.returncode == status, process.stdout
    return process.stdout


def make_environment(folder: Path, *requirements: str | Path) -> Path:
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", *requirements)
    return folder / "bin"


@pytest.fixture(scope="module")
def build_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder that all processes of this test run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "built"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock the build: npm runs in the same folder of sources."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def sdist(build_folder: Path) -> Path:
    with lock(build_folder):
        if not list(build_folder.glob("*.tar.gz")):
            run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", build_folder)
    (built,) = build_folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(build_folder: Path, sdist: Path) -> Path:
    """Return the wheel of the sdist, built where there is no node and no npm."""
    with lock(build_folder):
        if not list(build_folder.glob("*.whl")):
            build_wheel(sdist, build_folder)
    (built,) = build_folder.glob("*.whl")
    return built


def build_wheel(sdist: Path, folder: Path) -> None:
    (hidden := folder / "bin").mkdir()
    for program in (*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()):
        link = hidden / program.name
        if program.name not in {"node", "nodejs", "npm", "npx"} and not link.is_symlink():
            link.symlink_to(program)
    assert shutil.which("node", path=str(hidden)) is None
    pip = (sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps")
    run(*pip, sdist, "--wheel-dir", folder, env={"PATH": str(hidden)})


@pytest.fixture(scope="module")
def members(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """Return the metadata of the wheel, as a package index gets them."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def plain_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("bare") / "venv", wheel)


@pytest.fixture
def own_home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_the_sdist_has_the_lab_sources_and_no_npm_files(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        paths = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()}

    assert PurePosixPath("jupyter_nbedit/lab/src/index.ts") in paths
    assert PurePosixPath("jupyter_nbedit/labextension/package.json") in paths
    assert [path for path in paths if "node_modules" in path.parts] == []


def test_the_wheel_has_no_lab_sources_and_no_npm_files(members: list[str]) -> None:
    inside = [PurePosixPath(name) for name in members]

    assert [path for path in inside if path.is_relative_to("jupyter_nbedit/lab")] == []
    # But for the types that other extensions are compiled with.
    types = {path.name for path in inside if path.suffix in {".ts", ".tsx", ".map"}}
    assert types == {"api.d.ts", "models.d.ts", "openapi.d.ts"}
    assert [path for path in inside if "node_modules" in path.parts] == []
    assert [path for path in inside if path.name == "build_log.json"] == []


def test_the_wheel_has_the_labextension_once_in_the_folder_of_jupyterlab(
    members: list[str],
) -> None:
    entries = [PurePosixPath(name) for name in members if "remoteEntry." in name]

    assert len(entries) == 1
    assert entries[0].parts[1:-1] == (
        *("data", "share", "jupyter", "labextensions", "jupyter-nbedit"),
        "static",
    )
    assert entries[0].parent.parent / "install.json" in map(PurePosixPath, members)


def test_the_wheel_has_all_files_that_are_not_python(wheel: Path, members: list[str]) -> None:
    data = f"{wheel.name.removesuffix('-py3-none-any.whl')}.data/data"
    schema = f"{data}/share/jupyter/labextensions/jupyter-nbedit/schemas/jupyter-nbedit/plugin.json"
    config = f"{data}/etc/jupyter/jupyter_server_config.d/jupyter_nbedit.json"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(schema) == (PACKAGE_JSON.parent / "schema/plugin.json").read_bytes()
        enabled = {"ServerApp": {"jpserver_extensions": {"jupyter_nbedit": True}}}
        assert json.loads(archive.read(config)) == enabled
    assert {
        "py.typed",
        "services/events/edit.yaml",
        "cli/demo/demo.ipynb",
        "cli/demo/notebooks/rainfall.ipynb",
        "agents/skill/jupyter-notebooks/SKILL.md",
        "agents/skill/jupyter-notebooks/references/operations.md",
    } <= {name.removeprefix("jupyter_nbedit/") for name in members}


def test_the_version_is_that_of_package_json(wheel: Path) -> None:
    version = json.loads(PACKAGE_JSON.read_text())["version"]

    assert wheel.name == f"jupyter_nbedit-{version}-py3-none-any.whl"


def test_the_sdist_has_the_security_policy_and_what_it_links_to(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"SECURITY.md", "docs/threats.md"} <= names


def test_the_readme_of_the_wheel_has_absolute_links_to_files_of_the_repository(
    metadata: Message,
) -> None:
    text = metadata.get_payload()
    assert isinstance(text, str)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]*)\)", text)
    pictures = [link for sign, link in links if sign]

    assert len(links) == len(re.findall(r"\]\(", text)) > len(pictures) > 0
    for sign, link in links:
        start = f"{REPOSITORY}/{'raw' if sign else 'blob'}/main/"
        assert link.startswith(start)
        assert (ROOT / link.removeprefix(start).partition("#")[0]).is_file(), link


def test_the_wheel_and_the_labextension_name_authors_and_the_same_repository(
    metadata: Message,
) -> None:
    package = json.loads(PACKAGE_JSON.read_text())
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))

    assert urls.keys() == {"Homepage", "Documentation", "Repository", "Changelog"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    assert package["homepage"] == urls["Homepage"]
    assert package["repository"]["url"] == f"{REPOSITORY}.git"
    assert metadata["Author"] == package["author"]["name"]


@builds
def test_the_javascript_is_the_same_in_two_build_folders(tmp_path: Path) -> None:
    built = []
    for parent in (tmp_path / "a", tmp_path / "another" / "folder"):
        lab = shutil.copytree(LAB, parent / "lab", symlinks=True)
        run("npm", "run", "build:prod", cwd=lab)
        output = parent / "labextension"
        files = (path for path in output.rglob("*") if path.is_file())
        built.append({path.relative_to(output).as_posix(): path.read_bytes() for path in files})

    assert any(name.startswith("static/remoteEntry.") for name in built[0])
    assert built[0].keys() == built[1].keys()
    assert [name for name, data in built[0].items() if data != built[1][name]] == []


@installs
def test_installing_next_to_jupyterlab_enables_both_extensions(
    wheel: Path, own_home: dict[str, str], tmp_path: Path
) -> None:
    bin_ = make_environment(tmp_path / "venv", "jupyterlab~=4.6", wheel)

    server = run(bin_ / "jupyter", "server", "extension", "list", env=own_home)
    lab = run(bin_ / "jupyter", "labextension", "list", env=own_home)

    version = json.loads(PACKAGE_JSON.read_text())["version"]
    server_lines = [line.split() for line in remove_colours(server).splitlines()]
    assert ["jupyter_nbedit", "enabled"] in server_lines
    assert ["jupyter_nbedit", version, "OK"] in server_lines
    (lab_line,) = (line for line in remove_colours(lab).splitlines() if "jupyter-nbedit" in line)
    assert lab_line.split()[:4] == ["jupyter-nbedit", f"v{version}", "enabled", "OK"]


@installs
def test_the_server_extension_works_without_jupyterlab(
    plain_environment: Path, own_home: dict[str, str]
) -> None:
    installed = run(plain_environment / "pip", "list", "--format=freeze", env=own_home)
    demo = run(*(plain_environment / "jupyter", "nbedit", "demo", "--once"), env=own_home)

    assert "jupyter_server==" in installed
    assert "jupyterlab==" not in installed
    assert "as promised" in demo


@installs
def test_the_demo_without_jupyterlab_names_what_to_install(
    plain_environment: Path, own_home: dict[str, str]
) -> None:
    error = run(
        plain_environment / "jupyter", "nbedit", "demo", "--no-browser", status=1, env=own_home
    )

    assert "-m pip install 'jupyter_nbedit[lab]'" in error
    assert "`--once`" in error


@installs
def test_the_demo_with_a_disabled_extension_names_what_to_check(
    plain_environment: Path, own_home: dict[str, str]
) -> None:
    extension = (plain_environment / "jupyter", "server", "extension")
    run(*extension, "disable", "jupyter_nbedit", "--sys-prefix", env=own_home)

    demo = (plain_environment / "jupyter", "nbedit", "demo", "--once")
    error = run(*demo, status=1, env=own_home)

    run(*extension, "enable", "jupyter_nbedit", "--sys-prefix", env=own_home)
    assert "the extension is not on" in error
    assert "jupyter server extension list" in error


@installs
@pytest.mark.parametrize("is_for_user", [False, True], ids=["environment", "user"])
def test_the_documented_check_of_the_installation_shows_the_server(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_for_user: bool
) -> None:
    if is_for_user:
        python = Path(sys.base_prefix) / "bin" / "python3"
        monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
        monkeypatch.setenv("PIP_BREAK_SYSTEM_PACKAGES", "1")
        run(python, "-m", "pip", "install", "--user", wheel)
        bin_ = tmp_path / "user" / "bin"
    else:
        bin_ = make_environment(tmp_path / "venv", wheel)
        python = bin_ / "python"
    folder = tmp_path / "server"
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))

    with run_server(folder, python=str(python)):
        status = run(bin_ / "jupyter-nbedit", "status", folder / "notebooks")
    listed = run(bin_ / "jupyter-server", "extension", "list")

    assert f"| jupyter_nbedit {json.loads(PACKAGE_JSON.read_text())['version']} |" in status
    # docs/operate.md says so; if this fails, Jupyter has changed, and the page must, too.
    assert ("jupyter_nbedit" in listed) == (not is_for_user)


@installs
def test_uninstalling_leaves_only_the_data_that_the_documentation_names(
    wheel: Path, own_home: dict[str, str], tmp_path: Path
) -> None:
    bin_ = make_environment(tmp_path / "venv", wheel)
    notebook = shutil.copy(SAMPLES / "rainfall.ipynb", tmp_path)
    program = {**own_home, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    edit = ("--old", "wet = 100", "--new", "wet = 200")
    run(bin_ / "jupyter", "nbedit", "edit", notebook, *edit, env=program)
    data, runtime = (
        Path(run(bin_ / "jupyter", option, env=program).strip(), "nbedit")
        for option in ("--data-dir", "--runtime-dir")
    )

    run(bin_ / "pip", "uninstall", "--yes", "jupyter_nbedit", env=program)

    left = [path for path in tmp_path.rglob("*") if "nbedit" in str(path.relative_to(tmp_path))]
    assert data / "history.sqlite3" in left
    assert runtime / "locks" in left
    assert [path for path in left if not {data, runtime} & {path, *path.parents}] == []
    text = (ROOT / "docs" / "operate.md").read_text()
    (command,) = re.findall(r"```sh\n(rm .*)\n```", text)
    run("sh", "-c", command, env=program)
    assert not data.exists()
    assert not runtime.exists()


def remove_colours(terminal: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", terminal)
