"""What the tests in several browsers share: a server, the browsers, and the tab of a test."""

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import lab_server
import pytest
from engines.programs import MissingProgramError, run_chromium, run_firefox, run_webkit
from engines.server import Server
from engines.tab import Tab
from engines.webdriver import Browser

SCREENSHOTS = Path(__file__).parent.parent / "test-results" / "engines"

#: The dialog of JupyterLab while the server restarts.
NO_CONNECTION = "A connection to the Jupyter server could not be established."


@dataclass(frozen=True)
class Engine:
    """A way to run the tests: a browser, and whether its clicks leave the focus as Safari's do."""

    name: str
    run: Callable[[Path], AbstractContextManager[Browser]]
    is_safari: bool = False


ENGINES = [
    Engine("firefox", run_firefox),
    Engine("webkit", run_webkit),
    Engine("safari", run_webkit, is_safari=True),
    Engine("chromium", run_chromium),
]


def pytest_configure() -> None:
    # Else the browsers and servers would go on without their tests.
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with lab_server.running(Path(sys.prefix), folder, "/") as lab:
        yield Server(lab)


@pytest.fixture(scope="session", params=ENGINES, ids=[engine.name for engine in ENGINES])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.param
    return engine


@pytest.fixture(scope="session")
def browser(
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
    record_testsuite_property: Callable[[str, object], None],
) -> Iterator[Browser]:
    try:
        with engine.run(tmp_path_factory.mktemp(engine.name)) as browser:
            record_testsuite_property(engine.name, browser.version)
            print(f"\n{engine.name}: {browser.version}")
            yield browser
    except MissingProgramError as error:
        pytest.skip(str(error))


@pytest.fixture
def tab(
    browser: Browser, engine: Engine, server: Server, request: pytest.FixtureRequest
) -> Iterator[Tab]:
    """Show an empty JupyterLab; at the end there must have been no error and no dialog."""
    tab = Tab(browser, server, is_safari=engine.is_safari)
    tab.start()
    yield tab
    if request.node.stash.get(FAILED, False):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"{request.node.name}.png").write_bytes(browser.take_screenshot())
    assert tab.call("problems") == []
    dialogs = tab.call("dialogs")
    assert [text for text in dialogs if not text.startswith(NO_CONNECTION)] == []


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report
