# ruff: noqa: E501 -- a row is a line
"""The table of tools, sentence by sentence: what is sent, what is answered, what is left.

A row reads: the sentence, the tool, its input, the status, what the answer has, what is left, what
was called before. ``~`` before a path stands for the folder that the server serves. Of a notebook
the cells are left: of one that is as it was only the id is shown, of another one
``id:type:source``, where ``NEW12`` and ``NEW8`` are fresh ids of 12 base-36 or 8 hexadecimal
characters, ``-`` is none, ``_`` a space and ``|`` a line feed; ``+`` is a file more. Other files
are left with their text. What is not named is as it was, and ``SAME`` names nothing.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.agents.tools.sample_files import PNG, pdf
from tests.support import samples

NEW12 = re.compile(r"[0-9a-z]{12}")
NEW8 = re.compile(r"[0-9a-f]{8}")
PNG_TEXT = base64.b64encode(PNG).decode()
IMAGE = {"output_type": "display_data", "data": {"image/png": PNG_TEXT}, "metadata": {}}
A, M = "~a.ipynb", "~notes.md"

NOTEBOOKS = {
    "a.ipynb": samples.three_cells(),
    "no-ids.ipynb": samples.notebook(samples.code("x"), samples.markdown("# T"), minor=4),
    "digits.ipynb": samples.notebook(samples.code("x", "2"), samples.code("y"), samples.code("z")),
    "named.ipynb": samples.notebook(samples.raw("x", "cell-2"), samples.raw("y", "1")),
    "many.ipynb": samples.notebook(*(samples.raw("x", f"id-{n}") for n in range(12))),
    "empty.ipynb": samples.notebook(),
    "image.ipynb": samples.notebook(samples.code("x", "one", outputs=[IMAGE])),
    "sections.ipynb": samples.notebook(
        samples.markdown("# Top", "top"),
        samples.code("x", "code"),
        samples.markdown("## Tasks\n- Milk\n- Bread", "tasks"),
        samples.markdown("# End", "end"),
    ),
}
REMINDERS = "# Reminders\n\n## Today\n\n- Call Ada\n  at noon\n- Write\n\n## Later\n\n- Sleep\n"
FILES = {
    "notes.md": b"# Notes\r\none\r\ntwo\r\none",
    "runtime/reminders.md": REMINDERS.encode(),
    "runtime/standing-orders.md": b"# Orders\n",
    "runtime/external-communications.md": b"# Letters\n",
    "runtime/else.md": b"# Else\n",
    "long.txt": "".join(f"line {n}\n" for n in range(1, 2502)).encode(),
    "wide.txt": b"x" * 2001,
    "dot.png": PNG,
    "two.pdf": pdf("Hello page one", "and page two"),
    "binary": b"\x00\x01\x02\xff",
    "nothing.txt": b"",
}
#: A tool and its input; and another session than the row's, if it is to be another's call.
Call = tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], str]


@dataclass(frozen=True)
class Row:
    """One sentence and what shows that it holds."""

    says: str
    tool: str
    input: dict[str, Any]
    status: int
    answer: Any
    left: str | dict[str, str]
    first: Sequence[Call] = ()
    server: str = "live"
    mode: str = "edit"

    @property
    def name(self) -> str:
        """What the row is called in the list of tests and in `messages.txt`."""
        return f"{self.tool}: {self.says}"


def row(*values: Any, **more: Any) -> Row:
    return Row(*values, **more)


def nexo(path: str = A, /, **given: Any) -> dict[str, Any]:
    return {"notebook_path": path, "new_source": "new", **given}


def omp(action: str, index: int, /, path: str = "a.ipynb", **given: Any) -> dict[str, Any]:
    return {"action": action, "notebook_path": path, "cell_index": index, **given}


def build_text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": re.compile(text, re.DOTALL)}]}


def read(path: str, /, **given: Any) -> dict[str, Any]:
    return {"file_path": path, **given}


def kind(error: str) -> dict[str, Any]:
    return {"error": error}


#: Any number of a proposal.
NUMBER = int
WAITS = [re.compile(r"Nothing is changed yet.*GET /nbedit/proposals/[0-9]+\?wait=60")]
# The form of a refusal is `tool_failures`' business, its text is that of `messages.txt`.
FAILED, NOT_DONE, WRONG = {"cell_index": None}, {"success": False}, {"isError": True}
READ_A: Call = ("claude_code/Read", {"file_path": A})
READ_M: Call = ("claude_code/Read", {"file_path": M})
NB, MY, OMP, SEC = (
    "nexo/NotebookEdit",
    "mycode/NotebookEdit",
    "omp/notebook",
    "sections/notebook_edit",
)
READ, WRITE, EDIT = "claude_code/Read", "claude_code/Write", "claude_code/Edit"
CC = "claude_code/NotebookEdit"
INS, DEL = {"edit_mode": "insert"}, {"edit_mode": "delete"}
MD, CODE, RAW = {"cell_type": "markdown"}, {"cell_type": "code"}, {"cell_type": "raw"}
SAME = "SAME"

AR, AE, AS, AC, AH = (
    f"agent/notebook_{verb}" for verb in ("read", "edit", "search", "create", "history")
)
REV = samples.compute_hash(samples.three_cells())[:8]
ALPHA, BETA, GAMMA = (
    f"{index}:{samples.compute_hash(source)[:6]}"
    for index, source in enumerate((b"x = 1\nx", b"# Title", b"as is"))
)


def ag(path: str = A, /, **given: Any) -> dict[str, Any]:
    return {"path": path, **given}


def ops(*operations: dict[str, Any], path: str = A, **given: Any) -> dict[str, Any]:
    return {"path": path, "operations": list(operations), **given}


def refused(reason: str, text: str) -> dict[str, Any]:
    return {**build_text_result(f"^{reason}: .*{text}"), "isError": True}


AGENT_READ: Call = (AR, ag())

# fmt: off
NEXO = [
    row("notebook_path, cell_id, new_source", NB, nexo(cell_id="alpha"), 200, {"notebook_path": A, "edit_mode": "replace", "cell_id": "alpha", "cell_type": "code", "language": "python", "total_cells": 3, "cells_delta": 0}, "alpha:code:new beta gamma"),
    row("notebook_path absolute", NB, nexo("a.ipynb", cell_id="alpha"), 400, kind("InvalidRequest"), SAME),
    row("a filesystem path under the server root", NB, nexo("/a.ipynb", cell_id="alpha"), 404, kind("NotebookNotFound"), SAME),
    row(".ipynb only", NB, nexo(M, cell_id="alpha"), 400, kind("InvalidRequest"), SAME),
    row("edit_mode delete", NB, nexo(cell_id="beta", **DEL), 200, {"edit_mode": "delete", "cell_id": "beta", "cell_type": "markdown", "total_cells": 2, "cells_delta": -1}, "alpha gamma"),
    row("edit_mode nothing else", NB, nexo(cell_id="beta", edit_mode="move"), 400, kind("InvalidRequest"), SAME),
    row("Insert goes AFTER cell_id", NB, nexo(cell_id="alpha", **INS, **CODE), 200, {"cell_id": NEW12, "cell_type": "code"}, "alpha NEW12:code:new beta gamma"),
    row("Insert goes AFTER cell_id, the last one too", NB, nexo(cell_id="gamma", **INS, **CODE), 200, {}, "alpha beta gamma NEW12:code:new"),
    row("an empty one means position 0", NB, nexo(cell_id="", **INS, **CODE), 200, {}, "NEW12:code:new alpha beta gamma"),
    row("an empty one means position 0, in an empty notebook too", NB, nexo("~empty.ipynb", cell_id="", **INS, **CODE), 200, {"language": None}, "NEW12:code:new"),
    row("cell_type (code, markdown)", NB, nexo(cell_id="alpha", **INS, **RAW), 400, kind("InvalidRequest"), SAME),
    row("cell_type required (for insert)", NB, nexo(cell_id="alpha", **INS), 400, kind("InvalidRequest"), SAME),
    row("cell_type of a replaced cell", NB, nexo(cell_id="alpha", **MD), 200, {"cell_type": "markdown"}, "alpha:markdown:new beta gamma"),
    row("where ids do not exist, none", NB, nexo("~no-ids.ipynb", cell_id="cell-0", **INS, **CODE), 200, {"cell_id": "cell-1"}, "- -:code:new -"),
    row("Replace at cell-N", NB, nexo("~no-ids.ipynb", cell_id="cell-1"), 200, {"cell_id": "cell-1"}, "- -:markdown:new"),
    row("Replace at cell-N with N = number of cells turns into an insert at the end", NB, nexo(cell_id="cell-3", **CODE), 200, {"edit_mode": "insert", "cell_id": NEW12, "cells_delta": 1}, "alpha beta gamma NEW12:code:new"),
    row("(then cell_type is required)", NB, nexo(cell_id="cell-3"), 400, kind("InvalidRequest"), SAME),
    row("Replace at cell-N with N greater", NB, nexo(cell_id="cell-4", **CODE), 404, kind("CellNotFound"), SAME),
    row("Not found: available ids", NB, nexo(cell_id="nobody"), 404, {**kind("CellNotFound"), "details": {"cell": "nobody", "available_ids": ["alpha", "beta", "gamma"], "total_cells": 3}}, SAME),
    row("Not found: up to 10 available ids", NB, nexo("~many.ipynb", cell_id="nobody"), 404, {"details": {"cell": "nobody", "available_ids": [f"id-{n}" for n in range(10)], "total_cells": 12}}, SAME),
    row("Plan mode: a PlanModeRefusal", NB, nexo(cell_id="alpha"), 403, kind("PlanModeRefusal"), SAME, mode="plan"),
    row("review mode: a proposal", NB, nexo(cell_id="alpha"), 202, {"edit_mode": "replace", "cell_id": "alpha", "proposal_id": NUMBER, "warnings": WAITS}, SAME, mode="review"),
    row("review mode: what is wrong is refused", NB, nexo(cell_id="nobody"), 404, kind("CellNotFound"), SAME, mode="review"),
    row("new_source required", NB, {"notebook_path": A, "cell_id": "alpha"}, 400, kind("InvalidRequest"), SAME),
    row("new_source required, but for delete", NB, {"notebook_path": A, "cell_id": "alpha", **DEL}, 200, {}, "beta gamma"),
    row("cell_id required", NB, nexo(), 400, kind("InvalidRequest"), SAME),
]
MYCODE = [
    row("the same input", MY, nexo(cell_id="alpha"), 200, {"success": True, "cell_id": "alpha", "cell_index": 0, "summary": re.compile(".*")}, "alpha:code:new beta gamma"),
    row("the path may be relative to the root", MY, nexo("a.ipynb", cell_id="alpha"), 200, {"success": True}, "alpha:code:new beta gamma"),
    row("raw too", MY, nexo("a.ipynb", cell_id="alpha", **INS, **RAW), 200, {"success": True}, "alpha NEW8:raw:new beta gamma"),
    row("cell_id may be a bare number (index from 0)", MY, nexo("a.ipynb", cell_id="1"), 200, {"cell_id": "beta", "cell_index": 1}, "alpha beta:markdown:new gamma"),
    row("cell_id may be a bare number of JSON", MY, nexo("a.ipynb", cell_id=2, **DEL), 200, {"cell_id": "gamma", "cell_index": 2}, "alpha beta"),
    row("if no cell has that id", MY, nexo("digits.ipynb", cell_id="2"), 200, {"cell_id": "2", "cell_index": 0}, "2:code:new - -"),
    row("if no cell has that id, of JSON too", MY, nexo("digits.ipynb", cell_id=2), 200, {"cell_id": "2", "cell_index": 0}, "2:code:new - -"),
    row("an id is an id before it is cell-N", MY, nexo("named.ipynb", cell_id="cell-2"), 200, {"cell_index": 0}, "cell-2:raw:new 1"),
    row("a bare number has no zeros before it", MY, nexo("a.ipynb", cell_id="01"), 404, FAILED, SAME),
    row("delete at cell-N with N = number of cells", MY, nexo("a.ipynb", cell_id="cell-3", **DEL), 404, FAILED, SAME),
    row("insert after cell-N with N = number of cells", MY, nexo("a.ipynb", cell_id="cell-3", **INS, **CODE), 404, FAILED, SAME),
    row("a bare number of no cell", MY, nexo("a.ipynb", cell_id="3"), 404, FAILED, SAME),
    row("insert after a bare number", MY, nexo("a.ipynb", cell_id=0, **INS, **CODE), 200, {"cell_index": 1}, "alpha NEW8:code:new beta gamma"),
    row("replace may change the type", MY, nexo("a.ipynb", cell_id="beta", **RAW), 200, {"success": True}, "alpha beta:raw:new gamma"),
    row("ids of 8 hex characters", MY, nexo("a.ipynb", cell_id="", **INS, **CODE), 200, {"cell_id": NEW8, "cell_index": 0}, "NEW8:code:new alpha beta gamma"),
    row("the same input: cell-N of all cells is the end", MY, nexo("a.ipynb", cell_id="cell-3", **MD), 200, {"cell_index": 3}, "alpha beta gamma NEW8:markdown:new"),
    row("error?", MY, nexo("a.ipynb", cell_id="nobody"), 404, {**FAILED, "cell_id": "nobody"}, SAME),
    row("summary: what was done, notebook, cell and index, type", MY, nexo("a.ipynb", cell_id="alpha"), 200, {"summary": "Replaced code cell alpha (index 0) of a.ipynb, which has 3 cells now. Its outputs were cleared."}, "alpha:code:new beta gamma"),
    row("summary of an insert", MY, nexo("a.ipynb", cell_id="alpha", **INS, **MD), 200, {"summary": re.compile(r"Inserted markdown cell [0-9a-f]{8} \(index 1\) of a\.ipynb, which has 4 cells now\.")}, "alpha NEW8:markdown:new beta gamma"),
    row("summary of a delete", MY, nexo("a.ipynb", cell_id="beta", **DEL), 200, {"summary": "Deleted markdown cell beta (index 1) of a.ipynb, which has 2 cells now."}, "alpha gamma"),
    row("backup: true writes a copy beside first (then says where)", MY, nexo("a.ipynb", cell_id="alpha", backup=True), 200, {"backup_path": "a.ipynb.bak", "summary": re.compile(r"a\.ipynb\.bak")}, "alpha:code:new beta gamma +a.ipynb.bak"),
    row("backup: the caller's own way to say where", MY, nexo(cell_id="alpha", backup=True), 200, {"backup_path": "~a.ipynb.bak"}, "alpha:code:new beta gamma +a.ipynb.bak"),
    row("backup: another copy takes another name", MY, nexo("a.ipynb", cell_id="alpha", new_source="newer", backup=True), 200, {"backup_path": "a.ipynb.bak-2"}, "alpha:code:newer beta gamma +a.ipynb.bak +a.ipynb.bak-2", [(MY, nexo("a.ipynb", cell_id="alpha", backup=True))]),
    row("backup: what changes nothing leaves no copy", MY, nexo("a.ipynb", cell_id="gamma", new_source="as is", backup=True), 200, {"backup_path": None, "summary": re.compile("Nothing to change: .*No copy of the file was made")}, SAME),
    row("backup: what is refused leaves no copy", MY, nexo("a.ipynb", cell_id="nobody", backup=True), 404, FAILED, SAME),
    row("plan mode", MY, nexo("a.ipynb", cell_id="alpha", backup=True), 403, FAILED, SAME, mode="plan"),
    row("review mode: a proposal", MY, nexo("a.ipynb", cell_id="alpha", **INS, **MD), 202, {"success": True, "cell_id": NEW8, "cell_index": 1, "proposal_id": NUMBER, "summary": re.compile(r"^Proposed to insert markdown cell [0-9a-f]{8} \(index 1\) of a\.ipynb\. Nothing is changed yet")}, SAME, mode="review"),
    row("review mode: no backup", MY, nexo("a.ipynb", cell_id="alpha", backup=True), 202, {"backup_path": None, "summary": re.compile("^Proposed to replace .* Its outputs would be cleared.*No copy of the file was made")}, SAME, mode="review"),
    row("review mode: nothing to change", MY, nexo("a.ipynb", cell_id="gamma", new_source="as is"), 200, {"proposal_id": None, "summary": re.compile("Nothing to change")}, SAME, mode="review"),
]
OMP_ROWS = [
    row("action edit", OMP, omp("edit", 0, content="new"), 200, {"content": [{"type": "text", "text": re.compile("Replaced code cell alpha")}], "details": {"action": "edit", "cellIndex": 0, "cellType": "code", "totalCells": 3, "cellSource": "new"}}, "alpha:code:new beta gamma"),
    row("action insert", OMP, omp("insert", 1, content="new"), 200, {"details": {"action": "insert", "cellIndex": 1, "cellType": "code", "totalCells": 4, "cellSource": "new"}}, "alpha NEW8:code:new beta gamma"),
    row("action delete", OMP, omp("delete", 1), 200, {"details": {"action": "delete", "cellIndex": 1, "cellType": "markdown", "totalCells": 2, "cellSource": "# Title"}}, "alpha gamma"),
    row("an absolute path", OMP, omp("delete", 1, A), 200, {}, "alpha gamma"),
    row("index 0..n-1: the last", OMP, omp("edit", 2, content="new"), 200, {}, "alpha beta gamma:raw:new"),
    row("index 0..n-1: not n", OMP, omp("edit", 3, content="new"), 404, {}, SAME),
    row("index 0..n-1: none of no cells", OMP, omp("delete", 0, "empty.ipynb"), 404, {}, SAME),
    row("index not negative", OMP, omp("delete", -1), 400, {}, SAME),
    row("for insert 0..n: the first", OMP, omp("insert", 0, content="new"), 200, {}, "NEW8:code:new alpha beta gamma"),
    row("for insert 0..n: behind all", OMP, omp("insert", 3, content="new"), 200, {}, "alpha beta gamma NEW8:code:new"),
    row("for insert 0..n: not n + 1", OMP, omp("insert", 4, content="new"), 404, {}, SAME),
    row("cell_type on insert", OMP, omp("insert", 0, content="new", **MD), 200, {"details": {"cellType": "markdown"}}, "NEW8:markdown:new alpha beta gamma"),
    row("cell_type is kept on edit", OMP, omp("edit", 1, content="new"), 200, {"details": {"cellType": "markdown"}}, "alpha beta:markdown:new gamma"),
    row("cell_type is kept on edit, and may be said", OMP, omp("edit", 1, content="new", **MD), 200, {}, "alpha beta:markdown:new gamma"),
    row("cell_type is kept on edit, whatever is said", OMP, omp("edit", 1, content="new", **CODE), 400, {}, SAME),
    row("content required for edit", OMP, omp("edit", 0), 400, {}, SAME),
    row("content required for insert", OMP, omp("insert", 0), 400, {}, SAME),
    row("on delete cellSource is what was removed", OMP, omp("delete", 0), 200, {"details": {"cellSource": "x = 1\nx"}}, "beta gamma"),
    row("an error is a text that starts with Error: and names the notebook", OMP, omp("delete", 0, "no.ipynb"), 404, {}, SAME),
    row("an error: another action", OMP, omp("run", 0), 400, {}, SAME),
    row("plan mode", OMP, omp("delete", 0), 403, {}, SAME, mode="plan"),
    row("review mode: a proposal", OMP, omp("delete", 1), 202, {**build_text_result(r"^Proposed to delete markdown cell beta \(index 1\) of a\.ipynb\. Nothing is changed yet"), "details": {"action": "delete", "cellIndex": 1, "cellSource": "# Title", "proposalId": NUMBER}}, SAME, mode="review"),
]
SECTIONS = [
    row("action read", SEC, {"file": "reminders", "action": "read"}, 200, {"success": True, "message": re.compile("."), "content": REMINDERS}, SAME),
    row("action read, a section", SEC, {"file": "reminders", "action": "read", "section": "Later"}, 200, {"content": "## Later\n\n- Sleep\n"}, SAME),
    row("action append_to_section", SEC, {"file": "reminders", "action": "append_to_section", "section": "Today", "content": "- Rest"}, 200, {"success": True}, {"runtime/reminders.md": REMINDERS.replace("- Write", "- Write\n- Rest")}),
    row("action replace_section", SEC, {"file": "reminders", "action": "replace_section", "section": "Later", "content": "Nothing."}, 200, {"success": True}, {"runtime/reminders.md": REMINDERS.replace("- Sleep", "Nothing.")}),
    row("action remove_entry", SEC, {"file": "reminders", "action": "remove_entry", "section": "Today", "entry_match": "call ADA"}, 200, {"success": True}, {"runtime/reminders.md": REMINDERS.replace("- Call Ada\n  at noon\n", "")}),
    row("section? required but for read", SEC, {"file": "reminders", "action": "append_to_section", "content": "x"}, 400, NOT_DONE, SAME),
    row("content? required to append", SEC, {"file": "reminders", "action": "append_to_section", "section": "Today"}, 400, NOT_DONE, SAME),
    row("entry_match? required to remove", SEC, {"file": "reminders", "action": "remove_entry", "section": "Today"}, 400, NOT_DONE, SAME),
    row("on files named in section_files: external-communications", SEC, {"file": "external-communications", "action": "read"}, 200, {"content": "# Letters\n"}, SAME),
    row("on no others by name", SEC, {"file": "else", "action": "read"}, 400, NOT_DONE, SAME),
    row("on files named in section_files, as it is set", SEC, {"file": "else", "action": "read"}, 200, {"content": "# Else\n"}, SAME, server="owners"),
    row("on any .md path", SEC, {"file": "notes.md", "action": "append_to_section", "section": "Notes", "content": "two"}, 200, {"success": True}, {"notes.md": "# Notes\r\none\r\ntwo\r\none\r\n\r\ntwo"}),
    row("on any .md path, absolute", SEC, {"file": M, "action": "read", "section": "Notes"}, 200, {"content": "# Notes\r\none\r\ntwo\r\none"}, SAME),
    row("on any .ipynb path: read", SEC, {"file": "sections.ipynb", "action": "read", "section": "Tasks"}, 200, {"content": "## Tasks\n- Milk\n- Bread"}, SAME),
    row("on any .ipynb path: append", SEC, {"file": "sections.ipynb", "action": "append_to_section", "section": "Top", "content": "new"}, 200, {"success": True}, "top code tasks NEW8:markdown:new end"),
    row("on any .ipynb path: replace", SEC, {"file": "~sections.ipynb", "action": "replace_section", "section": "Tasks", "content": "None."}, 200, {"success": True}, "top code tasks:markdown:##_Tasks|None. end"),
    row("on any .ipynb path: remove", SEC, {"file": "sections.ipynb", "action": "remove_entry", "section": "Tasks", "entry_match": "milk"}, 200, {"success": True}, "top code tasks:markdown:##_Tasks|-_Bread end"),
    row("on nothing else", SEC, {"file": "long.txt", "action": "read"}, 400, NOT_DONE, SAME),
    row("no such section", SEC, {"file": "reminders", "action": "read", "section": "Never"}, 404, NOT_DONE, SAME),
    row("no such entry", SEC, {"file": "reminders", "action": "remove_entry", "section": "Today", "entry_match": "Bob"}, 409, NOT_DONE, SAME),
    row("no such file", SEC, {"file": "no.md", "action": "read"}, 404, NOT_DONE, SAME),
    row("owners only", SEC, {"file": "reminders", "action": "read"}, 403, NOT_DONE, SAME, server="nobody"),
    row("owners: may", SEC, {"file": "reminders", "action": "read"}, 200, {"success": True}, SAME, server="owners"),
    row("owners: empty = whoever may write", SEC, {"file": "reminders", "action": "read"}, 200, {"success": True}, SAME),
    row("plan mode", SEC, {"file": "reminders", "action": "append_to_section", "section": "Today", "content": "x"}, 403, NOT_DONE, SAME, mode="plan"),
    row("plan mode of a notebook", SEC, {"file": "sections.ipynb", "action": "append_to_section", "section": "Top", "content": "x"}, 403, NOT_DONE, SAME, mode="plan"),
    row("review mode: text files are written", SEC, {"file": "reminders", "action": "append_to_section", "section": "Later", "content": "- Rest"}, 200, {"success": True, "proposal_id": None}, {"runtime/reminders.md": f"{REMINDERS}- Rest\n"}, mode="review"),
    row("review mode: notebooks wait", SEC, {"file": "sections.ipynb", "action": "append_to_section", "section": "Top", "content": "x"}, 202, {"success": True, "proposal_id": NUMBER, "message": re.compile(r"^Proposed to append to the section 'Top' of sections\.ipynb\. Nothing is changed yet")}, SAME, mode="review"),
    row("review mode: nothing to change", SEC, {"file": "sections.ipynb", "action": "replace_section", "section": "Tasks", "content": "- Milk\n- Bread"}, 200, {"success": True, "proposal_id": None, "message": re.compile("Nothing to change")}, SAME, mode="review"),
    row("plan mode lets read", SEC, {"file": "reminders", "action": "read"}, 200, {"success": True}, SAME, mode="plan"),
]
CLAUDE = [
    row("absolute paths under the root: Read", READ, read("notes.md"), 400, WRONG, SAME),
    row("absolute paths under the root: Write", WRITE, read("new.md", content="x"), 400, WRONG, SAME),
    row("absolute paths under the root: Edit", EDIT, read("notes.md", old_string="one", new_string="x"), 400, WRONG, SAME),
    row("absolute paths under the root: NotebookEdit", CC, nexo("a.ipynb", cell_id="alpha"), 400, WRONG, SAME),
    row("absolute paths under the root: outside", READ, read("/etc/hostname"), 404, WRONG, SAME),
    row("numbered lines from 1", READ, read(M), 200, build_text_result("^     1\t# Notes\n     2\tone\n     3\ttwo\n     4\tone$"), SAME),
    row("offset?, limit?", READ, read(M, offset=2, limit=2), 200, build_text_result("^     2\tone\n     3\ttwo\n.*4 to 4 are not shown"), SAME),
    row("offset beyond the end", READ, read(M, offset=5), 400, WRONG, SAME),
    row("at most 2000 lines", READ, read("~long.txt"), 200, build_text_result("\n  2000\tline 2000\n.*Lines 2001 to 2501 are not shown.*`offset` 2001"), SAME),
    row("at most 2000 lines, whatever is asked for", READ, read("~long.txt", limit=2500), 200, build_text_result("\n  2000\tline 2000\n\n"), SAME),
    row("at most 2000 lines at once", READ, read("~long.txt", offset=2001), 200, build_text_result("^  2001\tline 2001\n.*\n  2501\tline 2501$"), SAME),
    row("2000 characters a line", READ, read("~wide.txt"), 200, build_text_result("^     1\tx{2000}… .1 more characters are not shown.$"), SAME),
    row("notebooks as cells with ids and outputs", READ, read(A), 200, build_text_result('id="alpha".*x = 1\nx\n</cell>\n<outputs of="alpha">.*x\n</outputs>.*id="beta".*# Title'), SAME),
    row("notebooks: images of outputs as images", READ, read("~image.ipynb"), 200, {"content": [{"type": "text"}, {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}, {"type": "text"}]}, SAME),
    row("notebooks: cells without ids", READ, read("~no-ids.ipynb"), 200, build_text_result('id="cell-0".*id="cell-1"'), SAME),
    row("notebooks: offset and limit count cells", READ, read(A, offset=2, limit=1), 200, build_text_result('^(?!.*alpha).*id="beta".*from index 2 on are not shown.*`offset` 3'), SAME),
    row("notebooks: offset beyond the end", READ, read(A, offset=4), 400, WRONG, SAME),
    row("notebooks: no cells", READ, read("~empty.ipynb"), 200, build_text_result("0 cells"), SAME),
    row("images as images", READ, read("~dot.png"), 200, {"content": [{"type": "image", "mimeType": "image/png"}]}, SAME),
    row("PDFs as text", READ, read("~two.pdf"), 200, build_text_result("Hello page one.*and page two"), SAME),
    row("nothing of what is no text", READ, read("~binary"), 400, WRONG, SAME),
    row("an empty file", READ, read("~nothing.txt"), 200, build_text_result("empty"), SAME),
    row("a folder", READ, read("~runtime"), 409, WRONG, SAME),
    row("a file that is not there", READ, read("~no.md"), 404, WRONG, SAME),
    row("Write: a new file needs no reading", WRITE, read("~new.md", content="x\n"), 200, build_text_result("Created ~new.md"), {"new.md": "x\n"}),
    row("Write: a file that was not read is refused (428 read_required)", WRITE, read(M, content="x"), 428, WRONG, SAME),
    row("Write: a file that was read", WRITE, read(M, content="x"), 200, build_text_result("Wrote ~notes.md"), {"notes.md": "x"}, [READ_M]),
    row("Write: what is there already", WRITE, read(M, content="# Notes\r\none\r\ntwo\r\none"), 200, build_text_result("nothing was written"), SAME, [READ_M]),
    row("Write: no folder is made up", WRITE, read("~no/new.md", content="x"), 404, WRONG, SAME),
    row("Write: not over a folder", WRITE, read("~runtime", content="x"), 409, WRONG, SAME),
    row("Write: a new notebook that is one", WRITE, read("~new.ipynb", content=samples.three_cells().decode()), 200, build_text_result("Created the notebook"), {"new.ipynb": samples.three_cells().decode()}),
    row("Write: a new notebook that is none", WRITE, read("~new.ipynb", content='{"cells": []}'), 422, WRONG, SAME),
    row("Write: a new notebook that is not valid", WRITE, read("~new.ipynb", content='{"cells": [{"cell_type": "code"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'), 422, WRONG, SAME),
    row("Write: never over a notebook", WRITE, read(A, content=samples.notebook().decode()), 409, WRONG, SAME, [READ_A]),
    row("Edit: old_string, new_string", EDIT, read(M, old_string="two", new_string="2"), 200, build_text_result("Replaced once in ~notes.md.*     3\t2\n"), {"notes.md": "# Notes\r\none\r\n2\r\none"}, [READ_M]),
    row("Edit: line ends are the file's", EDIT, read(M, old_string="one\ntwo\n", new_string="1\n2\n3\n"), 200, build_text_result("Replaced once"), {"notes.md": "# Notes\r\n1\r\n2\r\n3\r\none"}, [READ_M]),
    row("Edit: replace_all?", EDIT, read(M, old_string="one", new_string="1", replace_all=True), 200, build_text_result("Replaced 2 times"), {"notes.md": "# Notes\r\n1\r\ntwo\r\n1"}, [READ_M]),
    row("Edit: not unique", EDIT, read(M, old_string="one", new_string="1"), 409, WRONG, SAME, [READ_M]),
    row("Edit: absent", EDIT, read(M, old_string="three", new_string="3"), 409, WRONG, SAME, [READ_M]),
    row("Edit: nothing to change", EDIT, read(M, old_string="two", new_string="two"), 400, WRONG, SAME, [READ_M]),
    row("Edit: an empty old_string makes a new file", EDIT, read("~new.md", old_string="", new_string="x\ny"), 200, build_text_result(r"Created ~new.md \(3 bytes\)"), {"new.md": "x\ny"}),
    row("Edit: what it has made counts as read", EDIT, read("~new.md", old_string="x", new_string="y"), 200, build_text_result("Replaced once"), {"new.md": "y"}, [(EDIT, read("~new.md", old_string="", new_string="x"))]),
    row("Edit: an empty old_string and an empty file, read or not", EDIT, read("~new.md", old_string="", new_string="x"), 200, build_text_result("Wrote ~new.md"), {"new.md": "x"}, [(WRITE, read("~new.md", content=""))]),
    row("Edit: an empty old_string and a file with content", EDIT, read(M, old_string="", new_string="x"), 400, WRONG, SAME, [READ_M]),
    row("Edit: nothing to make", EDIT, read("~new.md", old_string="", new_string=""), 404, WRONG, SAME),
    row("Edit: no folder for a new file", EDIT, read("~no/new.md", old_string="", new_string="x"), 404, WRONG, SAME),
    row("Edit: no new notebook", EDIT, read("~new.ipynb", old_string="", new_string="x"), 400, WRONG, SAME),
    row("Edit: a file that was not read is refused (428 read_required)", EDIT, read(M, old_string="two", new_string="2"), 428, WRONG, SAME),
    row("Edit: no file", EDIT, read("~no.md", old_string="two", new_string="2"), 404, WRONG, SAME),
    row("Edit: no notebook", EDIT, read(A, old_string="x", new_string="y"), 400, WRONG, SAME, [READ_A]),
    row("Edit: nothing that is no text", EDIT, read("~dot.png", old_string="x", new_string="y"), 400, WRONG, SAME, [(READ, read("~dot.png"))]),
    row("NotebookEdit as above", CC, nexo(cell_id="alpha"), 200, build_text_result("Replaced code cell alpha"), "alpha:code:new beta gamma", [READ_A]),
    row("NotebookEdit: insert AFTER cell_id", CC, nexo(cell_id="alpha", **INS, **MD), 200, build_text_result("Inserted markdown cell"), "alpha NEW8:markdown:new beta gamma", [READ_A]),
    row("NotebookEdit: insert without cell_id is at the beginning", CC, nexo(**INS, **MD), 200, build_text_result("index 0"), "NEW8:markdown:new alpha beta gamma", [READ_A]),
    row("NotebookEdit: delete", CC, nexo(cell_id="beta", **DEL), 200, build_text_result("Deleted markdown cell beta"), "alpha gamma", [READ_A]),
    row("NotebookEdit: cell-N behind all", CC, nexo(cell_id="cell-3", **CODE), 200, build_text_result("Inserted code cell"), "alpha beta gamma NEW8:code:new", [READ_A]),
    row("NotebookEdit: replace needs a cell_id", CC, nexo(), 400, WRONG, SAME, [READ_A]),
    row("NotebookEdit: delete needs a cell_id", CC, nexo(**DEL), 400, WRONG, SAME, [READ_A]),
    row("NotebookEdit: no such cell", CC, nexo(cell_id="nobody"), 404, WRONG, SAME, [READ_A]),
    row("with new_source required", CC, {"notebook_path": A, "cell_id": "alpha", **DEL}, 400, WRONG, SAME, [READ_A]),
    row("NotebookEdit: a notebook that was not read is refused (428 read_required)", CC, nexo(cell_id="alpha"), 428, WRONG, SAME),
    row("NotebookEdit: own edits count as read", CC, nexo(cell_id="beta"), 200, build_text_result("Replaced"), "alpha:code:new beta:markdown:new gamma", [READ_A, (CC, nexo(cell_id="alpha"))]),
    row("Edit: own edits count as read", EDIT, read(M, old_string="2", new_string="two"), 200, build_text_result("Replaced"), SAME, [READ_M, (EDIT, read(M, old_string="two", new_string="2"))]),
    row("NotebookEdit: own writes count as read", CC, nexo("~new.ipynb", cell_id="a", **DEL), 200, build_text_result("Deleted"), "", [(WRITE, read("~new.ipynb", content=samples.notebook(samples.raw("x", "a")).decode()))]),
    row("NotebookEdit: changed since (412)", CC, nexo(cell_id="alpha"), 412, WRONG, "alpha beta:markdown:new gamma", [READ_A, (NB, nexo(cell_id="beta"), "another")]),
    row("Edit: changed since (412)", EDIT, read(M, old_string="two", new_string="2"), 412, WRONG, {"notes.md": "# Notes\r\none\r\ntwo\r\none\r\n\r\nx"}, [READ_M, (SEC, {"file": M, "action": "append_to_section", "section": "Notes", "content": "x"})]),
    row("Write: changed since (412)", WRITE, read(M, content="x"), 412, WRONG, {"notes.md": "# Notes\r\none\r\ntwo\r\none\r\n\r\nx"}, [READ_M, (SEC, {"file": M, "action": "append_to_section", "section": "Notes", "content": "x"})]),
    row("plan mode: Write", WRITE, read("~new.md", content="x"), 403, WRONG, SAME, mode="plan"),
    row("plan mode: Edit makes no file", EDIT, read("~new.md", old_string="", new_string="x"), 403, WRONG, SAME, mode="plan"),
    row("plan mode: Edit", EDIT, read(M, old_string="two", new_string="2"), 403, WRONG, SAME, [READ_M], mode="plan"),
    row("plan mode: NotebookEdit", CC, nexo(cell_id="alpha"), 403, WRONG, SAME, [READ_A], mode="plan"),
    row("review mode: Write writes texts", WRITE, read("~new.md", content="x"), 200, build_text_result("Created"), {"new.md": "x"}, mode="review"),
    row("review mode: Write proposes notebooks", WRITE, read("~new.ipynb", content=samples.three_cells().decode()), 202, build_text_result(r"^Proposed the notebook ~new\.ipynb\. Nothing is changed yet"), SAME, mode="review"),
    row("review mode: Edit edits texts", EDIT, read(M, old_string="two", new_string="2"), 200, build_text_result("Replaced"), {"notes.md": "# Notes\r\none\r\n2\r\none"}, [READ_M], mode="review"),
    row("review mode: NotebookEdit", CC, nexo(cell_id="alpha"), 202, build_text_result(r"^Proposed to replace code cell alpha \(index 0\) of ~a\.ipynb\. .*GET /nbedit/proposals/[0-9]+\?wait=60"), SAME, [READ_A], mode="review"),
    row("review mode: NotebookEdit must have read", CC, nexo(cell_id="alpha"), 428, WRONG, SAME, mode="review"),
    row("plan mode lets read", READ, read(M), 200, build_text_result("Notes"), SAME, mode="plan"),
]
AGENT = [
    row("read: sources if they fit, with the names of the cells", AR, ag(), 200, build_text_result(rf"^a\.ipynb \| 3 cells \| python \| rev {REV}.*\n<cell {ALPHA} code => html>\nx = 1\nx\n<cell {BETA} md>\n# Title\n<cell {GAMMA} raw>\nas is$"), SAME),
    row("read: an outline", AR, ag(view="outline"), 200, build_text_result(rf"\n{ALPHA} code x = 1 \(\+1\) => html\n{BETA} md # Title\n{GAMMA} raw as is$"), SAME),
    row("read: single cells, with the texts of outputs", AR, ag(cells=[ALPHA], outputs="text"), 200, build_text_result(rf"\n<cell {ALPHA} code => html>\nx = 1\nx\n<outputs>\nx$"), SAME),
    row("read: cells as a text that is JSON", AR, ag(cells=f'["{BETA}"]'), 200, build_text_result(rf"rev {REV}[^\n]*\n<cell {BETA} md>\n# Title$"), SAME),
    row("read: a section", AR, ag("~sections.ipynb", section="Tasks"), 200, build_text_result(r"\n<cell 2:.{6} md>\n## Tasks\n- Milk\n- Bread$"), SAME),
    row("read: a cell that is not there any more", AR, ag(cells=["1:000000"]), 409, refused("cell_changed", rf"<cell {BETA}>\n# Title$"), SAME),
    row("read: what was changed since", AR, ag(since=REV), 200, build_text_result(rf"\n<note>Since {REV}, which had 3 cells: 1 changed or new\.</note>\n<cell 1:.{{6}} md>\nnew$"), "alpha beta:markdown:new gamma", [AGENT_READ, (NB, nexo(cell_id="beta"))]),
    row("read: since a version that is unknown", AR, ag(since="00000000"), 410, refused("version_unknown", ""), SAME),
    row("read: nothing but a notebook", AR, ag(M), 400, refused("invalid_request", ""), SAME),
    row("read: no notebook", AR, ag("~no.ipynb"), 404, refused("notebook_not_found", "There is no notebook at this path"), SAME),
    row("plan mode lets the agent read", AR, ag(), 200, build_text_result("paused: edits are refused"), SAME, mode="plan"),
    row("edit: replace_text needs no cell if one has the text", AE, ops({"op": "replace_text", "old": "# Title", "new": "# New"}), 200, build_text_result(r"^a\.ipynb \| 3 cells \| rev .{8} \| edit [0-9]+\nreplace_text 1:[0-9a-f]{6}$"), "alpha beta:markdown:#_New gamma"),
    row("edit: replace_text in a cell by its index", AE, ops({"op": "replace_text", "cell": "0", "old": "= 1", "new": "= 2"}), 200, build_text_result(r"\nreplace_text 0:.{6} \(outputs cleared\)$"), "alpha:code:x_=_2|x beta gamma"),
    row("edit: replace_text in all cells", AE, ops({"op": "replace_text", "old": "x", "new": "y", "all": True}, path="~named.ipynb"), 200, build_text_result(r"\nreplace_text 0:.{6}\n.*\n\+y$"), "cell-2:raw:y 1"),
    row("edit: a text in no cell", AE, ops({"op": "replace_text", "old": "none", "new": ""}), 409, refused("text_mismatch", "any cell.*operation 0, from 0 on"), SAME),
    row("edit: a text in several cells", AE, ops({"op": "replace_text", "old": "x", "new": ""}, path="~digits.ipynb"), 200, build_text_result("replace_text"), "2:code: - -"),
    row("edit: a text that is nearly in the cell", AE, ops({"op": "replace_text", "cell": ALPHA, "old": "x=1", "new": ""}), 409, refused("text_mismatch", rf"<cell {ALPHA}>\nx = 1\nx$"), SAME),
    row("edit: many operations", AE, ops({"op": "insert", "after": ALPHA, "source": "new", "cell_type": "markdown"}, {"op": "replace", "cell": GAMMA, "source": "raw"}, {"op": "move", "cell": GAMMA, "at": "start"}, {"op": "delete", "cells": [BETA]}, {"op": "clear_outputs", "all": True}), 200, build_text_result(rf"\ninsert 2:.{{6}}\nreplace 0:.{{6}}\nmove 0:.{{6}}\ndelete {BETA}\nclear_outputs {ALPHA.replace('0:', '1:')}$"), "gamma:raw:raw alpha:code:x_=_1|x NEW8:markdown:new"),
    row("edit: split, merge, tags", AE, ops({"op": "split", "cell": ALPHA, "at_line": 2}, {"op": "set_tags", "cell": BETA, "tags": ["a"]}), 200, build_text_result(r"\nsplit 0:.{6} 1:.{6} \(outputs cleared\)\nset_tags|set_metadata"), "alpha:code:x_=_1 NEW8:code:x beta:markdown:#_Title gamma"),
    row("edit: sections", AE, ops({"op": "append_to_section", "section": "Tasks", "source": "- Salt"}, {"op": "remove_entry", "section": "Tasks", "match": "milk"}, path="~sections.ipynb"), 200, build_text_result(r"append_to_section 3:.{6}\nremove_entry 2:.{6}\n--- .*\n-- Milk\n"), "top code tasks:markdown:##_Tasks|-_Bread NEW8:markdown:-_Salt end"),
    row("edit: a bare index is refused where it could be wrong, with the cell", AE, ops({"op": "replace", "cell": "1", "source": "new"}), 400, refused("invalid_operation", rf"<cell {BETA}>\n# Title$"), SAME),
    row("edit: an id is refused where the cell could have changed", AE, ops({"op": "delete", "cells": ["beta"]}), 400, refused("invalid_operation", rf"send '{BETA}'"), SAME),
    row("edit: a bare position is refused", AE, ops({"op": "insert", "after": "1", "source": ""}), 400, refused("invalid_operation", rf"send '{BETA}'"), SAME),
    row("edit: a stale name is refused with the cell as it is now", AE, ops({"op": "delete", "cell": BETA}), 409, refused("cell_changed", "<cell 1:.{6}>\nnew$"), "alpha beta:markdown:new gamma", [(NB, nexo(cell_id="beta"))]),
    row("edit: a name of a cell that has moved is followed", AE, ops({"op": "replace", "cell": BETA, "source": "n"}), 200, build_text_result(r"\nreplace 2:.{6}$"), "NEW12:code:new alpha beta:markdown:n gamma", [(NB, nexo(cell_id="", **INS, **CODE))]),
    row("edit: what else was changed since the rev", AE, ops({"op": "replace", "cell": BETA, "source": "n"}, rev=REV), 200, build_text_result(rf"\nChanged since {REV}, not by this edit: 0:.{{6}}\.$"), "alpha:code:new beta:markdown:n gamma", [AGENT_READ, (NB, nexo(cell_id="alpha"))]),
    row("edit: a missing field", AE, ops({"op": "split", "cell": ALPHA}), 400, refused("invalid_operation", "`at_line` is missing"), SAME),
    row("edit: a field of another operation", AE, ops({"op": "delete", "cell": ALPHA, "source": ""}), 400, refused("invalid_operation", "does not take `source`"), SAME),
    row("edit: two positions", AE, ops({"op": "move", "cell": ALPHA, "at": "end", "after": BETA}), 400, refused("invalid_operation", "exactly one of"), SAME),
    row("edit: the second operation of a batch", AE, ops({"op": "delete", "cell": ALPHA}, {"op": "delete"}), 400, refused("invalid_operation", "operation 1, from 0 on"), SAME),
    row("edit: null is a field that is left out, in operations too", AE, ops({"op": "delete", "cell": BETA, "cells": None, "source": None}, rev=None), 200, build_text_result(f"\ndelete {BETA}$"), "alpha gamma"),
    row("edit: operations as a text that is JSON", AE, {"path": A, "operations": f'[{{"op": "delete", "cell": "{BETA}", "cells": null}}]'}, 200, build_text_result(f"\ndelete {BETA}$"), "alpha gamma"),
    row("edit: operations as a text that is no JSON", AE, {"path": A, "operations": "[{'op': 'delete'}]"}, 400, refused("invalid_request", ""), SAME),
    row("edit: operations as a text with a member twice", AE, {"path": A, "operations": f'[{{"op": "delete", "cell": "{ALPHA}", "cell": "{BETA}"}}]'}, 400, refused("invalid_request", "more than once"), SAME),
    row("edit: a dry run", AE, ops({"op": "delete", "cell": BETA}, dry_run=True), 200, build_text_result(r"dry run: nothing was written\ndelete .*\n--- a\.ipynb beta\n"), SAME),
    row("edit: nothing is written in plan mode", AE, ops({"op": "delete", "cell": BETA}), 403, refused("plan_mode", "describe the change to the user"), SAME, mode="plan"),
    row("edit: proposed in review mode", AE, ops({"op": "delete", "cell": BETA}), 202, build_text_result(r"\| proposed as [0-9]+: nothing is changed until a person decides"), SAME, mode="review"),
    row("search: a cell with a hit is shown whole", AS, {"text": "title", "ignore_case": True, "folder": A}, 200, build_text_result(rf"^a\.ipynb \| 3 cells \| python \| rev {REV}[^\n]*\n<cell {BETA} md>\n# Title$"), SAME),
    row("search: many hits are lines", AS, {"text": "x", "folder": "many.ipynb", "limit": 4}, 200, build_text_result(r"^4 hits in 1 of 1 notebook\n== many\.ipynb\n0:.{6}~ raw 1: x\n(?:.*\n){3}<note>There may be more hits: go on with cursor="), SAME),
    row("search: in outputs, by an expression", AS, {"text": "^x$", "regex": True, "in": "outputs", "folder": A}, 200, build_text_result(r"<outputs>\nx$"), SAME),
    row("search: nothing found", AS, {"text": "nowhere"}, 200, build_text_result(r"^0 hits in 0 of [0-9]+ notebooks$"), SAME),
    row("search: no expression", AS, {"text": "(", "regex": True}, 400, refused("invalid_request", ""), SAME),
    row("search: without a text the notebooks are listed", AS, {}, 200, build_text_result(r"^8 notebooks\na\.ipynb\ndigits\.ipynb\n"), SAME),
    row("search: no folder", AS, {"text": "x", "folder": "no"}, 404, refused("notebook_not_found", ""), SAME),
    row("create", AC, {"path": "new.ipynb", "cells": [{"source": "x"}, {"source": "# T", **MD}], "kernelspec": "python3"}, 200, build_text_result(r"^new\.ipynb \| 2 cells \| rev .{8} \| edit [0-9]+\ninsert 0:.{6}\ninsert 1:.{6}$"), "NEW8:code:x NEW8:markdown:#_T"),
    row("create: an existing file is never replaced", AC, {"path": A}, 409, refused("notebook_exists", "notebook_edit"), SAME),
    row("create: proposed in review mode", AC, {"path": "new.ipynb"}, 202, build_text_result("proposed as"), SAME, mode="review"),
    row("history: list", AH, {"action": "list", "path": A}, 200, build_text_result(r"^a\.ipynb \| [0-9]+ edits?\n[0-9]+ .* agent/notebook_edit: why \| delete 1"), "alpha gamma", [(AE, ops({"op": "delete", "cell": BETA}, message="why"))]),
    row("history: undo", AH, {"action": "undo", "path": A}, 200, build_text_result(r"\n\+# Title$"), SAME, [(AE, ops({"op": "delete", "cell": BETA}))]),
    row("history: show needs a number", AH, {"action": "show", "path": A}, 400, refused("invalid_request", "edit_id"), SAME),
    row("history: no such edit", AH, {"action": "show", "path": A, "edit_id": 10**9}, 404, refused("edit_not_found", ""), SAME),
    row("history: no such proposal", AH, {"action": "proposal", "proposal_id": 10**9}, 404, refused("proposal_not_found", ""), SAME),
    row("history: a proposal needs a number", AH, {"action": "proposal"}, 400, refused("invalid_request", "proposal_id"), SAME),
]
# fmt: on
ROWS = [*AGENT, *NEXO, *MYCODE, *OMP_ROWS, *SECTIONS, *CLAUDE]
