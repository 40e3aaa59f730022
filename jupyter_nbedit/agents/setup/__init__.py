"""How MCP clients, such as Claude Code, are told to use jupyter_nbedit; standard library only.

A new client is a row of the table in `clients`, and there what is different for it.
"""
