"""The events that the server emits: `emitters`, and a schema (YAML) for each.

A field of an event: its schema, and its `emit_` function.
"""
