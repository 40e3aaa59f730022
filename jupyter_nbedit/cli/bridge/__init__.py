"""The command ``mcp``: the Model Context Protocol over standard input and output.

`stdio` reads and writes the lines, `caller` carries out the calls of tools: each is sent to the
server that serves the notebook at that time, or answered without a server.
"""
