"""A server that is no Jupyter server, and gives one answer to everything."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@dataclass
class FixedServer:
    """Its port, and the headers of the requests that it has got."""

    port: int = 0
    requests: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serve(
    status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Iterator[FixedServer]:
    """Run a server that gives this answer; with the status 0 it hangs up without one."""
    found = FixedServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requests.append(dict(self.headers.items()))
            # Else the connection is reset, and the client may lose a part of the answer.
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if status:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        do_PATCH = do_GET  # noqa: N815 -- as its base calls it

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
