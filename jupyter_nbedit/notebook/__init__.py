"""The notebook as bytes: where its cells stand, and what an edit replaces.

Pure: bytes in, bytes out. Nothing here opens a file, waits, or knows of a server.
"""
