"""Metadata of a file other than its time is kept."""

import os
import stat
import struct
import time
from pathlib import Path

import pytest

from tests.storage.conftest import EDITED, Root

NO_ID = 0xFFFFFFFF

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o777, 0o2664, 0o4755])
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_file_mode_is_kept(place: Root, notebook: Path, mode: int, umask: int) -> None:
    notebook.chmod(mode)
    before = os.umask(umask)
    try:
        place.edit()
    finally:
        os.umask(before)
    assert stat.S_IMODE(notebook.stat().st_mode) == mode
    assert notebook.read_bytes() == EDITED


@as_root
@pytest.mark.parametrize("mode", [0o640, 0o6750])
def test_the_owner_and_the_group_are_kept(place: Root, notebook: Path, mode: int) -> None:
    os.chown(notebook, 1234, 2345)
    notebook.chmod(mode)
    place.edit()
    status = notebook.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, mode)


def test_the_group_of_the_folder_is_not_applied(place: Root, notebook: Path) -> None:
    groups = [group for group in os.getgroups() if group != notebook.stat().st_gid]
    if os.geteuid() == 0:
        groups = [2345]
    if not groups:
        pytest.skip("the user is in one group only")
    before = notebook.stat().st_gid
    os.chown(place.root, -1, groups[0])
    place.root.chmod(0o2777)
    place.edit()
    assert notebook.stat().st_gid == before


def test_extended_attributes_are_kept(place: Root, notebook: Path) -> None:
    attributes = {"user.note": b"\x00\xff", "user.empty": b"", "user.long": b"x" * 1000}
    try:
        for name, value in attributes.items():
            os.setxattr(notebook, name, value)
    except OSError as error:
        pytest.skip(f"this file system has no extended attributes: {error}")
    place.edit()
    assert {name: os.getxattr(notebook, name) for name in os.listxattr(notebook)} == attributes


def access_list(*entries: tuple[int, int, int]) -> bytes:
    """Write a POSIX access list as Linux keeps it: entries of tag, permissions and id."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


OWNER, USER, GROUP, MASK, OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20


def set_access_list(path: Path, kind: str, *entries: tuple[int, int, int]) -> None:
    try:
        os.setxattr(path, f"system.posix_acl_{kind}", access_list(*entries))
    except OSError as error:
        pytest.skip(f"this file system has no access lists: {error}")


def test_an_access_control_list_is_kept(place: Root, notebook: Path) -> None:
    entries = (OWNER, 6, NO_ID), (USER, 6, 1234), (GROUP, 0, NO_ID), (MASK, 6, NO_ID)
    set_access_list(notebook, "access", *entries, (OTHERS, 0, NO_ID))
    before = os.getxattr(notebook, "system.posix_acl_access"), notebook.stat().st_mode
    place.edit()
    after = os.getxattr(notebook, "system.posix_acl_access"), notebook.stat().st_mode
    assert after == before


def test_the_default_access_control_list_of_the_folder_grants_nothing_new(
    place: Root, notebook: Path
) -> None:
    notebook.chmod(0o640)
    entries = (OWNER, 7, NO_ID), (USER, 7, 1234), (GROUP, 7, NO_ID), (MASK, 7, NO_ID)
    set_access_list(place.root, "default", *entries, (OTHERS, 5, NO_ID))
    place.edit()
    assert os.listxattr(notebook) == []
    assert stat.S_IMODE(notebook.stat().st_mode) == 0o640


@pytest.mark.parametrize("age", [-86400, 0, 3600, 86400 * 365])
def test_the_new_timestamp_is_later_even_than_one_in_the_future(
    place: Root, notebook: Path, age: int
) -> None:
    then = time.time_ns() + age * 1_000_000_000
    os.utime(notebook, ns=(then, then))
    result = place.edit()
    status = notebook.stat()
    assert status.st_mtime_ns > then
    assert status.st_mtime_ns >= time.time_ns() - 60_000_000_000
    assert result.last_modified.timestamp() == pytest.approx(status.st_mtime, abs=1e-5)
