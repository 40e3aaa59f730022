"""What the tests need besides Python, found or installed: Node, a browser, environments."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests import children, installer

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "jupyter_nbedit" / "lab"
UI_TESTS = ROOT / "ui-tests"
SETUPS = ROOT / "tests" / "setups"
CACHE = ROOT / ".cache"

INSTALL_LIMIT = 600.0  # seconds


class MissingToolError(Exception):
    """Something the tests need is not here and could not be installed."""


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Run an installation step; what it printed is told only if it fails."""
    done = children.run(
        [str(part) for part in command],
        cwd=cwd,
        limit=INSTALL_LIMIT,
        env={**os.environ, **(env or {})},
        captured=True,
    )
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        message = f"{done.stdout}\n`{shown}` failed with exit code {done.returncode}."
        raise MissingToolError(message)


def virtual_environment(name: str) -> Path:
    """Return ``.cache/<name>``, made now if it is not there."""
    folder = CACHE / name
    if not (folder / "bin" / "pip").exists():
        run(sys.executable, "-m", "venv", "--clear", folder)
    return folder


@cache
def node() -> None:
    """See to it that PATH has npm and a Node recent enough for the build."""
    hook = module(LAB / "build_hook.py")
    os.environ.setdefault("NODE_USE_SYSTEM_CA", "1")  # as the hook does
    if not hook.node_is_recent():
        folder = virtual_environment("node")
        if not (folder / "bin" / "npm").exists():
            install(folder, hook.NODE_WHEEL)
        os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


@cache
def node_modules(project: Path) -> None:
    """Run ``npm ci`` in a project unless what its lock names is there already."""
    node()
    lock = hashlib.sha256((project / "package-lock.json").read_bytes()).hexdigest()
    # The build hook keeps the same note.
    installed = project / "node_modules" / ".lock.sha256"
    if not installed.exists() or installed.read_text() != lock:
        run("npm", "ci", cwd=project)
        installed.write_text(lock)


@cache
def wheel() -> Path:
    """Build the wheel, once for all stages."""
    folder = CACHE / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--wheel-dir", folder)
    (built,) = folder.glob("*.whl")
    return built


@cache
def jupyterlab(requirement: str) -> Path:
    """Return an environment with that JupyterLab and our wheel in it."""
    return _installed(f"jupyterlab-{requirement.lstrip('=~')}", f"jupyterlab{requirement}", wheel())


@cache
def setup(name: str) -> Path:
    """Return an environment of ``tests/setups/<name>.txt``, with our wheel and pytest in it."""
    return _installed(name, "-r", SETUPS / f"{name}.txt", f"{wheel()}[test]")


@cache
def jupyter_server(*, with_extension: bool) -> Path:
    """Return an environment with what Jupyter Server's own tests need, and our wheel or not."""
    requirements = ("jupyter_server[test]", "pytest-xdist")
    if with_extension:
        return _installed("host-with", *requirements, wheel())
    folder = virtual_environment("host-without")
    install(folder, "--upgrade", *requirements)
    return folder


def jupyter_server_source(environment: Path) -> Path:
    """Return the source of the Jupyter Server that is in an environment, with its tests."""
    script = "from importlib.metadata import version; print(version('jupyter_server'))"
    python = str(environment / "bin" / "python")
    done = children.run([python, "-c", script], cwd=ROOT, limit=INSTALL_LIMIT, captured=True)
    folder = CACHE / f"jupyter_server-{done.stdout.strip()}"
    if not folder.exists():
        requirement = folder.name.replace("-", "==")
        options = ("--no-deps", "--no-binary", "jupyter_server", "--dest", CACHE / "sdist")
        run(python, "-m", "pip", "download", *options, requirement)
        archive = CACHE / "sdist" / f"{folder.name}.tar.gz"
        # In two steps, so that what was interrupted is not taken for whole.
        run(python, "-m", "tarfile", "--extract", archive, CACHE / "sdist")
        (CACHE / "sdist" / folder.name).rename(folder)
    return folder


def _installed(name: str, *requirements: str | Path) -> Path:
    folder = virtual_environment(name)
    install(folder, "--upgrade", *requirements)
    # The version stays the same while the code changes, so the former wheel would be kept.
    install(folder, "--force-reinstall", "--no-deps", wheel())
    return folder


def install(folder: Path, *arguments: str | Path) -> None:
    """Run ``pip install`` for a virtual environment, or the same by uv, which takes a tenth."""
    python = folder / "bin" / "python"
    if shutil.which("uv") is not None:
        # pip knows of keyrings and more that uv is not told of.
        with contextlib.suppress(MissingToolError):
            env = {**installer.told(), "UV_CACHE_DIR": str(CACHE / "uv")}
            run("uv", "pip", "install", "--python", python, *arguments, env=env)
            return
    # Python compiles what is imported; that is a small part of it.
    run(python, "-m", "pip", "install", "--no-compile", *arguments)


@cache
def browser() -> None:
    """Install Chromium where there is none and that takes no more than apt-get.

    Everywhere else the browser tests find one, or say themselves what to do.
    """
    chromium = module(UI_TESTS / "chromium.py")
    try:
        chromium.find()
    except chromium.NoChromiumError:
        # Ubuntu's chromium is a snap, which the tests cannot use.
        if system_id() == "debian" and os.geteuid() == 0:
            apt_get = ("apt-get", "-o", "DPkg::Lock::Timeout=300")
            run(*apt_get, "update")
            run(*apt_get, "install", "-y", "--no-install-recommends", "chromium")


def system_id() -> str | None:
    """Return the ``ID`` of os-release, or None where there is no such file."""
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return None


def module(file: Path) -> Any:
    """Load a module that is in no package."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module.")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
