"""Notebooks that are files on a local disk.

`file_storage` is the storage. How a file is replaced: `atomic_write` and `rename_exchange`; how it
is read: `read` and `lazy_bytes`.
"""
