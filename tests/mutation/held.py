"""What must be covered to the last branch, and the tests that must notice each change of it."""

from __future__ import annotations

#: The modules, from the package's folder on: what finds the cells, what an edit does to them, how
#: the file is replaced, and what a path means.
MODULES = (
    *(f"notebook/{name}.py" for name in ("spans", "windows", "columns", "text", "document")),
    *(f"notebook/{name}.py" for name in ("renewal", "spliced", "splices")),
    *(f"notebook/{name}.py" for name in ("operations", "forms", "actions", "batch")),
    *(f"storage/{name}.py" for name in ("commit", "copying", "swapping", "mapping", "paths")),
)

_NOTEBOOK = (
    *("batch", "document", "forms", "line_ends", "metadata"),
    *("properties", "restored", "sections", "spans", "taking_back", "whereabouts", "windows"),
)
_STORAGE = (
    *("commit", "commit_here", "copying", "create", "failures", "files"),
    *("filetext", "folders", "links", "mapping", "paths", "rights", "swapping"),
)
# It takes as long as half of the others together.
_SLOW = "test_an_edit_of_what_is_not_in_memory_is_the_edit_of_what_is"

#: Those that run in this process, and quickly: what is mutated is nowhere else.
TESTS = (
    *(f"tests/notebook/test_{name}.py" for name in _NOTEBOOK),
    *(f"tests/storage/test_{name}.py" for name in _STORAGE),
    "tests/openapi/test_document.py",
    f"--deselect=tests/notebook/test_windows.py::{_SLOW}",
)

#: Modules whose tests do not go by their name.
TESTED_BY = {"notebook/operations.py": "forms", "storage/commit.py": "commit_here"}
