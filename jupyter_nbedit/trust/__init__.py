"""Notebook trust: sign the edited bytes of a notebook that was trusted before the edit.

`manager` decides, `signature` says what is signed, `signature_store` is Jupyter's database.
"""
