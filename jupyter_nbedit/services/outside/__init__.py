"""Outside changes: changes that other programs make to notebooks on disk.

`watcher` polls open notebooks, `examiner` compares them with the last known version, and `recorder`
stores and reports the difference. `copies` has the known versions. The intervals: `timing`.
"""
