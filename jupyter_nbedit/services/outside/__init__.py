"""Outside changes: those that other programs make to notebooks on disk.

`watcher` looks at open notebooks, `recorder` compares them with the last known version, records and
reports the difference. `copies` keeps that version on disk while no record of it exists.
"""
