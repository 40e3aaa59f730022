"""Notebooks as bytes: where their cells are, and which bytes an edit replaces.

Pure functions and data: nothing here opens a file, waits, or imports Jupyter. `document` is a
notebook, `operations` are what an edit may do, and `apply_batch` plans an edit of them. `views` is
what REST returns of cells, `text_cells` the same as text, `sections` finds headings.
"""
