"""What agents need: tools, the Model Context Protocol, and the set-up of their programs.

A new tool, or a field of one: `tools/toolsets/`. A revision of MCP: `mcp/versions.py`.
A program that is set up: `setup/`. The texts of the skill: `skill/`.
"""
