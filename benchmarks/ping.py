"""Send `GET` requests in a loop, and print the milliseconds of each reply.

`ping.py PORT PATH PAUSE TOKEN` pauses before each request, in seconds. It is a process of its own:
what the benchmark does must not delay it.
"""

import json
import sys
import threading
import time
from http.client import HTTPConnection

WARM_UP = 50


class Pinger:
    """Sends the same request again and again on one connection."""

    def __init__(self, port: int, path: str, pause: float, token: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._path = path
        self._pause = pause
        self._headers = {"Authorization": f"token {token}"}

    def ping(self) -> float:
        time.sleep(self._pause)
        began = time.perf_counter()
        self._connection.request("GET", self._path, headers=self._headers)
        self._connection.getresponse().read()
        return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Ping until the input ends."""
    port, path, pause, token = sys.argv[1:]
    pinger = Pinger(int(port), path, float(pause), token)
    reading = threading.Thread(target=sys.stdin.read, daemon=True)
    reading.start()
    for _ in range(WARM_UP):
        pinger.ping()
    print("ready", flush=True)
    waits = [pinger.ping()]
    while reading.is_alive():
        waits.append(pinger.ping())
    print(json.dumps(waits))


if __name__ == "__main__":
    main()
