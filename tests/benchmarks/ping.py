"""Send small requests in a loop, and print the milliseconds of each reply.

A process of its own: what the benchmark does must not delay it.
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
    reading = threading.Thread(target=sys.stdin.read, daemon=True)
    reading.start()
    for _ in range(WARM_UP):
        _ping(connection)
    print("ready", flush=True)
    waits = [_ping(connection)]
    while reading.is_alive():
        waits.append(_ping(connection))
    print(json.dumps(waits))


def _ping(connection: HTTPConnection) -> float:
    time.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    connection.request("GET", "/api")
    connection.getresponse().read()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
