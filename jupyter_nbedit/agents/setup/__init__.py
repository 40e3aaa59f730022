"""How MCP clients, such as Claude Code, are told to use jupyter_nbedit; standard library only.

A new client is a row of a table in `clients`, which also has what is different for it.
"""
