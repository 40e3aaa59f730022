"""The functions that the extension jupyter_server_mcp gets, if the settings say so."""

import inspect
import json
from typing import Any, Literal, get_args, get_origin

import pytest

from jupyter_nbedit.agents import jupyter_server_mcp
from jupyter_nbedit.agents.jupyter_server_mcp import ToolFailed, list_functions
from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.agents.tools.base import build_input_schema
from tests.support import samples
from tests.support.http import Local

NAMES = {tool.name: tool for address, tool in TOOLS.items() if address.startswith("agent/")}
OFFERED = [{"NbEditApp": {"offer_to_jupyter_server_mcp": True}}]
offered = pytest.mark.parametrize("jp_server_config", OFFERED, indirect=True)
# Parameters of Python cannot have every name.
RENAMED = {"scope": "in"}


def get_function(name: str) -> Any:
    return getattr(jupyter_server_mcp, name)


@pytest.mark.usefixtures("local")
async def test_no_function_is_offered_unless_the_settings_say_so() -> None:
    assert list_functions() == []
    with pytest.raises(ToolFailed, match="does not offer its tools"):
        await get_function("notebook_history")(action="list")


@offered
@pytest.mark.usefixtures("local")
async def test_the_functions_are_the_tools_of_agents() -> None:
    functions = [specification.split(":") for specification in list_functions()]

    assert [name for _, name in functions] == list(NAMES)
    for module, name in functions:
        assert module == jupyter_server_mcp.__name__
        function, tool = get_function(name), NAMES[name]
        schema = build_input_schema(tool)
        parameters = {
            RENAMED.get(key, key): parameter
            for key, parameter in inspect.signature(function).parameters.items()
        }
        assert function.__doc__ == tool.description
        assert set(parameters) == set(schema["properties"])
        required = {key for key, value in parameters.items() if value.default is value.empty}
        assert required == set(schema.get("required", []))
        for key, parameter in parameters.items():
            literals = [
                kind
                for kind in (parameter.annotation, *get_args(parameter.annotation))
                if get_origin(kind) is Literal
            ]
            found = {value for kind in literals for value in get_args(kind)}
            assert found == set(schema["properties"][key].get("enum", []))


@offered
async def test_the_functions_do_what_the_tools_do(local: Local) -> None:
    (local.root / "a.ipynb").write_bytes(samples.three_cells())

    outline = await get_function("notebook_read")("a.ipynb", view="outline")
    edited = await get_function("notebook_edit")(
        "a.ipynb", [{"op": "insert", "source": "new", "at": "end"}], message="Why"
    )
    found = await get_function("notebook_search")(text="new", scope="all")
    created = await get_function("notebook_create")("b.ipynb", [{"source": "1 + 1"}])
    undone = await get_function("notebook_history")("undo", path="a.ipynb")

    assert outline.startswith("a.ipynb | 3 cells")
    assert "insert 3:" in edited
    assert "new" in found
    assert created.startswith("b.ipynb | 1 cell")
    assert undone.startswith("a.ipynb | 3 cells")
    assert (local.root / "a.ipynb").read_bytes() == samples.three_cells()
    history = (await local.request("GET", "nbedit", "notebooks", "a.ipynb", "history")).json
    authors = {(edit["user"], edit["client"]) for edit in history["edits"]}
    assert authors == {("jupyter_server_mcp", "jupyter_server_mcp")}


@offered
async def test_a_failure_has_the_text_for_models(local: Local) -> None:
    (local.root / "a.ipynb").write_bytes(samples.three_cells())
    delete = [{"op": "delete", "cell": "0:000000"}]

    with pytest.raises(ToolFailed, match=r"^cell_changed: ") as stale:
        await get_function("notebook_edit")("a.ipynb", delete)
    with pytest.raises(ToolFailed, match=r"^invalid_request: "):
        await get_function("notebook_read")("a.ipynb", max_chars=0)
    with pytest.raises(ToolFailed, match=r"^notebook_not_found: "):
        await get_function("notebook_read")("../a.ipynb")

    assert "Nothing was written" in str(stale.value)
    assert json.loads((local.root / "a.ipynb").read_bytes())["cells"]
