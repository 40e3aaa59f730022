"""What JupyterLab 4.6 does to a notebook without a change of a cell by its user.

Each action changes the content of a notebook, as JSON, in the way in which a real JupyterLab does;
``ui-tests/tests/members.spec.ts`` looks at two of them. `save` writes the file.
"""

import json
import random
from collections.abc import Callable
from typing import Any

JSON = dict[str, Any]
Action = Callable[[JSON, random.Random], None]


def open_notebook(notebook: JSON, _chance: random.Random) -> None:
    """Read a notebook into the model of JupyterLab."""
    notebook["metadata"].pop("orig_nbformat", None)
    notebook["metadata"].setdefault("kernelspec", {"display_name": "", "name": ""})
    notebook["metadata"].setdefault("language_info", {"name": ""})
    for cell in notebook["cells"]:
        metadata = cell.setdefault("metadata", {})
        metadata.pop("trusted", None)
        jupyter = get_jupyter(metadata)
        if "collapsed" in metadata:
            metadata["jupyter"] = {**jupyter, "outputs_hidden": metadata["collapsed"]}
        elif "outputs_hidden" in jupyter:
            metadata["collapsed"] = jupyter["outputs_hidden"]


def get_jupyter(metadata: JSON) -> JSON:
    """Return the object of JupyterLab; one notebook of the corpus has a text in its place."""
    value = metadata.get("jupyter")
    return value if isinstance(value, dict) else {}


def drop_unused_attachments(notebook: JSON, _chance: random.Random) -> None:
    """Drop the attachments that a save drops: their names are not in the source."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "attachments" in cell:
            source = "".join(cell.get("source", ""))
            for name in list(cell["attachments"]):
                if name not in source:
                    del cell["attachments"][name]


def fold_outputs(notebook: JSON, chance: random.Random) -> None:
    """Fold or unfold the outputs of cells."""
    for cell in _choose_cells(notebook, chance, "code"):
        metadata = cell["metadata"]
        jupyter = {k: v for k, v in get_jupyter(metadata).items() if k != "outputs_hidden"}
        metadata.pop("jupyter", None)
        if metadata.pop("collapsed", False):
            if jupyter:
                metadata["jupyter"] = jupyter
        else:
            metadata |= {"collapsed": True, "jupyter": {**jupyter, "outputs_hidden": True}}


def fold_inputs(notebook: JSON, chance: random.Random) -> None:
    """Fold the sources of cells."""
    for cell in _choose_cells(notebook, chance, None):
        metadata = cell["metadata"]
        metadata["jupyter"] = {**get_jupyter(metadata), "source_hidden": True}


def fold_headings(notebook: JSON, chance: random.Random) -> None:
    """Fold the sections below headings."""
    for cell in _choose_cells(notebook, chance, "markdown"):
        cell["metadata"]["jp-MarkdownHeadingCollapsed"] = True


def scroll_outputs(notebook: JSON, chance: random.Random) -> None:
    """Let outputs scroll, or no longer."""
    for cell in _choose_cells(notebook, chance, "code"):
        if not cell["metadata"].pop("scrolled", False):
            cell["metadata"]["scrolled"] = True


def run_cells(notebook: JSON, chance: random.Random) -> None:
    """Run cells, with times as JupyterLab, jupyterlab-execute-time and papermill store them."""
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.13.1"}
    notebook["metadata"]["papermill"] = {"version": "2.6.0"}
    for number, cell in enumerate(_choose_cells(notebook, chance, "code")):
        cell["execution_count"] = 1000 + number
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["run\n"]}]
        cell["metadata"] |= {
            "execution": {"iopub.status.busy": "2026-11-27T12:00:00.000Z"},
            "ExecuteTime": {"end_time": "2026-11-27T12:00:00.000Z"},
            "papermill": {"status": "completed"},
        }


ACTIONS: list[Action] = [
    drop_unused_attachments,
    fold_outputs,
    fold_inputs,
    fold_headings,
    scroll_outputs,
    run_cells,
]


def save(notebook: JSON) -> bytes:
    """Return the file as Jupyter Server writes it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def use(text: bytes, chance: random.Random, actions: list[Action]) -> bytes:
    """Open a notebook, do something with it, and save it."""
    notebook: JSON = json.loads(text)
    open_notebook(notebook, chance)
    for action in actions:
        action(notebook, chance)
    return save(notebook)


def _choose_cells(notebook: JSON, chance: random.Random, cell_type: str | None) -> list[JSON]:
    cells = [cell for cell in notebook["cells"] if cell_type in {None, cell["cell_type"]}]
    return [cell for cell in cells if chance.random() < 0.7]
