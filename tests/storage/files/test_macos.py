"""Storing on macOS, whose calls are emulated by those of Linux."""

import ctypes
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import NotAPlainFile, NotebookExists, StorageFailure
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.files.rename_exchange import list_guards
from tests.storage.conftest import EDITED, NAME, TEXT, CallHook, Root, assert_unchanged, list_names

FULL_SYNC = 51
SWAP, EXCLUSIVE = 2, 4
ACCESS_LIST_AND_ATTRIBUTES = 1 | 4
_CALLS = ("fcopyfile", "renameatx_np")
_MISSING = ("copy_file_range", "getxattr", "listxattr", "O_PATH", "removexattr", "setxattr")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="macOS is emulated on Linux")


@dataclass
class MacOS:
    """The emulated system: the error codes of its calls, 0 if they work, and what was called."""

    errors: dict[str, int] = field(default_factory=dict)
    #: The kinds of files that were written to the disk itself, and only to its cache.
    synced: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    #: The calls of the C library that Linux does not have.
    calls: dict[str, Callable[..., int]] = field(default_factory=dict)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the calls of this process."""
        for name in _MISSING:
            monkeypatch.delattr(os, name, raising=False)
        find, control, sync = ctypes.CDLL.__getattr__, fcntl.fcntl, os.fsync
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
        self.calls = {
            # Their attributes are set; methods have none.
            "renameatx_np": partial(self._rename, exchange),
            "fcopyfile": partial(self._copy_attributes),
        }

        def find_call(library: ctypes.CDLL, name: str) -> Any:
            if name in _CALLS and name not in self.calls:
                raise AttributeError(name)
            return self.calls[name] if name in self.calls else find(library, name)

        def control_file(descriptor: int, command: int, *more: Any) -> Any:
            if command != FULL_SYNC:
                return control(descriptor, command, *more)
            if code := self.errors.get("F_FULLFSYNC"):
                raise OSError(code, os.strerror(code))
            self.synced.append(_get_kind(descriptor))
            return sync(descriptor)

        def sync_to_cache(descriptor: int) -> None:
            self.cached.append(_get_kind(descriptor))

        monkeypatch.setattr(ctypes.CDLL, "__getattr__", find_call)
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULL_SYNC, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", control_file)
        monkeypatch.setattr(os, "fsync", sync_to_cache)
        monkeypatch.setattr(sys, "platform", "darwin")

    def _rename(self, exchange: Callable[..., int], *arguments: Any) -> int:
        if self._fails("renameatx_np"):
            return -1
        *names, flags = arguments
        flags_of_linux = {SWAP: 2, EXCLUSIVE: 1}[flags]
        return exchange(*names, flags_of_linux)

    def _copy_attributes(self, source: int, target: int, state: None, flags: int) -> int:
        assert state is None
        assert stat.S_ISREG(os.fstat(source).st_mode)
        assert os.fstat(target).st_size >= len(EDITED)
        self.copied.append(flags)
        return -1 if self._fails("fcopyfile") else 0

    def _fails(self, name: str) -> bool:
        code = self.errors.get(name, 0)
        ctypes.set_errno(code)
        return code != 0


def _get_kind(descriptor: int) -> str:
    return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"


@pytest.fixture
def macos(place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch) -> MacOS:
    assert place.root == notebook.parent
    macos = MacOS()
    macos.install(monkeypatch)
    return macos


def test_the_file_and_its_name_are_on_the_disk_and_not_in_its_cache(
    place: Root, notebook: Path, macos: MacOS
) -> None:
    place.edit()
    place.create("new.ipynb")
    assert notebook.read_bytes() == EDITED
    assert (macos.synced, macos.cached) == (["file", "folder"] * 2, [])


def test_where_the_cache_of_the_disk_cannot_be_emptied_the_file_is_synced_as_elsewhere(
    place: Root, notebook: Path, macos: MacOS
) -> None:
    macos.errors["F_FULLFSYNC"] = errno.ENOTSUP
    assert place.edit().warnings == []
    assert notebook.read_bytes() == EDITED
    assert (macos.synced, macos.cached) == ([], ["file", "folder"])


def test_a_disk_that_fails_changes_nothing(place: Root, notebook: Path, macos: MacOS) -> None:
    macos.errors["F_FULLFSYNC"] = errno.EIO
    with pytest.raises(StorageFailure):
        place.edit()
    assert_unchanged(notebook)
    assert macos.cached == []


@pytest.mark.usefixtures("macos")
def test_two_files_are_exchanged_and_a_new_one_replaces_nothing(
    place: Root, notebook: Path
) -> None:
    result = place.edit()
    assert (result.guard, result.warnings) == ("exchange", [])
    assert notebook.read_bytes() == EDITED
    place.create("new.ipynb")
    with pytest.raises(NotebookExists):
        place.create("new.ipynb", b"other")
    assert (place.root / "new.ipynb").read_bytes() == TEXT
    assert list_names(place.root) == [NAME, "new.ipynb"]


@pytest.mark.usefixtures("macos")
def test_a_file_that_is_placed_after_the_last_check_is_restored(
    place: Root, notebook: Path, interpose: CallHook
) -> None:
    place.edit()

    def replace() -> None:
        other = notebook.with_name("theirs")
        other.write_bytes(b"theirs")
        other.replace(notebook)

    base = place.read()
    interpose("stat", lambda name: str(name).startswith(".~"), replace)
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() == b"theirs"
    assert list_names(place.root) == [NAME]


def test_a_file_system_without_exchange_is_edited(
    place: Root, notebook: Path, macos: MacOS
) -> None:
    macos.errors["renameatx_np"] = errno.ENOTSUP
    assert place.edit().guard == "compare"
    place.create("new.ipynb")
    assert notebook.read_bytes() == EDITED
    assert list_names(place.root) == [NAME, "new.ipynb"]


def test_the_guards_of_the_system_are_listed(
    place: Root, macos: MacOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list_guards() == ["exchange", "compare"]
    # As before macOS 10.12.
    macos.calls.clear()
    assert list_guards() == ["compare"]
    assert place.edit().guard == "compare"
    monkeypatch.undo()
    assert list_guards()[0] == "lease"


@pytest.mark.parametrize("code", [0, errno.ENOTSUP])
def test_the_access_list_and_the_tags_are_copied(
    place: Root, notebook: Path, macos: MacOS, code: int
) -> None:
    macos.errors["fcopyfile"] = code
    place.edit()
    assert macos.copied == [ACCESS_LIST_AND_ATTRIBUTES]
    assert notebook.read_bytes() == EDITED


def test_a_file_whose_tags_cannot_be_copied_is_not_changed(
    place: Root, notebook: Path, macos: MacOS
) -> None:
    macos.errors["fcopyfile"] = errno.EACCES
    with pytest.raises(NotAPlainFile, match="cannot be copied to a new file"):
        place.edit()
    assert_unchanged(notebook)
