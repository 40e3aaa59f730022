"""Bugs put into copies of the package on purpose: a rig that finds none of them proves nothing.

``tests/faults/test_seeded.py`` runs, for each, the test that must find it, and wants it to fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

LIMIT_SECONDS = 180.0
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "lab", "labextension", "node_modules")


@dataclass(frozen=True)
class Bug:
    """A change of one module's text, and who must notice.

    Parameters
    ----------
    name
        Says what is wrong then.
    module
        Its file, from the package's folder on.
    old, new
        What is found in it exactly once, and what stands there instead.
    caught_by
        The test that must fail, as pytest is told of it.
    also
        Further changes that it takes, each as module, old and new: one safeguard may hide that
        another is missing.
    by_night
        Whether it is tried by night only: it takes half a minute, or chance has a say in whether
        it is noticed in one short run, or the same test notices others by day.
    """

    name: str
    module: str
    old: str
    new: str
    caught_by: str
    also: Sequence[tuple[str, str, str]] = ()
    by_night: bool = False


def build(bug: Bug, folder: Path) -> Path:
    """Copy the package and the tests to a folder, with the bug, and return it.

    Python and pytest that are started there find the copies.

    Raises
    ------
    ValueError
        If what the bug changes is not found exactly once: it must be written anew.
    """
    for name in ("jupyter_nbedit", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=_LEFT_OUT)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, old, new in ((bug.module, bug.old, bug.new), *bug.also):
        module = folder / "jupyter_nbedit" / name
        text = module.read_text()
        if (times := text.count(old)) != 1:
            message = (
                f"The seeded bug {bug.name!r} changes what is found {times} times in {name}, and "
                "not once. Write it anew in tests/seeded.py, or leave it out if it cannot be any "
                "more."
            )
            raise ValueError(message)
        module.write_text(text.replace(old, new))
    return folder


def run(bug: Bug, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the test that must notice, against a build of the bug in an empty folder.

    Raises
    ------
    subprocess.TimeoutExpired
        Who hangs has noticed nothing.
    """
    there = build(bug, folder)
    # What a broken build leaves unclosed must not end pytest before it has told what failed.
    plugins = [f"-pno:{name}" for name in ("cacheprovider", "unraisableexception")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", *plugins, bug.caught_by]
    return subprocess.run(
        command,
        cwd=there,
        env={**os.environ, "PYTHONPATH": str(there)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


_SOAK = "tests/soak/test_soak.py::test_so_does_it_in_a_brief_run"
_FUZZ = "tests/fuzz/test_scanners.py::test_a_million_texts_find_no_difference_and_no_crash"

_POWER = "tests/faults/test_power.py"
_KILLED = (
    "tests/faults/test_kills.py::"
    "test_a_server_killed_at_any_call_leaves_the_old_or_the_new_bytes_and_the_next_one_goes_on"
)
_FAILING = (
    "tests/faults/test_errors.py::"
    "test_whatever_call_fails_the_answer_is_true_and_the_next_edit_works"
)
_INTERLEAVED = (
    "tests/races/test_interleavings.py::"
    "test_whoever_acts_between_any_two_calls_of_an_edit_loses_nothing"
)

#: All of them. Keep `old` short, for it must be found when the module around it is written anew.
BUGS = (
    Bug(
        "the folder is not made durable",
        "storage/folders.py",
        "os.fsync(descriptor)",
        "os.fstat(descriptor)",
        _POWER,
    ),
    Bug(
        "the file is not made durable",
        "storage/commit.py",
        "os.fsync(made)\n\n",
        "os.fstat(made)\n\n",
        _POWER,
    ),
    Bug(
        "the file is written in place",
        "storage/commit.py",
        "            warnings = exchange(swap.put, snapshot.stat, status)",
        "            here, warnings = f'/proc/self/fd/{folder.descriptor}/', []\n"
        "            __import__('shutil').copyfile(here + temporary, here + name)",
        f"{_KILLED}[replace]",
    ),
    Bug(
        "what was left is never swept up",
        "storage/leftovers.py",
        "        folder.unlink(name)\n",
        "        folder.status(name)\n",
        f"{_KILLED}[replace]",
    ),
    Bug(
        "a failed edit leaves its temporary file",
        "storage/commit.py",
        "                folder.unlink(temporary)\n        raise",
        "                folder.status(temporary)\n        raise",
        f"{_FAILING}[replace-FAIL_ONCE]",
        by_night=True,
    ),
    Bug(
        "a short write is taken for a whole one",
        "storage/copying.py",
        "pending = pending[os.write(descriptor, pending) :]",
        "pending = pending[os.write(descriptor, pending) and len(pending) :]",
        "tests/faults/test_errors.py::test_what_is_read_and_written_in_small_pieces_is_whole"
        "[replace]",
    ),
    Bug(
        "an interrupted call is taken for one that was made",
        "storage/kernel.py",
        "            if code != errno.EINTR:",
        "            if code == errno.EINTR:\n                return 0\n            if code:",
        f"{_FAILING}[create-FAIL_ONCE]",
    ),
    Bug(
        "an fsync that failed is tried again",
        "storage/commit.py",
        "                os.fsync(made)\n\n",
        "                try:\n                    os.fsync(made)\n"
        "                except OSError:\n                    os.fsync(made)\n\n",
        "tests/faults/test_errors.py::"
        "test_what_an_fsync_has_failed_to_make_durable_is_not_called_so[replace]",
    ),
    Bug(
        "an error after the exchange says that nothing was written",
        "storage/folders.py",
        "yield Folder(real, descriptor)\n    finally:\n        _close(descriptor)",
        "yield Folder(real, descriptor)\n    finally:\n        os.close(descriptor)",
        f"{_FAILING}[replace-FAIL_ONCE]",
        by_night=True,
    ),
    Bug(
        "the mode is not kept",
        "storage/attributes.py",
        "os.fchmod(made, stat.S_IMODE(status.st_mode))",
        "os.fstat(made)",
        f"{_KILLED}[replace]",
        by_night=True,
    ),
    Bug(
        "a request may say that what it brings is trusted",
        "notebook/forms.py",
        'if "trusted" in item:',
        'if "Trusted" in item:',
        "tests/handlers/test_bad_requests.py",
    ),
    Bug(
        "the root is compared without its end",
        "storage/paths.py",
        'f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}")',
        "real.startswith(top)",
        "tests/storage/test_links.py",
    ),
    Bug(
        "a link on the way is followed",
        "storage/folders.py",
        '_NO_LINK = getattr(os, "O_NOFOLLOW", 0)',
        "_NO_LINK = 0",
        "tests/threats/test_files.py::"
        "test_no_link_put_in_a_path_in_the_middle_of_an_edit_leads_it_out",
        by_night=True,
    ),
    Bug(
        "a retry is taken for a new request",
        "handlers/retries.py",
        "if name in self._answers:",
        "if name in ():",
        "tests/races/test_linearizability.py::"
        "test_a_few_writers_over_two_servers_lose_and_double_nothing",
    ),
    Bug(
        "two servers write at once and nobody compares",
        "storage/swapping.py",
        "if not self._is_unchanged():",
        "if not self.folder:",
        "tests/races/test_linearizability.py::"
        "test_a_few_writers_over_two_servers_lose_and_double_nothing",
        also=[
            ("storage/swapping.py", "if not is_sure:", "if not self.folder:"),
            ("storage/locks.py", "if self._holders.get(key) not in ours", "if not key"),
        ],
        by_night=True,
    ),
    Bug(
        "the file is renamed over whatever is there",
        "storage/swapping.py",
        "if not self._is_unchanged():",
        "if not self.folder:",
        "tests/races/test_outsiders.py::"
        "test_nothing_that_others_write_while_we_edit_is_lost[renamed-us]",
        also=[("storage/swapping.py", "if not is_sure:", "if not self.folder:")],
    ),
    Bug(
        "what came away is not looked at",
        "storage/swapping.py",
        "if not is_sure:",
        "if not self.folder:",
        f"{_INTERLEAVED}[us-renamed]",
        by_night=True,
    ),
    Bug(
        "the file is compared, then renamed over",
        "storage/swapping.py",
        "self.folder.exchange(self._temporary, self._name)\n            except",
        "self.folder.replace(self._temporary, self._name)\n"
        "                self.guard = 'lease'\n"
        "                return\n"
        "            except",
        f"{_INTERLEAVED}[us-renamed]",
        by_night=True,
    ),
    Bug(
        "nobody waits for who has the file open",
        "storage/swapping.py",
        "except BlockingIOError:",
        "except ZeroDivisionError:",
        f"{_INTERLEAVED}[us-held_open]",
        by_night=True,
    ),
    Bug(
        "nobody asks whether somebody waits for the lease",
        "storage/swapping.py",
        "self._came_away() and (lease is None or lease())",
        "self._came_away()",
        f"{_INTERLEAVED}[us-in_place]",
        by_night=True,
    ),
    Bug(
        "a member's length is believed that a double of it has",
        "notebook/spans.py",
        "raw is None or not text.startswith(raw, at)",
        "raw is None",
        _FUZZ,
        by_night=True,
    ),
    Bug(
        "of a notebook that is read in windows nobody asks whether it is UTF-8",
        "notebook/windows.py",
        'str(view, "utf-8")',
        'str(view, "latin-1")',
        _FUZZ,
    ),
    Bug(
        "an edit's opposite forgets what the splices before it took",
        "notebook/splices.py",
        "shift += len(text) - (stop - start)",
        "shift += len(text)",
        _FUZZ,
    ),
    Bug(
        "an edit waits on the loop",
        "editor.py",
        "read = await settled(",
        'read = __import__("time").sleep(0.15) or await settled(',
        _SOAK,
        by_night=True,
    ),
    Bug(
        "a folder that was opened stays open",
        "storage/folders.py",
        "yield Folder(real, descriptor)\n    finally:\n        _close(descriptor)",
        "yield Folder(real, descriptor)\n    finally:\n        os.fstat(descriptor)",
        _SOAK,
        by_night=True,
    ),
    Bug(
        "of cells with one id the first is taken",
        "notebook/document.py",
        "if len(found) > 1:",
        "if not found and address in self.ids:",
        "tests/notebook/test_document.py::test_an_id_of_two_cells_is_refused_with_both",
    ),
    Bug(
        "an event holds what is in the notebook",
        "afterwards.py",
        "            client=done.asked.client,\n            total_cells",
        "            client=str(done.read.content.raw[:500]),\n            total_cells",
        "tests/events/test_events.py::test_no_event_holds_a_source_or_an_output",
        by_night=True,
    ),
    Bug(
        "expressions are Python's, which may take for ever",
        "notebook/search.py",
        "return re2.compile(text, options)",
        "return __import__('re').compile(text.encode())",
        "tests/notebook/test_search.py::"
        "test_an_expression_that_is_none_is_refused_with_what_is_wrong",
        also=[("notebook/search.py", "pattern.programsize > _LARGEST_PROGRAM", "not pattern")],
    ),
)
