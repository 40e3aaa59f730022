"""Where notebooks are stored, and how they are read and written there."""
