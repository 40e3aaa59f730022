"""Find text in many notebooks."""
