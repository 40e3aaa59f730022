"""Metadata of requests, judged by nbformat's own schema."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.validator import get_validator

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from tests.notebook.oracle import edit
from tests.support import samples

OWNERS = ("notebook", "code", "markdown", "raw")
CELLS = {"code": samples.code("x"), "markdown": samples.markdown("x"), "raw": samples.raw("x")}

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


def is_valid(value: Any) -> bool:
    """Return whether nbformat finds a whole notebook valid."""
    return bool(nbformat.validator.isvalid(value, version=4))


def notebook(owner: str, minor: int, metadata: dict[str, Any]) -> dict[str, Any]:
    cells = []
    if owner != "notebook":
        cells = [{**CELLS[owner], "metadata": metadata, **({"id": "x"} if minor > 4 else {})}]
    top = metadata if owner == "notebook" else {}
    return {"cells": cells, "metadata": top, "nbformat": 4, "nbformat_minor": minor}


def members() -> list[tuple[str, int, str]]:
    """List the members that nbformat's schemas define, by owner and minor version."""
    found = []
    for minor in range(6):
        schema = get_validator(4, minor)._schema
        top = schema["properties"]["metadata"]["properties"]
        found += [("notebook", minor, name) for name in top]
        for owner in ("code", "markdown", "raw"):
            cell = schema["definitions"][f"{owner}_cell"]["properties"]["metadata"]
            found += [(owner, minor, name) for name in cell["properties"]]
    return found


MEMBERS = members()


def refusal(before: dict[str, Any], *operations: dict[str, Any]) -> str | None:
    document = Document.parse(json.dumps(before).encode())
    try:
        found = edit(document, *operations)
    except InvalidOperation as error:
        return f"{error.details['member']}: {error.message}"
    join(document.text, found.splices)
    return None


def test_the_schema_defines_members_for_every_owner() -> None:
    assert {owner for owner, _, _ in MEMBERS} == set(OWNERS)
    assert len(MEMBERS) > 60


@given(where=st.sampled_from(MEMBERS), value=values)
def test_a_value_is_refused_if_and_only_if_nbformat_refuses_it(
    where: tuple[str, int, str], value: Any
) -> None:
    owner, minor, name = where
    before = notebook(owner, minor, {})
    cell = {} if owner == "notebook" else {"cell": 0}
    # A null in a patch removes a member, and is none in what is set.
    patch = {name: value}
    document = Document.parse(json.dumps(before).encode())

    refused = refusal(before, {"op": "set_metadata", "patch": patch, **cell})

    if refused is None:
        after = json.loads(
            join(
                document.text,
                edit(document, {"op": "set_metadata", "patch": patch, **cell}).splices,
            )
        )
        assert is_valid(after)
    else:
        kept = (
            {key: item for key, item in value.items() if item is not None}
            if isinstance(value, dict)
            else value
        )
        assert not is_valid(notebook(owner, minor, {name: kept}))


@given(where=st.sampled_from([one for one in MEMBERS if one[0] != "notebook"]), value=values)
def test_a_new_cell_is_judged_as_one_that_is_there(where: tuple[str, int, str], value: Any) -> None:
    owner, minor, name = where
    insert = {"op": "insert", "at": "end", "source": "x", "cell_type": owner}

    refused = refusal(notebook("notebook", minor, {}), {**insert, "metadata": {name: value}})

    assert (refused is None) == is_valid(notebook(owner, minor, {name: value}))


@pytest.mark.parametrize(
    ("owner", "metadata", "patch", "reason"),
    [
        ("code", {}, {"tags": "slow"}, "Expected `array`, got `str`"),
        ("code", {}, {"tags": ["a", "a"]}, "found 'a' more than once"),
        ("markdown", {}, {"tags": ["a,b"]}, "matching regex"),
        ("code", {}, {"collapsed": "yes"}, "Expected `bool`, got `str`"),
        ("code", {}, {"name": ""}, "matching regex"),
        ("notebook", {}, {"kernelspec": {"name": "x"}}, "missing required field `display_name`"),
        (
            "notebook",
            {"kernelspec": {"name": "x", "display_name": "X"}},
            {"kernelspec": {"display_name": None}},
            "missing required field `display_name`",
        ),
        ("notebook", {}, {"language_info": {"version": "3"}}, "missing required field `name`"),
    ],
)
def test_the_refusal_says_what_the_schema_demands(
    owner: str, metadata: dict[str, Any], patch: dict[str, Any], reason: str
) -> None:
    cell = {} if owner == "notebook" else {"cell": 0}

    refused = refusal(notebook(owner, 5, metadata), {"op": "set_metadata", "patch": patch, **cell})

    assert refused is not None
    assert reason in refused


@pytest.mark.parametrize("owner", OWNERS)
def test_a_notebook_that_is_invalid_elsewhere_stays_editable(owner: str) -> None:
    invalid = {"tags": "slow", "name": "", "kernelspec": {}, "title": 1, "format": 1}
    cell = {} if owner == "notebook" else {"cell": 0}
    before = notebook(owner, 5, invalid)

    assert refusal(before, {"op": "set_metadata", "patch": {"mine": 1}, **cell}) is None
    assert refusal(before, {"op": "set_metadata", "patch": dict.fromkeys(invalid), **cell}) is None
    if owner != "notebook":
        assert refusal(before, {"op": "replace", "cell": 0, "source": "y"}) is None


def test_a_member_of_another_type_of_cell_is_free_until_the_cell_has_that_type() -> None:
    before = notebook("markdown", 5, {"collapsed": "yes", "tags": "slow"})
    change = {"op": "replace", "cell": 0, "cell_type": "code"}

    assert refusal(before, {"op": "set_metadata", "cell": 0, "patch": {"scrolled": 5}}) is None
    refused = refusal(before, change)
    assert refused is not None
    assert "`collapsed`" in refused
    repair = {"op": "set_metadata", "cell": 0, "patch": {"collapsed": None}}
    assert refusal(before, repair, change) is None


@pytest.mark.parametrize("minor", [6, 17])
def test_a_format_that_is_not_known_yet_is_judged_as_the_latest(minor: int) -> None:
    before = notebook("code", minor, {})

    refused = refusal(before, {"op": "set_metadata", "cell": 0, "patch": {"tags": 1}})

    assert refused is not None
    assert "4.5" in refused
