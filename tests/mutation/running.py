"""Try mutants: the tests are imported once, and a child is forked for each mutant.

In the child, the code of the function that is mutated takes the place of what was imported, and the
tests that come by there are run, the quickest first, until one fails. What is mutated outside of
functions has to be imported anew, and the tests with it.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from tests.mutation import held
from tests.mutation.learned import OPTIONS, Learned, Quickly
from tests.mutation.mutants import Mutant

# Slower tests are asked last, and not for longer than that.
MOST_SECONDS = 5.0
# Whoever is not back by then has been caught in an endless loop, or waits for ever.
LIMIT_SECONDS = 60.0
# Whoever is in a loop takes all the time there is; others wait for most of theirs.
_BUSY = 0.2
UNTRUE = "tests fail though nothing was changed"
_TOLD = 100
_FUNCTION = 0x01  # CO_OPTIMIZED of `inspect`; a class's code is without it

Functions = dict[tuple[str, str, int], list[FunctionType]]


def unnoticed_within(
    mutants: Sequence[Mutant], learned: Learned, *, is_known: bool
) -> list[Mutant]:
    """Try mutants of functions; give those that no test has noticed.

    That the tests pass where nothing is changed is seen first, if it is not known.
    """
    session = _Session(mutants, learned, is_known=is_known)
    pytest.main([*OPTIONS, *held.TESTS], plugins=[session])
    assert session.tried == len(mutants), "the tests could not be collected"
    return session.unnoticed


def unnoticed_outside(mutants: Sequence[Mutant], learned: Learned) -> list[Mutant]:
    """Try mutants of what is outside of functions; give those that no test has noticed.

    What they are in must not have been imported here; what it and the tests import need not be
    imported again for each.
    """
    for name in ("hypothesis.strategies", "jupyter_server.serverapp", "nbformat"):
        importlib.import_module(name)
    unnoticed = []
    whole: set[str] = set()
    for mutant in mutants:
        names = learned.within(learned.tests(mutant), MOST_SECONDS)
        if mutant.module not in whole:
            assert not _noticed(partial(_anew, None, names), LIMIT_SECONDS), UNTRUE
            whole.add(mutant.module)
        if not _noticed(partial(_anew, mutant, names), LIMIT_SECONDS):
            unnoticed.append(mutant)
    return unnoticed


class _Session(Quickly):
    """Takes the place of pytest's own way through the tests."""

    def __init__(self, mutants: Sequence[Mutant], learned: Learned, *, is_known: bool) -> None:
        self.unnoticed: list[Mutant] = []
        self.tried = 0
        self._mutants = mutants
        self._learned = learned
        self._is_known = is_known
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions = _functions()
        # Nothing of it is looked at again in the children, which would copy it.
        gc.freeze()
        tests = [
            [items[name] for name in self._learned.within(names, MOST_SECONDS)]
            for names in map(self._learned.tests, self._mutants)
        ]
        if not self._is_known:
            all_tests = list(dict.fromkeys(item for some in tests for item in some))
            assert not _noticed(partial(self._runs, None, all_tests, functions), 900), UNTRUE
        for mutant, chosen in zip(self._mutants, tests, strict=True):
            if not _noticed(partial(self._runs, mutant, chosen, functions), LIMIT_SECONDS):
                self.unnoticed.append(mutant)
            self.tried += 1
            if self.tried % _TOLD == 0:
                print(f"{self.tried} of {len(self._mutants)} mutants tried", flush=True)
        return True

    def _runs(self, mutant: Mutant | None, items: list[pytest.Item], functions: Functions) -> bool:
        if mutant is not None:
            for function, code in _exchanged(mutant, functions):
                function.__code__ = code
        if items:
            items[0].config.pluginmanager.unregister(name="terminalreporter")
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return False
        return True


def _noticed(runs: Callable[[], bool], limit: float) -> bool:
    """Try something in a child; who crashes or does not come back has been noticed, too."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            # Not a session: Linux would give it as much time as all others have together.
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, 2 * (int(limit * _BUSY),))
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(null, descriptor)
            code = not runs()
        finally:
            os._exit(code)
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _functions() -> Functions:
    found: Functions = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            found.setdefault(_key(one.__code__), []).append(one)
    return found


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _exchanged(mutant: Mutant, functions: Functions) -> list[tuple[FunctionType, CodeType]]:
    found = [(one, code) for code in _codes(mutant.code) for one in functions.get(_key(code), [])]
    assert found, f"{mutant.module} is not what the tests have imported"
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Give the code of the functions of a module and its classes, not of those within."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & _FUNCTION:
                yield constant
            else:
                yield from _codes(constant)


def _anew(mutant: Mutant | None, names: Sequence[str]) -> bool:
    """Import the package with a mutant in it, and run tests; whether all pass."""
    assert "jupyter_nbedit.notebook" not in sys.modules
    if mutant is not None:
        sys.meta_path.insert(0, _Instead(mutant))
    return pytest.main([*OPTIONS, "-x", *names], plugins=[Quickly()]) == 0


class _Instead(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a mutant in the place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = f"jupyter_nbedit/{mutant.module}".removesuffix(".py").replace("/", ".")

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return importlib.util.spec_from_loader(name, self) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(Path(self._mutant.code.co_filename))
        exec(self._mutant.code, module.__dict__)  # noqa: S102 -- as every loader does
