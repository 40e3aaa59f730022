"""One SQLite file for all that is kept, with a versioned schema."""
