"""Unseen changes: what a user has not yet kept.

`service` lists and keeps them, and undoes or restores cells; `store` is the SQL.
"""
