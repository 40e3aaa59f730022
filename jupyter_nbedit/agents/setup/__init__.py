"""How MCP clients, such as Claude Code, are told to use jupyter_nbedit; standard library only."""
