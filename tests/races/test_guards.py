"""How others are kept from losing what they write is told with each edit."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.races.rig import refusing
from tests.races.servers import TOKEN, Servers, running
from tests.races.wire import Connection
from tests.support import samples

_NOTEBOOK = "/nbedit/notebooks/a.ipynb"


async def told(servers: Servers) -> tuple[list[str], list[str | None]]:
    """Give which guards a server has, and with which it made an edit and a dry run."""
    async with running(servers):
        (servers.root / "a.ipynb").write_bytes(samples.three_cells())
        (run,) = servers.alive
        with closing(await Connection.to(run.port, TOKEN)) as connection:
            about: dict[str, Any] = (await connection.request("GET", "/nbedit")).json
            said = [await _guard(connection, dry_run=dry_run) for dry_run in (False, True)]
    return about["guards"], said


async def _guard(connection: Connection, *, dry_run: bool) -> str | None:
    operation = {"op": "replace", "cell": "beta", "source": f"dry run: {dry_run}"}
    body = json.dumps({"operations": [operation], "dry_run": dry_run}).encode()
    answer = await connection.request("PATCH", _NOTEBOOK, body)
    assert answer.status == 200, answer.body
    guard: str | None = answer.json.get("guard")
    return guard


@pytest.mark.parametrize(
    ("refused", "guard"), [("", "lease"), ("lease", "exchange"), ("exchange lease", "compare")]
)
def test_a_reply_tells_how_others_were_kept_from_losing_what_they_write(
    tmp_path: Path, refused: str, guard: str
) -> None:
    more = {"LD_PRELOAD": str(refusing(tmp_path)), "NBEDIT_REFUSED": refused}
    guards, said = asyncio.run(told(Servers(tmp_path, ("one",), more)))
    assert said == [guard, None]
    assert guards == ["lease", "exchange", "compare"]
