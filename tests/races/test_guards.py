"""Each reply to an edit names the guard against other writers."""

from pathlib import Path
from typing import Any

import pytest

from tests.races.rig import build_refusing_library, require_system
from tests.support import samples
from tests.support.sampling import is_nightly
from tests.support.servers import run_server

GUARDS = {"": "lease", "lease": "exchange", "exchange lease": "compare"}


@pytest.mark.parametrize(
    ("refused_calls", "guard"),
    list(GUARDS.items()) if is_nightly() else [("exchange lease", "compare")],
)
def test_a_reply_has_the_guard_against_other_writers(
    tmp_path: Path, refused_calls: str, guard: str
) -> None:
    require_system()
    environment = {
        "LD_PRELOAD": str(build_refusing_library(tmp_path)),
        "NBEDIT_REFUSED": refused_calls,
    }
    with run_server(tmp_path, environment=environment) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        about = client.request("GET", "nbedit").json
        operation: dict[str, Any] = {"op": "replace", "cell": "beta", "source": "new"}
        edited, tried = (
            client.patch("a.ipynb", {**operation, "source": f"{dry_run}"}, dry_run=dry_run)
            for dry_run in (False, True)
        )
    assert (edited.status, tried.status) == (200, 200)
    assert (edited.json["guard"], tried.json.get("guard")) == (guard, None)
    assert about["guards"] == ["lease", "exchange", "compare"]
