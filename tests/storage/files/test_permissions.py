"""No user gets more permissions than through the Contents API."""

import itertools
import os
import pwd
from pathlib import Path

import pytest

from tests.storage.conftest import NAME, NOBODY, TEXT, OtherProcesses

OWN, ROOTS = NOBODY, 0
# A folder's mode and owner; a file's.
FOLDERS = [(0o755, OWN), (0o555, OWN), (0o711, OWN), (0o300, OWN), (0o000, OWN)]
FOLDERS += [(0o777, ROOTS), (0o1777, ROOTS), (0o755, ROOTS)]
FILES = [(0o644, OWN), (0o600, OWN), (0o444, OWN), (0o200, OWN), (0o000, OWN)]
FILES += [(0o666, ROOTS), (0o644, ROOTS), (0o600, ROOTS)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away and become others")
def test_no_permission_is_wider_than_that_of_the_contents_api(
    processes: OtherProcesses, public_folder: Path
) -> None:
    cases = {}
    for number, (folder, file) in enumerate(itertools.product(FOLDERS, FILES)):
        path = public_folder / str(number) / NAME
        path.parent.mkdir()
        path.write_bytes(TEXT)
        for made, (mode, owner) in ((path, file), (path.parent, folder)):
            os.chown(made, owner, owner)
            made.chmod(mode)
        cases[f"{number}/{NAME}"] = (folder, file)
    # A folder on the way need not be readable, only to be passed through.
    public_folder.parent.chmod(0o711)
    found = processes.run(
        "check_permissions", root=str(public_folder), user=NOBODY, paths=list(cases)
    )
    assert isinstance(found, dict), found
    edits = 0
    for path, (reading, their_reading, editing, their_saving) in found.items():
        folder, file = cases[path]
        case = f"folder {folder[0]:o} of {folder[1]}, file {file[0]:o} of {file[1]}: {editing}"
        assert (reading is None) == (their_reading is None), case
        # The manager writes in place. An edit replaces the file, and keeps its owner.
        may_replace = folder[0] & (0o300 if folder[1] == OWN else 0o003) in {0o300, 0o003}
        may_edit = reading is None and their_saving is None and may_replace and file[1] == OWN
        assert (editing is None) == may_edit, case
        assert editing in {None, "forbidden", "notebook_not_found", "not_a_plain_file"}, case
        status = (public_folder / path).stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (file[1], file[1], file[0])
        text = (public_folder / path).read_bytes()
        assert text == (b"{}" if their_saving is None else TEXT), case
        edits += may_edit
    assert not list(public_folder.rglob(".nbedit-*"))
    assert edits > 5


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away and become others")
@pytest.mark.parametrize(
    ("folder", "file", "refusal"),
    [
        ((0o755, ROOTS), (0o644, OWN), ("forbidden", "folder 'shared', which belongs to 'root'")),
        ((0o777, ROOTS), (0o666, ROOTS), ("not_a_plain_file", "belongs to 'root' and the group")),
    ],
)
def test_an_edit_that_cannot_replace_the_file_is_refused_with_folder_and_owner(
    processes: OtherProcesses,
    public_folder: Path,
    folder: tuple[int, int],
    file: tuple[int, int],
    refusal: tuple[str, str],
) -> None:
    path = public_folder / "shared" / NAME
    path.parent.mkdir()
    path.write_bytes(TEXT)
    for made, (mode, owner) in ((path, file), (path.parent, folder)):
        os.chown(made, owner, owner)
        made.chmod(mode)
    public_folder.parent.chmod(0o711)

    found = processes.run(
        "refuse_edit", root=str(public_folder), user=NOBODY, path=f"shared/{NAME}"
    )

    reason, words = refusal
    assert found.startswith(f"{reason}: ")
    assert words in found
    assert f"runs as {pwd.getpwuid(NOBODY).pw_name!r}" in found
    assert str(public_folder) not in found
    status = path.stat()
    assert (status.st_uid, status.st_mode & 0o777, path.read_bytes()) == (file[1], file[0], TEXT)
    assert list(path.parent.iterdir()) == [path]
