"""Notebooks as bytes: where their cells are, and which bytes an edit replaces.

Pure functions and data: nothing here opens a file, waits, or imports Jupyter.
"""
