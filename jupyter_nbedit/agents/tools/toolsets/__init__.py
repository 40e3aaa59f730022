"""One module for each toolset: the tools as one kind of agent calls them.

A new toolset: a module here, and its tools in `jupyter_nbedit.agents.tools.TOOLS`. A new tool: its
row in `TOOLS` of its module. The skill also names the tools of `agent`.
"""
