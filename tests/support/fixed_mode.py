"""Modes in memory, for tests that break the database on purpose."""

from jupyter_nbedit.services.modes import Mode, ModeManager


class FixedMode(ModeManager):
    """The mode ``edit`` for all notebooks, without a database."""

    def __init__(self) -> None:
        """Leave all fields at their defaults."""

    async def get_effective(self, path: str) -> Mode:  # noqa: ARG002 -- the same for all
        return self.server
