"""One SQLite file for all that is kept, with a versioned schema.

A new table or column: a migration in `schema`. `database` is the connection, its thread and its
recovery; `notebook_names` gives each notebook one name.
"""
