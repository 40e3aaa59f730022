"""Replies as compact text, for models and terminals: REST, tools and the command line share it.

`notebook` reads and writes notebooks; each other module writes one kind of reply.
"""
