"""Ask a server for little, over and over, and tell how long each answer took.

The clock is the system's own, so that another process can say what happened meanwhile.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.client import HTTPConnection

PAUSE_SECONDS = 0.001
WARM_UP = 50


def main() -> None:
    """Ping until the input ends."""
    connection = HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
    ended = threading.Event()
    threading.Thread(target=_wait, args=(ended,), daemon=True).start()
    for _ in range(WARM_UP):
        _ping(connection)
    print("ready", flush=True)
    pings = []
    while not ended.is_set():
        pings.append(_ping(connection))
    print(json.dumps(pings))


def _wait(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _ping(connection: HTTPConnection) -> tuple[float, float]:
    time.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    connection.request("GET", "/api")
    connection.getresponse().read()
    return began, time.perf_counter() - began


if __name__ == "__main__":
    main()
