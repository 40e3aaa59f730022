"""The demo: a temporary server, sample notebooks, and an agent that edits them.

`script` has the steps of the agent, `play` makes them, `server` starts JupyterLab.
"""
