"""Notebooks for single tests, servers with other settings, and the messages of errors."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.handlers.golden import Messages
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.page import open_page
from tests.support.servers import run_server

#: Finds the server of a name, which is started when it is first needed.
Servers = Callable[[str], Client]

_NUMBERS = itertools.count()
# What the tables call servers, and their settings.
_OPTIONS = {
    "nobody": [
        "--SectionsToolset.owners=nobody",
        "--NbEditApp.mode_is_fixed=True",
    ],
    "no own decisions": ["--NbEditApp.own_decisions=False"],
    "owners": [
        "--SectionsToolset.owners=ada",
        "--SectionsToolset.section_files=else",
        "--SectionsToolset.section_files=reminders",
        "--NbEditApp.max_proposals=1",
        "--NbEditApp.read_before_edit=True",
        "--ServerApp.identity_provider_class=tests.handlers.identity_provider.AdaProvider",
    ],
}


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> str:
    """Return the path of a notebook that no other test has; the module's ``TEXT`` is in it."""
    name = f"{request.node.originalname}-{next(_NUMBERS)}.ipynb"
    (live.root / name).write_bytes(getattr(request.module, "TEXT", samples.three_cells()))
    return name


@pytest.fixture
def page(live: Client) -> Iterator[dict[str, str]]:
    """Return the header of requests by a person in a page of JupyterLab."""
    with open_page(live) as header:
        yield header


@pytest.fixture
def notebook(live: Client, path: str) -> Notebook:
    """Return a notebook that no other test has; the module's ``TEXT`` is in it."""
    return Notebook(live, path)


@pytest.fixture
def server_mode_reset(live: Client) -> Iterator[None]:
    """Remove the mode of the server after the test."""
    yield
    live.set_mode(None)


@pytest.fixture
def review(notebook: Notebook, server_mode_reset: None) -> None:  # noqa: ARG001 -- it resets later
    """Give the notebook the mode ``review``."""
    notebook.set_mode("review")


@pytest.fixture(scope="session")
def servers(_live_server: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Return the servers of the tables."""
    clients = {"live": _live_server}
    with ExitStack() as stack:

        def find(name: str) -> Client:
            if name not in clients:
                server = run_server(tmp_path_factory.mktemp(name), *_OPTIONS[name])
                clients[name] = stack.enter_context(server)
            return clients[name]

        yield find


@pytest.fixture(scope="session")
def messages(pytestconfig: pytest.Config) -> Iterator[Messages]:
    """Return the texts of refusals, and write them if the run is to update them."""
    found = Messages(is_update=pytestconfig.option.update_messages)
    if found.is_update and hasattr(pytestconfig, "workerinput"):
        pytest.fail("one process writes the messages: add `-n 0`")
    yield found
    if found.is_update:
        found.write()
