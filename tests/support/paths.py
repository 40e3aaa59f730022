"""Folders of the checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "jupyter_nbedit" / "lab"
#: What a run makes and may keep for the next one; not in git.
CACHE = ROOT / ".cache"
