"""Another Jupyter server saves in place while a notebook is read."""

import asyncio
import subprocess
import sys
from pathlib import Path

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.services.loading import load_notebook
from tests.faults.in_place_saver import build_version
from tests.faults.requirements import NIGHTLY
from tests.faults.scenario import CASES, NAME, Scenario
from tests.support.paths import ROOT

READS, HALVES = (20_000, 1_000) if NIGHTLY else (300, 10)
#: Only ends a test that hangs.
HANGING_SECONDS = 3600


def test_a_partial_save_of_another_server_is_never_read(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, CASES["create"])
    command = [sys.executable, "-m", "tests.faults.in_place_saver", str(scenario.root)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as saver:
        assert saver.stdin is not None
        assert saver.stdout is not None
        assert saver.stdout.readline() == "begun\n"
        read, torn, busy = asyncio.run(asyncio.wait_for(read_versions(scenario), HANGING_SECONDS))
        saver.stdin.close()
        saves = int(saver.stdout.readline())
    print(f"{saves} saves; read {len(read)} versions, a bare look met {torn} halves, {busy} busy")
    assert set(read) <= set(range(saves + 1))
    # A plain read meets partial saves: the rig produces them.
    assert torn >= HALVES


async def read_versions(scenario: Scenario) -> tuple[list[int], int, int]:
    """Read until partial saves occurred; return versions, partial plain reads, and errors."""
    server, torn, busy = scenario.start_server(), 0, 0
    found: list[int] = []
    while len(found) < READS or torn < HALVES:
        bare = scenario.notebook.read_bytes()
        torn += not bare.endswith(b"}")
        try:
            storage = await server.storages.resolve(NAME)
            text = (await load_notebook(storage, NAME)).content.text
        except Busy:
            busy += 1
            continue
        number = int(text.split(b'"n": ')[1].split(b",")[0])
        assert text.decode() == build_version(number)
        found.append(number)
    await server.close()
    return found, torn, busy
