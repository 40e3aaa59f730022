"""Find text in many notebooks.

`service` goes through the folders; `jupyter_nbedit.notebook.search` finds matches in one notebook.
"""
