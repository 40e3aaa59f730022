"""The file with the messages of all errors that the tables of this folder cause."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("messages.txt")
_HEAD = """\
What the server says when it refuses a request, by the names of the cases in the tables of this
folder: status, reason and message. `pytest -n 0 --update-messages tests/handlers` writes this file.
"""


def read() -> dict[str, str]:
    """Return the messages in the file, by the names of the cases."""
    if not FILE.exists():
        return {}
    entries = FILE.read_text().split("\n## ")[1:]
    return {name: text.strip("\n") for name, text in (entry.split("\n", 1) for entry in entries)}


@dataclass
class Messages:
    """The messages in the file; an update writes them instead of comparing them."""

    is_update: bool
    texts: dict[str, str] = field(default_factory=read)

    def check(self, case: str, status: int, reason: str, message: str) -> None:
        """Compare a message with the one in the file."""
        found = f"{status} {reason}\n{message}"
        if self.is_update:
            self.texts[case] = found
        known = self.texts.get(case, "none: run `pytest -n 0 --update-messages` on this module")
        assert found == known, f"The text of {case!r} is another one than in {FILE.name}."

    def check_names(self, cases: Collection[str]) -> None:
        """Check that the file has the cases there are and no others."""
        if self.is_update:
            self.texts = {case: text for case, text in self.texts.items() if case in cases}
        else:
            assert set(self.texts) == set(cases)

    def list_reasons(self) -> set[tuple[str, int]]:
        """Return the reasons in the file, each with its status."""
        found = (re.match(r"(\d+) (\w+)\n", text) for text in self.texts.values())
        return {(match[2], int(match[1])) for match in found if match}

    def write(self) -> None:
        """Write the file anew, sorted."""
        entries = (f"\n## {case}\n{text}\n" for case, text in sorted(self.texts.items()))
        FILE.write_text(_HEAD + "".join(entries))
