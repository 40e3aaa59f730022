"""What all tests share: the plugins, Hypothesis's profiles, servers with our extension."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

from tests.support import samples
from tests.support.clock import Clock
from tests.support.http import Client, Local
from tests.support.paths import ABSENT_PACKAGES, extend_python_path
from tests.support.sampling import enable_nightly, get_seed, is_nightly
from tests.support.server_farm import Farm
from tests.support.servers import run_server
from tests.support.services import ServiceBuilder

pytest_plugins = ["pytest_jupyter.jupyter_server"]

settings.register_profile("day", max_examples=25, deadline=None, print_blob=True)
settings.register_profile("nightly", settings.get_profile("day"), max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="try all that takes long, too")
    parser.addoption(
        "--update-messages", action="store_true", help="write tests/handlers/messages.txt anew"
    )


def pytest_configure(config: pytest.Config) -> None:
    # In CI Hypothesis would choose a profile of its own, with the same examples every time.
    if config.option.nightly:
        enable_nightly()
    if not is_nightly():
        # The processes that run tests, and the servers that these start, inherit it.
        os.environ.update(extend_python_path(os.environ, ABSENT_PACKAGES))
    settings.load_profile("nightly" if is_nightly() else "day")
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(get_seed())
    # Else the servers that the tests have started would go on without them.
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    terminalreporter.write_line(
        f"The same random cases again: NBEDIT_SEED={get_seed()}, and for Hypothesis "
        f"--hypothesis-seed={config.option.hypothesis_seed}"
    )


@pytest.fixture
def jp_server_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Configure the server of a test; an indirect parameter adds settings."""
    more = getattr(request, "param", {})
    server_app = {
        # pytest-jupyter would add the terminals, which do not declare who may use them.
        "jpserver_extensions": {"jupyter_nbedit": True, "jupyter_server_terminals": False},
        "allow_unauthenticated_access": False,
        **more.get("ServerApp", {}),
    }
    return {**more, "ServerApp": server_app}


@pytest.fixture(scope="session")
def _live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with run_server(tmp_path_factory.mktemp("live")) as client:
        yield client


@pytest.fixture(scope="module")
def live(_live_server: Client) -> Client:
    """Return a server in its own process, as a user runs it; its root is empty at first."""
    # Pipes, folders without rights and the like, which a module has left, would trip up the next.
    for path in _live_server.root.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    _live_server.reset_modes("a.ipynb", "b.ipynb")
    return _live_server


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """Return several servers of one user; each starts when it is first used."""
    farm = Farm(tmp_path_factory.mktemp("farm"))
    yield farm
    farm.stop()


@pytest.fixture
def local(jp_fetch: Any, jp_root_dir: Path) -> Local:
    """Run a server in the test's own loop, with the test's `jp_server_config`."""
    return Local(jp_fetch, jp_root_dir)


@pytest.fixture
def local_file(local: Local, request: pytest.FixtureRequest) -> Path:
    """Return the file ``a.ipynb`` of the test's own server; the module's ``TEXT`` is in it."""
    found = local.root / "a.ipynb"
    found.write_bytes(getattr(request.module, "TEXT", samples.three_cells()))
    return found


@pytest.fixture
def services(
    tmp_path: Path, jp_asyncio_loop: asyncio.AbstractEventLoop
) -> Iterator[ServiceBuilder]:
    """Build the services of servers over the test's own folder, without HTTP."""
    builder = ServiceBuilder(tmp_path)
    yield builder
    jp_asyncio_loop.run_until_complete(builder.close())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that the test sets forward in place of a wait."""
    clock = Clock()
    clock.install(monkeypatch)
    return clock
