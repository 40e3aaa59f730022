"""Cells that are undone one by one, in any order, end in the order that was kept.

Two servers of one user, with one data folder, answer the requests by turns. Random histories are in
`tests/services/unseen/test_histories.py` and `tests/services/edits/test_undo_order.py`, and random
orders of the parts of a proposal in `tests/notebook/undo/test_revert.py`.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.races.servers import RaceServers, run_servers
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client

Cells = list[dict[str, Any]]
Batch = list[dict[str, Any]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Client]]:
    """Yield two servers of one user that serve one folder."""
    with run_servers(RaceServers(tmp_path_factory.mktemp("orders"))) as servers:
        yield [run.server.client for run in servers.runs.values()]


def make_cells(text: str, *, has_ids: bool = True) -> Cells:
    """Return a cell for each letter, which is its source and, in lower case, its id."""
    return [samples.raw(letter, letter.lower() if has_ids else None) for letter in text]


#: The kept cells, and edits of them.
CASES: dict[str, tuple[Cells, list[Batch]]] = {
    "several cells deleted by one edit": (
        make_cells("ABCD"),
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "several cells without ids deleted by one edit": (
        make_cells("ABCD", has_ids=False),
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "equal cells without ids deleted": (
        [*make_cells("A", has_ids=False), samples.markdown("A"), *make_cells("CA", has_ids=False)],
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "a cell moved, another deleted": (
        make_cells("ABCD"),
        [[{"op": "move", "cell": 1, "at": "end"}], [{"op": "delete", "cell": 1}]],
    ),
    "a cell without id moved and changed, another deleted": (
        make_cells("ABCD", has_ids=False),
        [
            [{"op": "move", "cell": 1, "at": "end"}],
            [{"op": "replace", "cell": 3, "source": "Q"}],
            [{"op": "delete", "cell": 1}],
        ],
    ),
    "cells exchanged and deleted by one edit": (
        make_cells("AB"),
        [
            [{"op": "move", "cell": "b", "at": "start"}, {"op": "delete", "cells": [0]}],
            [{"op": "delete", "cells": [0]}],
        ],
    ),
    "cells exchanged, then deleted": (
        make_cells("AB"),
        [
            [{"op": "move", "cell": "b", "at": "start"}],
            [{"op": "delete", "cells": [1]}],
            [{"op": "delete", "cells": [0]}],
        ],
    ),
    "two cells deleted by two edits": (
        make_cells("ABX"),
        [[{"op": "delete", "cells": ["a"]}], [{"op": "delete", "cells": ["b"]}]],
    ),
    "two cells with one id deleted by two edits": (
        [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")],
        [[{"op": "delete", "cells": [0]}], [{"op": "delete", "cells": [1]}]],
    ),
    "two cells with one id deleted by one edit": (
        [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")],
        [[{"op": "delete", "cells": [0, 2]}]],
    ),
    "cells with one id moved and deleted": (
        [samples.raw("A", "c"), *make_cells("B"), samples.raw("C", "c"), *make_cells("DE")],
        [
            [
                {"op": "move", "cell": 0, "before": 2},
                {"op": "move", "cell": 0, "after": 1},
                {"op": "delete", "cells": [0, 3, 2]},
            ],
            [{"op": "delete", "cell": 0}],
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cells_that_are_undone_one_by_one_have_the_kept_order(
    servers: list[Client], case: str
) -> None:
    kept, batches = CASES[case]
    turns = itertools.cycle(Notebook(server, "a.ipynb") for server in servers)
    for order in itertools.permutations(range(4)):
        next(turns).write(*kept)
        assert next(turns).read().status == 200
        assert next(turns).keep().status == 200
        for batch in batches:
            assert next(turns).patch(*batch, client="Claude").status == 200
        undone: list[str] = []
        for choice in itertools.cycle(order):
            cells = next(turns).list_unseen()
            if not cells:
                break
            cell = cells[min(choice, len(cells) - 1)]
            answer = next(turns).undo(cells=[cell["key"]])
            assert answer.status == 200, answer.body
            undone.append(cell["key"])

        assert samples.load_cells(next(turns).text) == kept, undone


def test_undo_of_a_deleted_cell_leaves_another_with_its_id_in_the_list(notebook: Notebook) -> None:
    cells = [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")]
    notebook.write(*cells)
    assert notebook.patch({"op": "delete", "cell": 0}, client="Claude").status == 200
    assert notebook.patch({"op": "delete", "cell": 1}, client="Claude").status == 200
    first, second = notebook.list_unseen()

    notebook.undo(cells=[first["key"]])

    assert [(cell["key"], cell["before"]) for cell in notebook.list_unseen()] == [
        (second["key"], second["before"])
    ]
