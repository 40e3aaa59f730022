"""Metadata in requests, validated like in nbformat's own schema, which the model uses."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document
from tests.notebook.model import list_defined_members
from tests.notebook.oracle import check_batch
from tests.support import samples

OWNERS = ("notebook", "code", "markdown", "raw")
CELLS = {"code": samples.code("x"), "markdown": samples.markdown("x"), "raw": samples.raw("x")}
#: By owner and minor version of the format; an unknown version is treated as the latest.
MEMBERS = [
    (owner, minor, name)
    for owner in OWNERS
    for minor in (*range(6), 6, 17)
    for name in sorted(list_defined_members(owner, minor))
]
JSON = dict[str, Any]

words = st.sampled_from(["", "a", "b", "a,b", "auto", "a\n", "\n", "yes"])
scalars = st.one_of(
    st.none(), st.booleans(), st.sampled_from([-1, 0, 1, 4, 0.5, 1.0, 2**70]), words
)
#: What the members have of their own, beside values of any form.
fields = st.sampled_from(
    ["name", "display_name", "codemirror_mode", "mimetype", "iopub.execute_input", "language"]
)
values: st.SearchStrategy[Any] = st.one_of(
    scalars,
    st.lists(st.one_of(words, scalars), max_size=3),
    st.lists(words, max_size=3),
    st.dictionaries(fields, st.one_of(words, scalars, st.just({})), max_size=4),
)


def document(owner: str, minor: int, metadata: JSON) -> Document:
    cells = []
    if owner != "notebook":
        cells = [{**CELLS[owner], "metadata": metadata, **({"id": "x"} if minor > 4 else {})}]
    top = metadata if owner == "notebook" else {}
    value = {"cells": cells, "metadata": top, "nbformat": 4, "nbformat_minor": minor}
    return Document.parse(json.dumps(value).encode())


def set_metadata(owner: str, patch: JSON) -> JSON:
    cell = {} if owner == "notebook" else {"cell": 0}
    return {"op": "set_metadata", "patch": patch, **cell}


def test_the_schema_defines_members_for_every_owner() -> None:
    assert {owner for owner, _, _ in MEMBERS} == set(OWNERS)
    assert len(MEMBERS) > 80


@given(where=st.sampled_from(MEMBERS), value=values)
@example(("code", 5, "tags"), ["a", "a"])
@example(("code", 5, "tags"), [""])
@example(("code", 5, "name"), "")
@example(("notebook", 5, "kernelspec"), {"name": "x"})
@example(("notebook", 5, "language_info"), {"version": "3"})
@example(("code", 17, "tags"), 1)
def test_a_value_is_refused_if_and_only_if_nbformat_refuses_it(
    where: tuple[str, int, str], value: Any
) -> None:
    owner, minor, name = where
    check_batch("metadata", document(owner, minor, {}), [set_metadata(owner, {name: value})])
    if owner != "notebook":
        insert = {"op": "insert", "at": "end", "source": "x", "cell_type": owner}
        check_batch("metadata", document(owner, minor, {}), [{**insert, "metadata": {name: value}}])


@pytest.mark.parametrize("owner", OWNERS)
def test_a_member_is_validated_in_the_versions_that_define_it(owner: str) -> None:
    for name in sorted({name for one, _, name in MEMBERS if one == owner}):
        for minor in range(7):
            for value in (1, {"a": 1}):
                operation = set_metadata(owner, {name: value})
                check_batch("metadata", document(owner, minor, {}), [operation])


def test_the_result_of_a_metadata_patch_is_validated() -> None:
    before = document("notebook", 5, {"kernelspec": {"name": "x", "display_name": "X"}})

    assert not check_batch("", before, [set_metadata("notebook", {"kernelspec": {"name": None}})])
    assert check_batch("", before, [set_metadata("notebook", {"kernelspec": {"name": "y"}})])


@pytest.mark.parametrize("owner", OWNERS)
def test_a_notebook_with_other_invalid_parts_stays_editable(owner: str) -> None:
    invalid = {"tags": "slow", "name": "", "kernelspec": {}, "title": 1, "format": 1}
    before = document(owner, 5, invalid)

    assert check_batch("", before, [set_metadata(owner, {"mine": 1})])
    assert check_batch("", before, [set_metadata(owner, dict.fromkeys(invalid))])
    if owner != "notebook":
        assert check_batch("", before, [{"op": "replace", "cell": 0, "source": "y"}])


def test_a_member_of_another_cell_type_is_validated_after_a_change_of_type() -> None:
    before = document("markdown", 5, {"collapsed": "yes", "tags": "slow"})
    change = {"op": "replace", "cell": 0, "cell_type": "code"}

    assert check_batch("", before, [set_metadata("markdown", {"scrolled": 5})])
    assert not check_batch("", before, [change])
    assert check_batch("", before, [set_metadata("markdown", {"collapsed": None}), change])
