"""Counted work: `test_linear_time.py` runs it in other processes, with the plugin.

Each case is done for some size and for twice that size. A quadratic part of it would make four
times as many steps of twice the size; up to 2.3 times leaves room for logarithms. The nightly run
takes larger sizes.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from jupyter_nbedit.agents.mcp.errors import ProtocolError
from jupyter_nbedit.agents.mcp.messages import parse
from jupyter_nbedit.agents.tools.agent_operations import AgentOperation, OperationTranslator
from jupyter_nbedit.agents.tools.files import replace_string
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.cell_patch import compute_patch
from jupyter_nbedit.notebook.diff import render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import compare_documents
from jupyter_nbedit.notebook.line_merge import merge_lines
from jupyter_nbedit.notebook.operations import RemoveEntry
from jupyter_nbedit.notebook.sequence_diff import is_still_applied, list_differences, list_hunks
from jupyter_nbedit.notebook.undo.net_change import PastChange, compute_net_change
from jupyter_nbedit.services.reading.delta import list_parts
from jupyter_nbedit.services.reading.versions import Version, VersionCache
from tests.linear import counting
from tests.linear.documents import BROKEN_JSON, DOCUMENTS, attempt, change, read
from tests.notebook.oracle import edit
from tests.support import samples
from tests.support.http import JSON, Local
from tests.support.sampling import is_nightly

NIGHTLY = is_nightly()
MOST = 2.3
#: Bodies of requests to the endpoint of MCP.
MESSAGES: dict[str, Callable[[int], bytes]] = {
    "many objects": lambda n: b"[" + b"{}," * n + b"{}]",
    "a member that is repeated late": lambda n: (
        "{" + "".join(f'"{k}": 1, ' for k in range(n)) + '"a": 1, "a": 2}'
    ).encode(),
}


def count_steps(work: Callable[[], object]) -> int:
    before = counting.taken
    work()
    return counting.taken - before


def assert_linear(work: Callable[[int], object], size: int) -> None:
    once, twice = count_steps(partial(work, size)), count_steps(partial(work, 2 * size))
    assert once > 100, "nothing was counted"
    assert twice <= MOST * once, f"{once} steps, and {twice} of twice the size"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_texts_are_read_and_changed_in_linear_time(name: str) -> None:
    def read_and_change(size: int) -> None:
        text = f"{DOCUMENTS[name](size)}\n\n# ok\n\n- x\n"
        read(text)
        change(text)

    assert_linear(read_and_change, 2000 if NIGHTLY else 500)


@pytest.mark.parametrize("name", BROKEN_JSON)
def test_invalid_json_is_refused_in_linear_time(name: str) -> None:
    assert_linear(lambda size: attempt(Document.parse, BROKEN_JSON[name](size)), 5000)


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_of_mcp_are_parsed_in_linear_time(name: str) -> None:
    def read_message(size: int) -> None:
        with suppress(ProtocolError):
            parse(MESSAGES[name](size))

    assert_linear(read_message, 5000)


def apply_batch(
    cells: list[dict[str, Any]], operations: list[dict[str, Any]]
) -> Callable[[], object]:
    document = Document.parse(samples.notebook(*cells))
    return lambda: edit(document, *operations)


@pytest.mark.parametrize(
    ("operation", "most"),
    [
        (lambda n: {"op": "append_to_section", "section": f"a{n}", "source": "- x\n\n## y"}, None),
        (lambda n: {"op": "append_to_section", "section": "a0", "source": f"- x{n}"}, None),
        (lambda n: {"op": "replace_section", "section": f"a{n}", "source": "# x"}, None),
        (lambda n: {"op": "remove_entry", "section": f"a{n}", "match": "item"}, None),
        # What each of them seeks is sought in the whole section, so their number stays.
        (lambda n: {"op": "remove_entry", "section": "all", "match": f"item {n} "}, 10),
    ],
)
def test_edits_of_the_sections_of_a_cell_are_one_pass(
    operation: Callable[[int], dict[str, Any]], most: int | None
) -> None:
    def work(size: int) -> int:
        source = "".join(f"## a{n}\n\n- item {n} \n" for n in range(size))
        cell = samples.markdown(f"# all\n{source}# end\n", "a")
        return count_steps(apply_batch([cell], [operation(n) for n in range(most or size // 4)]))

    once, twice = work(60), work(120)

    assert twice <= MOST * once, (once, twice)


@pytest.mark.parametrize("count", [1, 50] if NIGHTLY else [1])
def test_edits_remove_entries_in_linear_time(count: int) -> None:
    def remove(size: int) -> None:
        text = "# A\n" + "- a\n\n" * size
        removal = RemoveEntry(section="A", match="a")
        assert sections.apply_to_text(text, removal).strip() == "# A"

    assert_linear(remove, 10 * count + 200)


@pytest.mark.parametrize(
    "texts",
    [
        lambda n: ("a\n" * n, "b\n" + "a\n" * (n // 2) + "c\n"),
        lambda n: ("a\nb\n" * n, "b\nb\na\n" * n),
        lambda n: ("a b " * n, "b a c " * n),
        lambda n: ("".join(f"{i}\n" for i in range(n)), "".join(f"{n - i}\n" for i in range(n))),
        lambda n: (
            "".join(f"{i} a a b\n" for i in range(n)),
            "".join(f"{i} b a\n" for i in range(n)),
        ),
        lambda n: ("a" * n, "b" * n),
    ],
)
def test_comparisons_take_linear_time(texts: Callable[[int], tuple[str, str]]) -> None:
    def compare(size: int) -> None:
        before, after = texts(size)
        list_hunks(before, after)
        is_still_applied(before, after, before + after)
        list_differences(before.splitlines(), after.splitlines())
        merge_lines(before, after, f"{before}x")
        merge_lines(before, f"x\n{before}", after)
        document = Document.parse(samples.notebook(samples.raw(before, metadata={"a": before})))
        operations: list[dict[str, Any]] = [
            {"op": "replace", "cell": 0, "source": after},
            {"op": "set_metadata", "cell": 0, "patch": {"a": after.split()}},
        ]
        render_unified_diff("a", edit(document, *operations))

    assert_linear(compare, 3000 if NIGHTLY else 200)


def test_comparisons_for_a_merge_of_repeated_lines_take_linear_time() -> None:
    def merge(size: int) -> None:
        # No line is so frequent that difflib would leave it out.
        base = [f"{n % 100}" for n in range(size)]
        mine, theirs = ["x", *base[::-1]], [*base[size // 3 :], *base[: size // 3]]
        merge_lines("\n".join(base), "\n".join(mine), "\n".join(theirs))

    assert_linear(merge, 4000 if NIGHTLY else 1200)


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("op", ["replace", "delete", "move", "insert"])
def test_comparisons_of_many_unseen_edits_take_linear_time(op: str, *, has_ids: bool) -> None:
    def change(size: int, number: int) -> dict[str, Any]:
        operations: dict[str, dict[str, Any]] = {
            "replace": {"op": op, "cell": number, "source": f"y = {number}"},
            "delete": {"op": op, "cells": [0, 10]},
            "move": {"op": op, "cells": [number, size // 2], "at": "start"},
            "insert": {"op": op, "index": number, "cell_type": "code", "source": "x = 1"},
        }
        return operations[op]

    def compare(cell_count: int, edit_count: int) -> int:
        cells = [samples.code("x = 1", f"c{n}" if has_ids else None) for n in range(cell_count)]
        document = Document.parse(samples.notebook(*cells, minor=5 if has_ids else 4))
        changes: list[PastChange] = []
        for number in range(edit_count):
            plan = edit(document, change(cell_count, number))
            record = plan.build_record().encode()
            document = document.apply_splices(plan.splices)
            changes.append(
                PastChange(
                    edit_id=number + 1,
                    hash_before=f"{number}",
                    hash=f"{number + 1}",
                    record=record,
                )
            )

        return count_steps(lambda: compute_net_change(document, f"{edit_count}", changes[::-1]))

    cell_count, edit_count = (1000, 100) if NIGHTLY else (60, 12)
    once = compare(cell_count, edit_count)
    assert once > 100, "nothing was counted"
    assert compare(2 * cell_count, edit_count) <= MOST * once
    assert compare(cell_count, 2 * edit_count) <= MOST * once


def test_comparisons_of_cells_without_ids_take_linear_time() -> None:
    def pair(size: int) -> None:
        old = [samples.code(f"x = {'a b ' * size}{n}") for n in range(10)]
        new = [samples.code(f"y = {'b a ' * size}{n}") for n in range(10)]
        compute_patch(
            Document.parse(samples.notebook(*old, minor=4)),
            Document.parse(samples.notebook(*new, minor=4)),
        )

    assert_linear(pair, 200 if NIGHTLY else 50)


@pytest.mark.parametrize("has_ids", [True, False])
def test_comparisons_of_two_versions_take_linear_time_in_the_number_of_cells(
    has_ids: bool,  # noqa: FBT001 -- a column
) -> None:
    def parse(sources: list[str]) -> Document:
        cells = [samples.code(source, source.strip() if has_ids else None) for source in sources]
        return Document.parse(samples.notebook(*cells, minor=5 if has_ids else 4))

    def compare(size: int) -> None:
        before = [f"{n}" for n in range(size)]
        # The record of a new order has its own limit: it seeks moved bytes in written ones.
        compare_documents(parse(before), parse(before[::-1]))
        for after in ([f"{n} " for n in range(size)], [f"-{n}" for n in range(size)]):
            compare_documents(parse(before), parse(after)).build_record()

    assert_linear(compare, 200 if NIGHTLY else 50)


Cells = Sequence[tuple[object, str | None]]
VERSIONS: dict[str, Callable[[int], tuple[Cells, Cells]]] = {
    "equal cells": lambda n: ([("a", None)] * n, [("b", None), *[("a", None)] * (n - 5)]),
    "cells in reverse": lambda n: (
        [(at, f"c{at}") for at in range(n)],
        [(at, f"c{at}") for at in reversed(range(n))],
    ),
    "two kinds of cells in turn": lambda n: (
        [(at % 2, None) for at in range(n)],
        [(at % 2, None) for at in range(1, n)] + [("c", None)] * 9,
    ),
    "halves that change places": lambda n: (
        [(at, f"c{at}") for at in range(n)],
        [((at + n // 2) % n, f"c{(at + n // 2) % n}") for at in range(n)],
    ),
    "one id for all": lambda n: (
        [(at, "a") for at in range(n)],
        [(at // 3, "a") for at in range(n)],
    ),
    "a few ids": lambda n: (
        [(at % 7, f"c{at % 5}") for at in range(n)],
        [(at % 5, f"c{at % 7}") for at in range(n)],
    ),
    "changes everywhere between equal cells": lambda n: (
        [(at if at % 3 else "a", None) for at in range(n)],
        [(-at if at % 3 else "a", None) for at in range(n)],
    ),
}


def build_notebook(cells: Cells) -> Document:
    return Document.parse(samples.notebook(*(samples.raw(f"{text}", name) for text, name in cells)))


@pytest.mark.parametrize("name", VERSIONS)
def test_comparisons_of_versions_take_linear_time(name: str) -> None:
    def count(size: int) -> int:
        before, after = (build_notebook(cells) for cells in VERSIONS[name](size))

        def compare() -> None:
            versions = VersionCache()
            known, version = (versions.remember(each.hash, each) for each in (before, after))
            versions.compare(before.hash, after)
            assert list_parts(known, version, after)

        return count_steps(compare)

    size = 4000 if NIGHTLY else 400
    once, twice = count(size), count(2 * size)
    assert once > size
    assert twice <= MOST * once, (once, twice)


def test_comparisons_after_many_splices_take_linear_time() -> None:
    def count(size: int) -> int:
        cells = [samples.code("x", f"c{n}", outputs=[samples.HTML_OUTPUT]) for n in range(size)]
        before = Document.parse(samples.notebook(*cells))
        plan = edit(before, {"op": "clear_outputs", "all": True})
        assert len(plan.splices) >= size
        version, after = Version.from_document(before), before.apply_splices(plan.splices)
        return count_steps(lambda: version.derive(before, after, plan.splices, plan.list_origins))

    size = 4000 if NIGHTLY else 400
    once, twice = count(size), count(2 * size)
    assert once > size
    assert twice <= MOST * once, (once, twice)


def test_guarded_names_of_many_cells_take_linear_time() -> None:
    def edit_all(size: int) -> None:
        cells = [samples.code(f"x{n}") for n in range(size)]
        document = Document.parse(samples.notebook(*cells, minor=4))
        names = [CellName.from_source(0, f"x{n}") for n in range(size)]
        edit(document, *({"op": "clear_outputs", "cell": str(name)} for name in names))

    assert_linear(edit_all, 200)


def test_texts_to_replace_are_found_in_linear_time() -> None:
    operations = [AgentOperation(op="replace_text", old=f"x{n} ", new="y") for n in range(50)]

    def find_all(size: int) -> None:
        cells = [samples.code(f"x{n} = 1") for n in range(size)]
        document = Document.parse(samples.notebook(*cells, minor=4))
        assert len(OperationTranslator(operations).translate(document)) == len(operations)

    assert_linear(find_all, 200)


def test_a_text_that_is_not_found_is_compared_in_linear_time() -> None:
    def look(size: int) -> None:
        source = "a b c\n" * size + "x " * size
        document = Document.parse(samples.notebook(samples.code(source)))
        replacement = {"op": "replace_text", "cell": 0, "old": "a x " * size, "new": ""}
        attempt(partial(edit, document), replacement)

    assert_linear(look, 200)


@pytest.mark.parametrize("text", ["a", "ab", "a\r\n", "\r"])
def test_edits_replace_a_text_everywhere_in_linear_time(text: str) -> None:
    def replace(size: int) -> None:
        replace_string("a" + text * size, "a", "b\nc", replaces_all=True)

    assert_linear(replace, 1000)


HTTP: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    *(
        ("PATCH", ("nbedit", "notebooks", "a.ipynb"), {"operations": [operation]})
        for operation in (
            {"op": "append_to_section", "section": "ok", "source": "x"},
            {"op": "replace_section", "section": "# ok", "source": "x"},
            {"op": "remove_entry", "section": "ok", "match": "x"},
            {"op": "replace_text", "cell": 0, "old": "a", "new": "bc", "all": True},
        )
    ),
    *(
        ("POST", ("nbedit", "tools", "sections", "notebook_edit"), {"file": name, **given})
        for name in ("a.ipynb", "a.md")
        for given in (
            {"action": "read", "section": "ok"},
            {"action": "append_to_section", "section": "ok", "content": "x"},
            {"action": "replace_section", "section": "ok", "content": "x"},
            {"action": "remove_entry", "section": "ok", "entry_match": "x"},
        )
    ),
    ("GET", ("nbedit", "notebooks", "a.ipynb"), {"section": "ok"}),
    ("GET", ("nbedit", "notebooks", "a.ipynb"), {"section": "no such section"}),
]


@pytest.mark.parametrize(("verb", "parts", "arguments"), HTTP if NIGHTLY else HTTP[:4] + HTTP[-1:])
async def test_routes_on_sections_take_linear_time(
    verb: str, parts: tuple[str, ...], arguments: dict[str, Any], local: Local
) -> None:
    counts = []
    for size in (250, 500) if NIGHTLY else (60, 120):
        texts = [f"{build(size)}\n" for build in DOCUMENTS.values()]
        cells = [samples.markdown(text, f"c{n}") for n, text in enumerate(texts)]
        cells.append(samples.markdown("# ok\n\n- x\n", "ok"))
        (local.root / "a.ipynb").write_bytes(samples.notebook(*cells))
        (local.root / "a.md").write_text("# ok\n\n- x\n\n" + "\n\n".join(texts), newline="")
        before = counting.taken
        if verb == "GET":
            answer = await local.request(verb, *parts, params=arguments)
        else:
            answer = await local.request(
                verb, *parts, body=json.dumps(arguments).encode(), headers=JSON
            )
        assert answer.status in {200, 404}, answer.body
        counts.append(counting.taken - before)
    assert counts[0] > 1000, "nothing was counted"
    assert counts[1] <= MOST * counts[0], counts
