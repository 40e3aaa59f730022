"""File systems with equal names, without links, or with a coarse clock."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.storage.conftest import OtherProcesses
from tests.storage.mounted_filesystems import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_edits_on_each_file_system_find_what_the_contents_manager_finds(
    processes: OtherProcesses, tmp_path: Path, kind: str
) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root may mount a file system, with unshare for nobody else to see")
    facts: dict[str, Any] | str = processes.run(
        "edit_on_file_system", kind=kind, folder=str(tmp_path)
    )
    if isinstance(facts, str):
        pytest.skip(f"there is no {kind} here: {facts}")
    assert facts["texts"] == ['{ "cells": []}', '{  "cells": []}', '{   "cells": []}']
    assert facts["newer"] == [True] * 3
    assert facts["guard"] == KINDS[kind].guard or KINDS[kind].guard is None
    assert facts["created"] == '{"cells": []}'
    there = {name for name, is_found in facts["theirs"].items() if is_found}
    assert {"a.ipynb", "caf\u00e9.ipynb"} <= there
    for name, outcome in facts["ours"].items():
        assert outcome == ("edited" if name in there else "notebook_not_found")
    if "case" in kind:
        assert {"A.ipynb", "b.ipynb"} <= there
    # By whatever name it is edited, there is one file, and nothing beside it. Some systems tell all
    # names in small letters.
    left = sorted(name.casefold() for name in facts["left"])
    assert left == ["a.ipynb", "b.ipynb", "caf\u00e9.ipynb", "new.ipynb"]
