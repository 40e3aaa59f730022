"""Declare that a test needs a package that `pip install -e '.[dev]'` does not install."""

import importlib.util
import os

import pytest

#: In which of the environments of the driver's stage `setups` the tests run, if in one of them.
STAGE = "NBEDIT_SETUPS"


def is_available(module: str, stage: str = "setups") -> bool:
    """Return whether a module is installed, and the tests that need it belong here."""
    return os.environ.get(STAGE) in {None, stage} and importlib.util.find_spec(module) is not None


def needs(module: str, stage: str = "setups") -> None:
    """Skip the test, or the importing module, unless a module can be imported.

    In the environment `stage` (``setups`` or ``documents``) it must not be missing.
    """
    if is_available(module, stage):
        return
    here = os.environ.get(STAGE)
    if here == stage:
        pytest.fail(f"{module} is not in the environment {stage!r}", pytrace=False)
    reason = f"needs {module}: nox -s setups"
    if here is not None:
        reason = f"belongs into the environment {stage!r}, this is {here!r}"
    pytest.skip(reason, allow_module_level=True)
