"""Folders of the checkout."""

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "jupyter_nbedit" / "lab"
#: What a run makes and may keep for the next one; not in git.
CACHE = ROOT / ".cache"
#: Hides packages that only take time, from the processes that have it on their path.
ABSENT_PACKAGES = ROOT / "tests" / "support" / "absent_packages"


def extend_python_path(environment: Mapping[str, str], *folders: Path) -> dict[str, str]:
    """Return the environment with folders before the others that Python looks into."""
    others = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
    return {**environment, "PYTHONPATH": os.pathsep.join([*map(str, folders), *others])}
