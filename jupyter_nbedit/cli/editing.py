"""The commands ``edit`` and ``new``."""

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_nbedit.cli.connection import Connection, connect
from jupyter_nbedit.cli.options import (
    Subparsers,
    UsageError,
    add_change_options,
    check_single_stdin,
    get_change_fields,
    read_file,
    read_text,
)
from jupyter_nbedit.client import requests

_POSITIONS = ("after", "before", "at")
_CELL_TYPES = ("code", "markdown", "raw")

# The options that say what to do: the operation, its required options, its optional options.
_ACTIONS: Mapping[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "old": ("replace_text", ("new",), ("cell", "all", "keep_outputs")),
    "source": ("replace", ("cell",), ("type", "keep_outputs")),
    "insert": ("insert", (), ("type", *_POSITIONS)),
    "delete": ("delete", (), ()),
    "move": ("move", (), _POSITIONS),
    "clear_outputs": ("clear_outputs", (), ()),
    "operations": ("", (), ()),
}
# The options whose values are texts, and the options whose field has another name.
_TEXTS = ("old", "new", "source", "insert")
_FIELDS = {
    "type": "cell_type",
    "keep_outputs": "outputs",
    "insert": "source",
    **dict.fromkeys(("delete", "move", "clear_outputs"), "cells"),
}
_MODIFIERS = ("new", "cell", "all", "type", "keep_outputs", *_POSITIONS)

_EXAMPLES = """\
examples:
  jupyter nbedit edit NB --old 'wet = 100' --new 'wet = 200'
  jupyter nbedit edit NB --cell 3:9f2c1a --source - < cell.py
  jupyter nbedit edit NB --insert '# Results' --type markdown --at end
  jupyter nbedit edit NB --delete 3:9f2c1a 4:51d0aa

CELL is a name such as 3:9f2c1a (the index of a cell and the beginning of its hash, as `read` shows
it; an edit is refused if the cell has changed), an id, or an index. TEXT may be -, standard input;
\\n and the like in it are not interpreted. Write --old=TEXT if TEXT begins with a hyphen.
"""


