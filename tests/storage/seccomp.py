"""System calls that Linux refuses in one thread, as containers refuse them in a process."""

import ctypes
import platform
import struct
import sys
import threading
from collections.abc import Callable, Mapping

import pytest

_NUMBERS = {
    "x86_64": {"renameat2": 316, "fallocate": 285, "sync_file_range": 277, "openat2": 437},
    "aarch64": {"renameat2": 276, "fallocate": 47, "sync_file_range": 84, "openat2": 437},
}.get(platform.machine(), {})
#: The calls that can be refused.
CALLS = tuple(_NUMBERS)

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


def run_without(calls: Mapping[str, int], function: Callable[[], object]) -> None:
    """Run a function in a thread whose `calls` fail with the given error codes."""
    if sys.platform != "linux" or not CALLS:
        pytest.skip("the numbers of the system calls are not known here")
    raised: list[BaseException] = []

    def run() -> None:
        try:
            _refuse(calls)
            function()
        except BaseException as error:  # noqa: BLE001 -- the caller raises it
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def _refuse(calls: Mapping[str, int]) -> None:
    steps = [(_LOAD, 0, 0, 0)]
    for call, code in calls.items():
        steps += [(_JUMP_IF_EQUAL, 0, 1, _NUMBERS[call]), (_RETURN, 0, 0, _FAIL | code)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    # The system accepts a filter from any thread that may gain no privileges.
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
        _SET_SECCOMP, _FILTER, header, 0, 0
    ):
        pytest.skip("the system takes no filter of calls")
