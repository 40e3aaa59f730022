"""Run commands in this process, as their user would beside a running server."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from jupyter_nbedit.cli import main
from tests.support import samples
from tests.support.http import Client


@dataclass(frozen=True)
class Result:
    """What a command has printed, and its exit code."""

    exit_code: int
    out: str
    err: str


class Shell:
    """A shell in the root of a server; no output may have the token of the server."""

    def __init__(
        self,
        token: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self._token = token
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def run(self, *arguments: str, stdin: bytes | str = b"") -> Result:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        self._capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as error:  # of argparse
            code = int(error.code or 0)
        printed = self._capsys.readouterr()
        if self._token:
            assert self._token not in printed.out + printed.err
        return Result(code, printed.out, printed.err)

    def succeed(self, *arguments: str, stdin: bytes | str = b"") -> str:
        """Run a command that succeeds, and return what it prints."""
        result = self.run(*arguments, stdin=stdin)
        assert (result.exit_code, result.err) == (0, ""), result
        return result.out


def clear_variables(monkeypatch: pytest.MonkeyPatch, runtime: Path) -> None:
    for name in os.environ:
        if name.startswith(("JUPYTER", "NBEDIT")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))


@pytest.fixture
def shell(
    live: Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Return a shell in the root of the server, where a.ipynb is."""
    clear_variables(monkeypatch, live.root.parent / "runtime")
    monkeypatch.chdir(live.root)
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    for name in ("b.ipynb", "new.ipynb"):
        (live.root / name).unlink(missing_ok=True)
    live.reset_modes("a.ipynb")
    return Shell(live.token, capsys, monkeypatch)


@pytest.fixture
def alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Return a shell in a folder that no server serves, with a.ipynb."""
    clear_variables(monkeypatch, tmp_path / "runtime")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    root = tmp_path / "notebooks"
    root.mkdir()
    (root / "a.ipynb").write_bytes(samples.three_cells())
    monkeypatch.chdir(root)
    return Shell("", capsys, monkeypatch)
