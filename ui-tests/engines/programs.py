"""Start the browsers that are installed here, each with a profile of its own."""

import contextlib
import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import chromium
from engines.webdriver import BidiBrowser, Browser, ClassicBrowser, poll
from lab_server import find_free_port
from process import Process

SIZE = (1300, 900)
X_SOCKETS = Path("/tmp/.X11-unix")  # noqa: S108 - where X servers have them

FIREFOX_SETTINGS = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    # A window in the background behaves as one in front.
    "focusmanager.testmode": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.active-protocols": 1,
    "toolkit.telemetry.enabled": False,
}
WEBKIT_ENVIRONMENT = {
    "GDK_BACKEND": "x11",
    "NO_AT_BRIDGE": "1",
    # There is no GPU, and in a container root may make no sandbox.
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
    "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
}


class MissingProgramError(Exception):
    """A browser is not installed; the message says what to install."""


@contextlib.contextmanager
def run_firefox(folder: Path) -> Iterator[Browser]:
    """Run Firefox, which needs no driver."""
    program = find_program("firefox-esr", "firefox", package="firefox-esr")
    profile = folder / "profile"
    profile.mkdir()
    settings = (
        f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in FIREFOX_SETTINGS.items()
    )
    (profile / "user.js").write_text("".join(settings))
    command = [program, "--headless", "--no-remote", "--profile", str(profile)]
    command += ["--remote-debugging-port", "0", "about:blank"]
    # Firefox writes where it listens.
    server = profile / "WebDriverBiDiServer.json"
    with run_program(command, folder, lambda: server.is_file() and server.stat().st_size > 0):
        address = json.loads(server.read_text())
        browser = BidiBrowser(f"ws://{address['ws_host']}:{address['ws_port']}", SIZE)
        yield browser
        browser.close()


@contextlib.contextmanager
def run_webkit(folder: Path) -> Iterator[Browser]:
    """Run WebKitGTK's MiniBrowser on a screen that nobody sees."""
    driver = find_program("WebKitWebDriver", package="webkit2gtk-driver")
    x_server = find_program("Xvfb", package="xvfb")
    browsers = sorted(Path("/usr/lib").glob("*/webkit*gtk-*/MiniBrowser"))
    if not browsers:
        raise MissingProgramError("There is no MiniBrowser: install webkit2gtk-driver.")
    capabilities = {
        "webkitgtk:browserOptions": {"binary": str(browsers[-1]), "args": ["--automation"]},
        "unhandledPromptBehavior": "ignore",
    }
    # The one that would have this port.
    display = find_free_port() - 6000
    screen = [x_server, f":{display}", "-screen", "0", "1800x1300x24", "-nolisten", "tcp"]
    environment = {**WEBKIT_ENVIRONMENT, "DISPLAY": f":{display}"}
    with (
        run_program(screen, folder, (X_SOCKETS / f"X{display}").exists),
        run_driver(driver, folder, capabilities, environment) as browser,
    ):
        yield browser


@contextlib.contextmanager
def run_chromium(folder: Path) -> Iterator[Browser]:
    """Run Chromium by the same standard as WebKit, to compare."""
    driver = find_program("chromedriver", package="chromium-driver")
    try:
        program = chromium.find()
    except chromium.NoChromiumError as error:
        raise MissingProgramError(str(error)) from error
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    capabilities = {
        "goog:chromeOptions": {"binary": str(program), "args": options},
        "unhandledPromptBehavior": "ignore",
    }
    with run_driver(driver, folder, capabilities, {}) as browser:
        yield browser


def find_program(*names: str, package: str) -> str:
    """Return the path of a program; Debian has it in this package."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise MissingProgramError(f"There is no {names[0]} on PATH: install {package}.")


@contextlib.contextmanager
def run_driver(
    driver: str, folder: Path, capabilities: dict[str, Any], environment: dict[str, str]
) -> Iterator[Browser]:
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    command = [driver, f"--port={port}"]
    with run_program(command, folder, lambda: _answers(f"{address}/status"), environment):
        browser = ClassicBrowser(address, capabilities, SIZE)
        yield browser
        browser.close()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - http, and our own
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
    return True


@contextlib.contextmanager
def run_program(
    command: Sequence[str],
    folder: Path,
    is_ready: Callable[[], bool],
    environment: dict[str, str] | None = None,
) -> Iterator[None]:
    """Run a program while the block runs, which begins when it is ready."""
    environment = {**os.environ, "HOME": str(folder), **(environment or {})}
    log = folder / f"{Path(command[0]).name}.log"
    process = Process(command, environment, folder, log)
    process.start()
    try:
        poll(lambda: is_ready() or process.popen.poll() is not None, bool)
        if process.popen.poll() is not None or not is_ready():
            end = process.read_end_of_log()
            raise RuntimeError(f"{command[0]} did not start. The end of its log:\n{end}")
        yield
    finally:
        process.stop()
