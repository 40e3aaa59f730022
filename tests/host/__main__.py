"""Run Jupyter Server's own tests: ``python tests/host without``, then ``with`` the extension.

The interpreter's environment has ``jupyter_server[test]`` and, the second time, the extension. What
passes without it and not with it has failed.
"""

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache"
REPORTS = CACHE / "host"
WORKERS = "3"

#: Tests that cannot pass with any extension more, and why; that they fail shows that it was there.
EXPECTED: Mapping[str, str] = {
    "tests.extension.test_app::test_stop_extension": "compares the set of loaded extensions",
}


def main() -> int:
    """Run the tests, compare if both runs are there, and return the exit code."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:] == ["without"]:
        run_tests("without")
        return 0
    if sys.argv[1:] == ["with"]:
        plugin = ("-p", "nbedit_in_every_server")
        first = run_tests("with", *plugin)
        # A busy machine delays one or the other, but hardly the same test twice.
        again = run_tests("again", *plugin, "--last-failed")
        return compare(REPORTS / "without.xml", first, again)
    print(__doc__)
    return 2


def run_tests(name: str, *options: str) -> Path:
    """Run the tests of the installed Jupyter Server, some of which may fail; return the report."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    settings = REPORTS / "settings"
    settings.mkdir(exist_ok=True)
    # Some tests start servers of their own, which refuse to run as root.
    (settings / "jupyter_server_config.json").write_text('{"ServerApp": {"allow_root": true}}')
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rfE", "--color=no"),
            # Servers of one module share a port.
            *(f"--numprocesses={WORKERS}", "--dist=loadfile", f"--junitxml={report}"),
            # Deprecations by others do not concern the extension, and would end tests early.
            *("-W", "ignore::DeprecationWarning", "-o", "log_cli_level=ERROR", "--no-showlocals"),
            *("-o", f"cache_dir={REPORTS / 'pytest'}", *options),
        ],
        cwd=download_source(),
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(HERE),
            "JUPYTER_CONFIG_DIR": str(settings),
        },
        check=False,
    )
    return report


def download_source() -> Path:
    """Return the source of the installed Jupyter Server, which has its tests; no wheel has."""
    name = f"jupyter_server-{version('jupyter_server')}"
    folder = REPORTS / name
    if not folder.exists():
        options = ("--no-deps", "--no-binary", "jupyter_server", "--dest", str(REPORTS))
        command = (sys.executable, "-m", "pip", "download", "-q", *options)
        subprocess.run([*command, name.replace("-", "==")], check=True)
        # In two steps, so that what was interrupted is not taken for whole.
        with tarfile.open(REPORTS / f"{name}.tar.gz") as archive:
            archive.extractall(REPORTS / "unpacked", filter="data")
        (REPORTS / "unpacked" / name).rename(folder)
    return folder


def compare(without: Path, *runs: Path) -> int:
    """Print which tests only fail with the extension, in all runs with it; return the exit code."""
    before = list_passed(without)
    after = set[str]().union(*map(list_passed, runs))
    lost = before - after - set(EXPECTED)
    unexpected = after & set(EXPECTED)
    print(f"{len(before)} pass without the extension, {len(before & after)} of them with it.")
    for name in sorted(lost):
        print(f"FAILED only with the extension: {name}")
    for name in sorted(unexpected):
        print(f"FAILED: {name} passes, though it {EXPECTED[name]}: the extension is not loaded.")
    return 1 if lost or unexpected or not before else 0


def list_passed(report: Path) -> set[str]:
    """Return the names of the tests that have passed, by a JUnit report."""
    return {name for name, case in read_cases(report) if has_only_output(case)}


def read_cases(report: Path) -> Iterator[tuple[str, ET.Element]]:
    """Return names and elements of the tests of a JUnit report."""
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - our own
        yield f"{case.get('classname', '')}::{case.get('name', '')}", case


def has_only_output(case: ET.Element) -> bool:
    """Return whether a test has neither failed nor been skipped."""
    return all(found.tag in {"system-out", "system-err", "properties"} for found in case)


if __name__ == "__main__":
    sys.exit(main())
