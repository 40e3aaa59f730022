"""The Model Context Protocol, without input and output: messages in, messages out.

`server.McpServer` answers single messages, and calls tools through a `server.ToolCaller`. `http`
adds what a POST has besides (headers, status codes), and `jupyter_nbedit.cli.bridge` what a process
remembers.

The specification is https://modelcontextprotocol.io/specification. Its revision 2026-07-28 is
called *modern* there: each request says its version and its client. The earlier ones are *legacy*:
a client sends ``initialize`` first. Only the standard library is imported, because the command line
must start quickly.
"""
