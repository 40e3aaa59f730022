"""Write what is made from the code: ``python tests/openapi``.

These are the answers of the examples, ``docs/api.md``, the types of the JupyterLab extension, and
the definitions of tools in ``jupyter_nbedit/agents/mcp``. ``python tests/openapi --check`` writes
nothing, and fails if the types differ; tests compare the others.

To add an example, write its request into ``examples.json``; the answer is filled in.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

# `python tests/openapi` puts that folder first.
REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[0] = str(REPOSITORY)

from jupyter_nbedit.agents.mcp.definitions import TOOLS_FILE  # noqa: E402
from jupyter_nbedit.agents.tools.base import build_mcp_definition  # noqa: E402
from jupyter_nbedit.agents.tools.toolsets import agent  # noqa: E402
from jupyter_nbedit.handlers import default_handlers  # noqa: E402 - needs the line above
from jupyter_nbedit.handlers.openapi import build_document  # noqa: E402
from tests.openapi.examples import EXAMPLES, Example, load_examples  # noqa: E402
from tests.openapi.page import PAGE, build_page  # noqa: E402
from tests.openapi.playing import Stage  # noqa: E402
from tests.support.paths import LAB  # noqa: E402

LAB_TYPES = LAB / "src" / "server" / "openapi.ts"


def main() -> None:
    """Write the definitions, play all examples and write down what comes back."""
    definitions = [build_mcp_definition(tool) for tool in agent.TOOLS]
    TOOLS_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(definitions)) + b"\n")
    with tempfile.TemporaryDirectory() as folder, closing(Stage(Path(folder))) as stage:
        played = [_record(stage, exchange) for exchange in load_examples()]
    EXAMPLES.write_bytes(msgspec.json.format(msgspec.json.encode(played), indent=1) + b"\n")
    load_examples.cache_clear()
    document = build_document(default_handlers, base_url="/")
    PAGE.write_text(build_page(document))
    LAB_TYPES.write_text(_build_lab_types(document))
    print(f"{len(played)} examples")


def check() -> None:
    """Exit with a message if the types of the JupyterLab extension do not fit the document."""
    document = build_document(default_handlers, base_url="/")
    if LAB_TYPES.read_text() != _build_lab_types(document):
        sys.exit(f"{LAB_TYPES} does not fit the OpenAPI document. Run `python tests/openapi`.")


def _record(stage: Stage, exchange: Example) -> Example:
    if exchange.constructed:
        return exchange
    status, answer = stage.play(exchange)
    print(status, exchange.name, "" if status < 400 else answer)
    return msgspec.structs.replace(exchange, status=status, answer=answer)


def _build_lab_types(document: Mapping[str, Any]) -> str:
    """Return the module with the types; `npm ci` must have run in the folder of the lab."""
    # The page calls the routes by hand, and needs no types of them.
    schemas = {
        **document,
        "paths": {},
        "components": {"schemas": document["components"]["schemas"]},
    }
    command = ("node", "node_modules/openapi-typescript/bin/cli.js")
    done = subprocess.run(
        (*command, "--immutable", "--empty-objects-unknown"),
        cwd=LAB,
        input=msgspec.json.encode(schemas),
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode()


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else main()
