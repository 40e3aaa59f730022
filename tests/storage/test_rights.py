"""Whoever runs the server may do through us what they may do through the Contents API, or less."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from tests.storage.conftest import NAME, NOBODY, TEXT, Others

OWN, ROOTS = NOBODY, 0
# A folder's mode and owner; a file's.
FOLDERS = [(0o755, OWN), (0o555, OWN), (0o711, OWN), (0o300, OWN), (0o000, OWN)]
FOLDERS += [(0o777, ROOTS), (0o1777, ROOTS), (0o755, ROOTS)]
FILES = [(0o644, OWN), (0o600, OWN), (0o444, OWN), (0o200, OWN), (0o000, OWN)]
FILES += [(0o666, ROOTS), (0o644, ROOTS), (0o600, ROOTS)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away and become others")
def test_no_right_is_wider_than_the_contents_api_has_it(others: Others, public: Path) -> None:
    cases = {}
    for number, (folder, file) in enumerate(itertools.product(FOLDERS, FILES)):
        path = public / str(number) / NAME
        path.parent.mkdir()
        path.write_bytes(TEXT)
        for made, (mode, owner) in ((path, file), (path.parent, folder)):
            os.chown(made, owner, owner)
            made.chmod(mode)
        cases[f"{number}/{NAME}"] = (folder, file)
    found = others.do("rights", root=str(public), user=NOBODY, paths=list(cases))
    assert isinstance(found, dict), found
    for path, (reads, they_read, edits, they_save) in found.items():
        folder, file = cases[path]
        case = f"folder {folder[0]:o} of {folder[1]}, file {file[0]:o} of {file[1]}"
        assert reads == they_read, case
        assert edits <= they_save, case
        # The manager writes in place. We replace the file, and never take it from its owner.
        may_replace = folder[0] & (0o300 if folder[1] == OWN else 0o003) in {0o300, 0o003}
        assert edits == (they_save and reads and may_replace and file[1] == OWN), case
        text = (public / path).read_bytes()
        assert text == (b"{}" if they_save else TEXT), case
    assert not list(public.rglob(".nbedit-*"))
    assert sum(edits for _, _, edits, _ in found.values()) > 5