def add_parser(commands: Subparsers) -> None:
    """Add the parsers of the commands."""
    edit = commands.add_parser(
        "edit",
        help="change the cells of a notebook",
        description="Change the cells of a notebook, also while it is open in JupyterLab. Nothing"
        " is run; changed code cells lose their outputs.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    edit.add_argument("notebook", metavar="NB")
    actions = edit.add_argument_group("what to do, one of")
    actions.add_argument("--old", metavar="TEXT", help="replace this text, by --new")
    actions.add_argument("--source", metavar="TEXT", help="replace the source of --cell")
    actions.add_argument("--insert", metavar="TEXT", help="insert a cell")
    actions.add_argument("--delete", metavar="CELL", nargs="+", help="delete cells")
    actions.add_argument("--move", metavar="CELL", nargs="+", help="move cells")
    actions.add_argument(
        "--clear-outputs", metavar="CELL", nargs="+", help="clear outputs; `all` for all cells"
    )
    actions.add_argument(
        "--operations", metavar="FILE", help="operations of the REST API, as a list in JSON"
    )
    modifiers = edit.add_argument_group("with")
    modifiers.add_argument("--new", metavar="TEXT", help="the text instead of --old")
    modifiers.add_argument("--cell", metavar="CELL", help="the cell of --old and --source")
    modifiers.add_argument("--all", action="store_true", help="replace every --old, not only one")
    modifiers.add_argument("--after", metavar="CELL", help="where to insert, or to move to")
    modifiers.add_argument("--before", metavar="CELL", help="where to insert, or to move to")
    modifiers.add_argument("--at", choices=("start", "end"), help="where to insert, or to move to")
    modifiers.add_argument("--type", choices=_CELL_TYPES, help="of the cell; default: code")
    modifiers.add_argument("--keep-outputs", action="store_true", help="keep outputs")
    modifiers.add_argument(
        "--rev", metavar="REV", help="the version that you have read, if cells are identical"
    )
    add_change_options(edit)
    edit.set_defaults(run=run_edit)

    new = commands.add_parser(
        "new",
        help="create a notebook in an existing folder",
        description="Create a notebook in an existing folder. An existing file is not replaced.",
    )
    new.add_argument("notebook", metavar="NB")
    new.add_argument("--kernel", metavar="NAME", help="the kernel, such as python3")
    new.add_argument(
        "--from",
        dest="cells",
        metavar="FILE",
        help='the cells in JSON, such as [{"cell_type": "code", "source": "1 + 1"}]; - is standard'
        " input",
    )
    add_change_options(new)
    new.set_defaults(run=run_new)


def run_edit(options: argparse.Namespace) -> int:
    """Change a notebook."""
    action = _get_action(options)
    _check_options(options, action)
    check_single_stdin(options.old, options.new, options.source, options.insert)
    given = _read_operations(options, action)
    with connect(options, options.notebook, is_change=not options.dry_run) as connection:
        operations, rev = given, options.rev
        if action == "old" and options.cell is None:
            operations, rev = _locate_text(connection, given[0])
        elif action != "operations" and (indexes := _find_indexes(given[0])):
            operations, notebook_hash = _name_cells(connection, given[0], indexes)
            rev = rev or notebook_hash
        body = {**get_change_fields(options), "rev": rev}
        return connection.answer(requests.edit(connection.path, operations, **body))


def run_new(options: argparse.Namespace) -> int:
    """Create a notebook."""
    cells = [] if options.cells is None else _read_list(options.cells)
    body = {**get_change_fields(options, wait_tabs=0), "kernelspec": options.kernel}
    with connect(options, options.notebook, is_change=not options.dry_run) as connection:
        return connection.answer(requests.create(connection.path, cells, **body))


# What to do ---------------------------------------------------------------------------------------


def _get_action(options: argparse.Namespace) -> str:
    given = [name for name in _ACTIONS if getattr(options, name) is not None]
    if not given and options.cell is not None and options.type is not None:
        return "source"
    if len(given) != 1:
        found = f"found {_quote(given)}" if given else "found none"
        raise UsageError(f"Expected one of {_quote(_ACTIONS)}; {found}.")
    return given[0]


def _check_options(options: argparse.Namespace, action: str) -> None:
    """Check which other options an action has."""
    _, required, optional = _ACTIONS[action]
    given = [name for name in _MODIFIERS if getattr(options, name) not in {None, False}]
    missing = [name for name in required if name not in given]
    unknown = [name for name in given if name not in {*required, *optional}]
    problem = None
    if missing:
        problem = f"needs {_quote(missing)}, too"
    elif unknown:
        problem = f"does not take {_quote(unknown)}"
    elif "after" in optional and sum(name in given for name in _POSITIONS) != 1:
        problem = f"needs exactly one of {_quote(_POSITIONS)}"
    if problem:
        raise UsageError(f"{_quote([action])} {problem}.")


def _quote(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _read_operations(options: argparse.Namespace, action: str) -> list[Any]:
    """Return the operations of the REST API for an action."""
    if action == "operations":
        return _read_list(options.operations)
    if options.clear_outputs == ["all"]:
        return [{"op": "clear_outputs", "all": True}]
    op, required, optional = _ACTIONS[action]
    operation: dict[str, Any] = {"op": op, **({"cell_type": "code"} if op == "insert" else {})}
    for name in (action, *required, *optional):
        value = getattr(options, name)
        if value is not None and value is not False:
            value = read_text(value) if name in _TEXTS else value
            operation[_FIELDS.get(name, name)] = "keep" if name == "keep_outputs" else value
    return [operation]


def _read_list(name: str) -> list[Any]:
    """Return the list in a JSON file."""
    try:
        content = json.loads(read_file(name))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name!r} is not JSON: {error}.") from None
    if not isinstance(content, list):
        raise UsageError(f"Expected a list in JSON in {name!r}; found {type(content).__name__}.")
    return content


def _find_indexes(operation: Mapping[str, Any]) -> list[str]:
    """Return the addresses of an operation that are indexes, unless a cell has such an id."""
    addresses = [operation.get(name) for name in ("cell", "after", "before")]
    return [
        each
        for each in (*addresses, *operation.get("cells", ()))
        if each is not None and each.isascii() and each.isdecimal()
    ]


def _name_cells(
    connection: Connection, operation: Mapping[str, Any], indexes: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """Return an operation with names instead of indexes, and the version of the notebook."""
    notebook = connection.client.read(connection.path, cell=indexes, view="outline", outputs="none")
    cells = notebook["cells"]
    names = {
        **{str(cell["index"]): _get_name(cell) for cell in cells},
        **{cell["id"]: _get_name(cell) for cell in cells if cell["id"] in indexes},
    }
    fields = {
        name: names.get(operation[name], operation[name])
        for name in ("cell", "after", "before")
        if name in operation
    }
    if "cells" in operation:
        fields["cells"] = [names.get(each, each) for each in operation["cells"]]
    return [{**operation, **fields}], notebook["hash"]


def _get_name(cell: Mapping[str, Any]) -> str:
    return f"{cell['index']}:{cell['source_hash'][:6]}"


def _locate_text(
    connection: Connection, operation: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], str]:
    """Return the operation for the cell that has the text, and the version of the notebook.

    With ``all``, there is an operation for each cell that has the text. Raise `TextMismatch` if no
    cell has it, or several.
    """
    # Other commands need none of it.
    from jupyter_nbedit.notebook.source_edit import find_cells_with_text  # noqa: PLC0415

    notebook = connection.client.read(connection.path, view="source", outputs="none")
    names = [_get_name(cell) for cell in notebook["cells"]]
    indexes = find_cells_with_text(
        [_normalize(cell["source"]) for cell in notebook["cells"]],
        _normalize(operation["old"]),
        takes_all=operation.get("all", False),
        get_name=names.__getitem__,
        advice=("Give --cell", "Give --cell, or --all"),
    )
    return [{**operation, "cell": names[index]} for index in indexes], notebook["hash"]


def _normalize(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
