"""The demo: a temporary server, sample notebooks, and an agent that edits them."""
