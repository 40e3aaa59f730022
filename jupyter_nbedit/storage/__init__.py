"""Where notebooks are stored, and how they are read and written there.

`base` says what a storage can do; `resolver` chooses one for a path. Each kind is a module of
`files/`, `contents/` or `rtc/`.
"""
