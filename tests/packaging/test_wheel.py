from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_JSON = ROOT / "jupyter_nbedit" / "lab" / "package.json"
LIMIT = 300  # seconds


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = finished(*command, env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout
    return done.stdout


def fail(*command: str | Path, env: dict[str, str]) -> str:
    done = finished(*command, env=env)
    assert done.returncode == 1, done.stdout
    return done.stdout


def finished(
    *command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
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


def environment(folder: Path, *requirements: str | Path) -> Path:
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", *requirements)
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `python tests` has built for all stages, or one of our own."""
    if given := os.environ.get("NBEDIT_WHEEL"):
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--wheel-dir", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def members(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture
def without_node(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has what a system's has, but no node and no npm."""
    hidden = tmp_path / "bin"
    hidden.mkdir()
    for folder in map(Path, ("/usr/bin", "/bin")):
        for program in folder.iterdir():
            if program.name not in {"node", "nodejs", "npm", "npx"}:
                link = hidden / program.name
                if not link.is_symlink():
                    link.symlink_to(program)
    return {"PATH": str(hidden)}


@pytest.fixture(scope="module")
def without_jupyterlab(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("bare") / "venv", wheel)


@pytest.fixture
def own_home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_the_wheel_has_no_sources_of_the_labextension_and_nothing_of_npm(
    members: list[str],
) -> None:
    inside = [PurePosixPath(name) for name in members]

    assert [path for path in inside if path.is_relative_to("jupyter_nbedit/lab")] == []
    # But for the types that other extensions are compiled with.
    types = {path.name for path in inside if path.suffix in {".ts", ".tsx", ".map"}}
    assert types == {"answers.d.ts", "api.d.ts"}
    assert [path for path in inside if "node_modules" in path.parts] == []
    assert [path for path in inside if path.name == "build_log.json"] == []


def test_the_wheel_carries_the_labextension_once_where_jupyterlab_looks(
    members: list[str],
) -> None:
    entries = [PurePosixPath(name) for name in members if "remoteEntry." in name]

    assert len(entries) == 1
    assert entries[0].parts[1:-1] == (
        *("data", "share", "jupyter", "labextensions", "jupyter-nbedit"),
        "static",
    )
    assert entries[0].parent.parent / "install.json" in map(PurePosixPath, members)


def test_the_wheel_carries_the_settings_where_jupyterlab_looks(
    wheel: Path, members: list[str]
) -> None:
    (schema,) = (name for name in members if name.endswith("/schemas/jupyter-nbedit/plugin.json"))

    assert PurePosixPath(schema).parts[1:6] == (
        *("data", "share", "jupyter", "labextensions", "jupyter-nbedit"),
    )
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(schema) == (PACKAGE_JSON.parent / "schema/plugin.json").read_bytes()


def test_the_wheel_enables_the_server_extension(wheel: Path, members: list[str]) -> None:
    (config,) = (
        name for name in members if name.endswith("jupyter_server_config.d/jupyter_nbedit.json")
    )

    with zipfile.ZipFile(wheel) as archive:
        enabled = json.loads(archive.read(config))

    assert enabled == {"ServerApp": {"jpserver_extensions": {"jupyter_nbedit": True}}}


@pytest.mark.parametrize(
    "name",
    [
        "jupyter_nbedit/py.typed",
        "jupyter_nbedit/events/edit.yaml",
        "jupyter_nbedit/demo/notebooks/rainfall.ipynb",
    ],
)
def test_the_wheel_has_the_files_that_are_not_python(members: list[str], name: str) -> None:
    assert name in members


def test_the_version_is_that_of_package_json(wheel: Path) -> None:
    version = json.loads(PACKAGE_JSON.read_text())["version"]

    assert wheel.name == f"jupyter_nbedit-{version}-py3-none-any.whl"


def test_a_wheel_from_the_sdist_needs_no_node(
    sdist: Path, members: list[str], without_node: dict[str, str], tmp_path: Path
) -> None:
    pip = (sys.executable, "-m", "pip")
    assert shutil.which("node", path=without_node["PATH"]) is None

    run(*pip, "wheel", sdist, "--no-deps", "--wheel-dir", tmp_path, env=without_node)

    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        assert sorted(archive.namelist()) == sorted(members)


@pytest.fixture
def beside_jupyterlab(wheel: Path, tmp_path: Path) -> Path:
    """Where JupyterLab and the wheel were installed, by `python tests` or by us, and no more."""
    if given := os.environ.get("NBEDIT_BESIDE_LAB"):
        return Path(given, "bin")
    return environment(tmp_path / "venv", "jupyterlab~=4.6", wheel)


def test_beside_jupyterlab_both_extensions_are_on_after_the_install_alone(
    beside_jupyterlab: Path, own_home: dict[str, str]
) -> None:
    bin_ = beside_jupyterlab

    server = run(bin_ / "jupyter", "server", "extension", "list", env=own_home)
    lab = run(bin_ / "jupyter", "labextension", "list", env=own_home)

    version = json.loads(PACKAGE_JSON.read_text())["version"]
    server_lines = [line.split() for line in plain(server).splitlines()]
    assert ["jupyter_nbedit", "enabled"] in server_lines
    assert ["jupyter_nbedit", version, "OK"] in server_lines
    (lab_line,) = (line for line in plain(lab).splitlines() if "jupyter-nbedit" in line)
    assert lab_line.split()[:4] == ["jupyter-nbedit", f"v{version}", "enabled", "OK"]


def test_the_server_side_needs_no_jupyterlab(
    without_jupyterlab: Path, own_home: dict[str, str]
) -> None:
    installed = run(without_jupyterlab / "pip", "list", "--format=freeze", env=own_home)
    demo = run(
        *(without_jupyterlab / "jupyter", "nbedit", "demo", "--no-browser", "--once"), env=own_home
    )

    assert "jupyter_server==" in installed
    assert "jupyterlab==" not in installed
    assert "as promised" in demo


def test_the_demo_says_what_to_install_where_there_is_no_jupyterlab(
    without_jupyterlab: Path, own_home: dict[str, str]
) -> None:
    refusal = fail(without_jupyterlab / "jupyter", "nbedit", "demo", env=own_home)

    assert "-m pip install 'jupyter_nbedit[lab]'" in refusal
    assert "--no-browser --once" in refusal


def test_the_demo_says_where_to_look_when_the_extension_is_off(
    without_jupyterlab: Path, own_home: dict[str, str]
) -> None:
    extension = (without_jupyterlab / "jupyter", "server", "extension")
    run(*extension, "disable", "jupyter_nbedit", "--sys-prefix", env=own_home)

    refusal = fail(
        *(without_jupyterlab / "jupyter", "nbedit", "demo", "--no-browser", "--once"), env=own_home
    )

    run(*extension, "enable", "jupyter_nbedit", "--sys-prefix", env=own_home)
    assert "the extension is not on" in refusal
    assert "jupyter server extension list" in refusal


def plain(terminal: str) -> str:
    """Take away colours and the marks that stand for them."""
    for mark in ("\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m", "\x1b[1m"):
        terminal = terminal.replace(mark, "")
    return terminal
