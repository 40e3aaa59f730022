"""The events that the server emits: `models` has a class for each, a schema (YAML) describes it.

A field of an event: its class and its schema. A new event: a class in `models.EVENTS`, a schema
with its name, and a call of `emitter.EventEmitter.emit` where it happens.
"""
