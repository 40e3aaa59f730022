"""Where notebooks are kept."""
