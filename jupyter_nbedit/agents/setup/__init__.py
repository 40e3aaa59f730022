"""How MCP clients, such as Claude Code, are told to use jupyter_nbedit; standard library only."""

from typing import Literal

#: The environment variable that a client takes the token from; no file ever contains a token.
TOKEN_VARIABLE = "JUPYTER_TOKEN"  # noqa: S105 -- the name of a variable
#: The clients that can be set up.
ClientId = Literal[
    "claude",
    "codex",
    "gemini",
    "vscode",
    "cursor",
    "opencode",
    "zed",
    "copilot",
    "jupyter-ai",
]
