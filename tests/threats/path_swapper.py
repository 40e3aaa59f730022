"""Exchange pairs of names in a loop until terminated, and print how often.

    python path_swapper.py ONE OTHER [ONE OTHER]...

Between two exchanges it waits for a time that nobody can foresee, so that each step of somebody
else's work is hit before or after one.
"""

import ctypes
import os
import random
import signal
import sys
import threading
import time

_HERE = -100
_EXCHANGE = 2
_MAX_WAIT = 0.0004


def main() -> None:
    names = [os.fsencode(name) for name in sys.argv[1:]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    chance = random.Random(0)  # noqa: S311 -- no secret
    flips, over = 0, threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    print("begun", flush=True)
    while not over.is_set():
        for one, other in pairs:
            if rename(_HERE, one, _HERE, other, _EXCHANGE) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            flips += 1
        pause = time.perf_counter() + chance.random() * _MAX_WAIT
        while time.perf_counter() < pause:
            # To sleep takes longer than that.
            pass
    print(flips, flush=True)


if __name__ == "__main__":
    main()
