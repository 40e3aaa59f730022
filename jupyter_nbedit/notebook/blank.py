"""A notebook without cells, as nbformat writes it."""

from __future__ import annotations

import json
from typing import Any


def write_new_notebook(language: str | None, kernelspec: str | None) -> bytes:
    """Write one of nbformat 4.5.

    Parameters
    ----------
    language
        The language of its code cells, if it is to say one.
    kernelspec
        The name of the kernel that is to run it, if it is to say one. It is only written down: no
        kernel is asked whether it exists, or what it is called for people.
    """
    metadata: dict[str, Any] = {}
    if kernelspec is not None:
        # nbformat demands a display name; JupyterLab puts the kernel's own there when it runs.
        metadata["kernelspec"] = {"display_name": kernelspec, "name": kernelspec}
        if language is not None:
            metadata["kernelspec"]["language"] = language
    if language is not None:
        metadata["language_info"] = {"name": language}
    notebook = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    written = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    return f"{written}\n".encode()
