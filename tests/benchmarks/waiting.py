"""How long a running server lets others wait while it reads and edits what is meant to be slow.

``python -m tests.benchmarks.waiting PORT TOKEN ROOT [SIZE]`` asks for ``/api/status`` every 10 ms
while notebooks of ``tests/linear/documents.py`` are read and edited, and prints the longest wait
for each. The goal is 100 ms; nothing fails if it is missed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.linear.documents import DOCUMENTS
from tests.support import samples
from tests.support.http import Answer, Client

PAUSE_SECONDS = 0.01
SIZE = 200_000


def main() -> None:
    """Print the longest wait during each request."""
    client = Client(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    size = int(sys.argv[4]) if len(sys.argv) > 4 else SIZE
    path = "waiting.ipynb"
    operation = {"op": "append_to_section", "section": "ok", "source": "x"}
    worst = _longest_wait(client, lambda: client.request("GET", "api/status"))
    print(f"{1000 * worst[0]:6.0f} ms  nothing")
    for name, build in DOCUMENTS.items():
        cells = [samples.markdown(build(size), "slow"), samples.markdown("# ok", "ok")]
        (client.root / path).write_bytes(samples.notebook(*cells))
        waits = [
            _longest_wait(client, lambda: client.read(path, section="ok")),
            _longest_wait(client, lambda: client.patch(path, operation)),
        ]
        longest, seconds = max(wait for wait, _ in waits), sum(took for _, took in waits)
        print(f"{1000 * longest:6.0f} ms  {name} (both requests: {seconds:.2f} s)", flush=True)


def _longest_wait(client: Client, work: Callable[[], Answer]) -> tuple[float, float]:
    """Return the longest wait for the status during a request, and how long that took."""
    waits = [0.0]
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            client.request("GET", "api/status")
            waits.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    ended.set()
    asking.join()
    return max(waits), took


if __name__ == "__main__":
    main()
