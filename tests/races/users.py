"""Processes that switch to another user."""

import os

from tests.support.sampling import is_nightly

NOBODY = 65534


def switch_user(user: int) -> None:
    """Switch to another user."""
    if user != os.geteuid():
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def list_users() -> list[int]:
    """List the users of a test: modes and leases work differently for root."""
    if os.geteuid() != 0:
        return [os.geteuid()]
    return [os.geteuid(), NOBODY] if is_nightly() else [NOBODY]


def name_user(user: int) -> str:
    """Name a user in the names of tests."""
    return "us" if user == os.geteuid() else "nobody"
