"""Deltas, as an open tab applies them."""

from typing import Any


def apply_delta(base: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """Return what a tab has after a delta; the reference for its own implementation."""
    cells: list[Any] = []
    for part in delta["cells"]:
        cells += [part["cell"]] if "cell" in part else base["cells"][slice(*part["copy"])]
    return {
        "cells": cells,
        "metadata": delta.get("metadata", base["metadata"]),
        "nbformat_minor": delta.get("nbformat_minor", base["nbformat_minor"]),
    }
