"""Large notebooks: bytes that are read, and cells that are found, only where needed."""
