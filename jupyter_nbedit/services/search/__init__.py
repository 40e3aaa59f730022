"""Find text in many notebooks.

`service` goes through the folders; `jupyter_nbedit.notebook.search` finds matches in one notebook.

A filter: its field in `models`, its check of notebooks in `service`, or of cells in
`jupyter_nbedit.notebook.search`. The command `search` and the tool have only the main filters.
"""
