"""Records of edits, and how they are undone."""
