"""Large notebooks: bytes and cell positions that are read only when needed."""
