"""A program that runs in the background, and can be started again."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

STOP_SECONDS = 20


@dataclass
class Process:
    """A program with its environment and its folder; its output is added to a log."""

    command: Sequence[str]
    environment: dict[str, str]
    folder: Path
    log: Path
    popen: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.popen = subprocess.Popen(
                self.command,
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def stop(self) -> None:
        """Stop it, and wait until it has ended."""
        self.popen.terminate()
        try:
            self.popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()

    def read_end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]
