"""Notebook trust: sign the edited bytes of a notebook that was trusted before the edit."""
