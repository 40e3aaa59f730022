"""Requests of tests, and what they find on disk afterwards."""

from typing import Any

from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.wiring import WiredServices
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.waiting import wait_until

# As people have them: CRLF, tabs, escapes, keys in odd order and no newline at the end.
ODD = (
    samples.three_cells().replace(b"\n ", b"\r\n\t").replace(b"# Title", b"# T\\u00eftle \\/")[:-1]
)


def replace(cell: str | int, source: str, **members: Any) -> dict[str, Any]:
    """Return the operation that replaces the source of a cell."""
    return {"op": "replace", "cell": cell, "source": source, **members}


def wait_for_events(client: Client, folder: str = "") -> None:
    """Wait until the server has processed all events of the contents manager so far."""
    old, new = f"{folder}marker.ipynb", f"{folder}marker2.ipynb"
    (client.root / old).write_bytes(samples.three_cells())
    client.set_mode("review", old)
    number = Notebook(client, old).propose(replace(0, "marked"))
    client.rename(old, new)
    # Proposals follow last.
    wait_until(Notebook(client, new).list_proposals)
    assert client.reject(number).status == 200
    (client.root / new).unlink()


def find_services(jp_serverapp: Any) -> WiredServices:
    """Return the services of a server that runs in the test's own loop."""
    (found,) = jp_serverapp.extension_manager.extension_apps["jupyter_nbedit"]
    assert isinstance(found, NbEditApp)
    assert found.wired is not None
    return found.wired


class Visitor:
    """A browser: has the server's cookies and knows no token."""

    def __init__(self, live: Client) -> None:
        given = live.request("GET", "api/status").headers.get_list("Set-Cookie")
        page = live.request("GET", "login", token="").headers.get_list("Set-Cookie")
        cookies = dict(cookie.split(";")[0].split("=", 1) for cookie in (*given, *page))
        self.xsrf = cookies["_xsrf"]
        self.cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        self.own_origin = f"http://127.0.0.1:{live.port}"
