"""The Model Context Protocol, without input and output: messages in, messages out.

`server.McpServer` answers single messages. `http` adds what a POST has besides (headers, status
codes), and `stdio` what a process remembers. Both call tools through a `server.ToolCaller`.

The specification is https://modelcontextprotocol.io/specification. Its revision 2026-07-28 is
called *modern* there: each request says its version and its client. The earlier ones are *legacy*:
a client sends ``initialize`` first. Only the standard library is imported, because the command line
must start quickly.
"""
