"""Notebooks that are open in a room of real-time collaboration.

`rooms` finds and locks a room, `room_storage` stores in it, `shared_notebook` changes its cells.
"""
