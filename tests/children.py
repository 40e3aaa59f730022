"""Programs that the driver starts: none of them outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

END_SECONDS = 30.0  # a test run has servers of its own to end

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_stopped = threading.Event()
_starter = ThreadPoolExecutor(1)


class Stopped(Exception):
    """The driver is about to end and starts nothing any more."""


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    limit: float,
    env: Mapping[str, str] | None = None,
    captured: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, its output shown or, if `captured`, returned.

    Raises
    ------
    subprocess.TimeoutExpired
        It took longer than `limit` seconds.
    Stopped
        After `stop`.
    """
    # What a signal raises it raises in the main thread, and there would cut this off in the middle.
    process = _starter.submit(_start, command, cwd, env, captured=captured).result()
    try:
        output, _ = process.communicate(timeout=limit)
    finally:
        _end(process)
        with _lock:
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, output)


def _start(
    command: Sequence[str], cwd: Path, env: Mapping[str, str] | None, *, captured: bool
) -> subprocess.Popen[str]:
    with _lock:
        if _stopped.is_set():
            raise Stopped
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if captured else None,
            stderr=subprocess.STDOUT if captured else None,
            text=True,
            # A group of its own can be ended with all that it has started.
            start_new_session=True,
        )
        _running.add(process)
    return process


def stop() -> None:
    """End what is still running, and let nothing more be started."""
    with _lock:
        _stopped.set()
        running = list(_running)
    for process in running:
        _signal(process, signal.SIGTERM)


def _end(process: subprocess.Popen[str]) -> None:
    """End a program that has not ended by itself, politely at first."""
    if process.poll() is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    # Once it was waited for, its number may be somebody else's.
    if process.poll() is None:
        os.killpg(process.pid, number)
