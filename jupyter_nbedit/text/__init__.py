"""Replies as compact text, for models and terminals: REST, tools and the command line share it."""
