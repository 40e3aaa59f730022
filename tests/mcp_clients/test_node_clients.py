"""The official inspector and conformance suite of the Model Context Protocol, at night."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.agents.mcp.definitions import load_definitions
from tests.support import samples
from tests.support.http import Client
from tests.support.sampling import is_nightly

if not is_nightly():
    pytest.skip("needs Node 22: nox -s mcp -- --nightly", allow_module_level=True)

PROGRAMS = Path(__file__).parent / "node_modules" / ".bin"
# Those for servers of any kind: the others call tools, resources and prompts of certain names.
SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")
ERAS = ("legacy", "auto", "modern")
WAYS = ("endpoint", "bridge")
#: The exit code of the inspector if a tool has failed.
TOOL_FAILED = 5


def run(program: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAMS / program, *arguments],
        cwd=home,
        env={**os.environ, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def inspect(live: Client, home: Path, way: str, era: str, *arguments: str) -> tuple[int, Any]:
    """Return the exit code and the result of the inspector, at the endpoint or the bridge."""
    options = ["--protocol-era", era, "--format", "json", "--quiet", *arguments]
    if way == "endpoint":
        options += ["--header", f"Authorization: token {live.token}"]
        options += ["--server-url", f"http://127.0.0.1:{live.port}/nbedit/mcp"]
    else:
        # The inspector gives the programs that it starts only some variables.
        options += ["-e", f"JUPYTER_RUNTIME_DIR={live.root.parent / 'runtime'}"]
        bridge = Path(sys.executable).with_name("jupyter-nbedit")
        options += [str(bridge), "mcp", "--root", str(live.root)]
    done = run("mcp-inspector", "--cli", *options, home=home)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["result"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_passes(live: Client, tmp_path: Path, scenario: str) -> None:
    # The suite sends no headers of ours.
    url = f"http://127.0.0.1:{live.port}/nbedit/mcp?token={live.token}"
    done = run("conformance", "server", "--url", url, "--scenario", scenario, home=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "0 failed, 0 warnings" in done.stdout


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_finds_no_problem_in_the_definitions(
    live: Client, tmp_path: Path, era: str, way: str
) -> None:
    code, result = inspect(live, tmp_path, way, era, "--method", "tools/list", "--strict")
    assert (code, result["tools"]) == (0, list(load_definitions()))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_calls_tools(live: Client, tmp_path: Path, era: str, way: str) -> None:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    call = ("--method", "tools/call", "--tool-name", "notebook_edit", "--tool-args-json")
    for old, expected in (("as is", 0), ("gone", TOOL_FAILED)):
        operation = {"op": "replace_text", "old": old, "new": era}
        arguments = json.dumps({"path": "a.ipynb", "operations": [operation]})
        code, result = inspect(live, tmp_path, way, era, *call, arguments)
        assert (code, result.get("isError", False)) == (expected, expected != 0), result
    (edit, *_) = live.request("GET", "nbedit/notebooks/a.ipynb/history").json["edits"]
    assert "inspector" in edit["client"]
    assert samples.load_cells((live.root / "a.ipynb").read_bytes())[2]["source"] == era
