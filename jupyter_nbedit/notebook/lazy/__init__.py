"""Large notebooks: bytes and cell positions that are read only when needed.

`buffer` reads the bytes, `scan` finds the cells, `cell_spans` remembers where they are.
"""
