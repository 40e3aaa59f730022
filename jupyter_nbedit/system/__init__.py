"""What Python and the operating system need, without any notebook.

`concurrency` moves work to threads, `os_calls` makes files durable on each system, and `lru` is a
cache of limited size.
"""
