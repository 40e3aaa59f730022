"""The command ``mcp``: the Model Context Protocol over standard input and output.

`stdio` reads and writes the lines, `caller` carries out the calls of tools: each is sent to the
server that serves the notebook at that time, or answered without a server.
"""

import argparse
import os
import sys
from pathlib import Path

from jupyter_nbedit.cli.connection import print_problem
from jupyter_nbedit.cli.options import Subparsers, UsageError


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "mcp",
        help="speak the Model Context Protocol on standard input and output, for agents",
        description="Speak the Model Context Protocol on standard input and output. Each call of a"
        " tool goes to the Jupyter server that serves the notebook at that time; without a server"
        " the file is edited.",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="the folder of the notebooks; nothing outside of it is read or written (default:"
        " CLAUDE_PROJECT_DIR, else this folder)",
    )
    parser.add_argument("--url", help="the address of the server; else it is found by the path")
    parser.add_argument(
        "--token-file", metavar="FILE", help="a file with the token of the server at --url"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Answer requests until the end of the input."""
    from jupyter_nbedit.cli.bridge.caller import BridgeCaller  # noqa: PLC0415 -- asyncio is slow
    from jupyter_nbedit.cli.bridge.stdio import serve  # noqa: PLC0415 -- asyncio is slow

    root = options.root or os.environ.get("CLAUDE_PROJECT_DIR") or os.curdir
    if not Path(root).is_dir():
        raise UsageError(f"--root: there is no folder {root!r}.")
    if options.token_file and not (options.url or os.environ.get("NBEDIT_URL")):
        raise UsageError("--token-file is for the server at --url, or NBEDIT_URL; give that, too.")
    if sys.stdin is not None and sys.stdin.isatty():
        print_problem(
            "An MCP client starts this command and talks to it; `jupyter nbedit setup CLIENT` says "
            "how. Ctrl-C ends it."
        )
    return serve(BridgeCaller(root, url=options.url, token_file=options.token_file))
