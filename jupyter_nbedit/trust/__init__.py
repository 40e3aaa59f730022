"""Notebook trust: signatures that survive an edit."""
