"""Notebook trust: sign the edited bytes of a notebook that was trusted before the edit.

`manager` decides, `digest` says what is signed, `signature_store` is Jupyter's database.
"""
