"""Find a Chrome or Chromium that Playwright can drive."""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser")
MAC_APPS = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)


class NoChromiumError(Exception):
    """There is no browser to test with; the message says how to get one."""


def find(playwright: Path | None = None) -> Path:
    """Answer the browser's path.

    The order is: what `NBEDIT_CHROMIUM` names, Playwright's own download, Chrome or Chromium.
    `playwright` is the `node_modules` folder it is installed in, if it is installed.

    Raises
    ------
    NoChromiumError
        There is none, or `NBEDIT_CHROMIUM` names a file that is not there.
    """
    if named := os.environ.get("NBEDIT_CHROMIUM"):
        if not Path(named).is_file():
            raise NoChromiumError(
                f"NBEDIT_CHROMIUM is {named!r}, and there is no such file. Let it name the"
                " executable of a Chrome or Chromium, or unset it."
            )
        return Path(named)
    candidates = [
        *([_download_of(playwright)] if playwright else []),
        *(Path(found) for name in NAMES if (found := shutil.which(name))),
        *MAC_APPS,
    ]
    for candidate in candidates:
        if candidate.is_file() and not _is_snap(candidate):
            return candidate
    raise NoChromiumError(
        "The browser tests need Chrome or Chromium, and none was found: not by NBEDIT_CHROMIUM,"
        " not Playwright's own, not on PATH (a snap does not count, it cannot see the tests'"
        " temporary files). Install one, e.g. `apt-get install chromium` on Debian or"
        " `npx playwright install --with-deps chromium` in ui-tests, or set NBEDIT_CHROMIUM."
    )


def _download_of(node_modules: Path) -> Path:
    script = "console.log(require('playwright-core').chromium.executablePath())"
    answer = subprocess.run(
        ["node", "-e", script],  # noqa: S607 - the node on PATH is the one that runs the tests
        cwd=node_modules,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return Path(answer.stdout.strip())


def _is_snap(browser: Path) -> bool:
    if "snap" in browser.resolve().parts:
        return True
    # Ubuntu's chromium-browser is a script that starts the snap; a real browser is no script.
    with browser.open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"/snap/" in start
