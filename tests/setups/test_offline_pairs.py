"""An edit without a server changes both halves of a pair of Jupytext."""

from contextlib import closing
from pathlib import Path

import pytest

from jupyter_nbedit.cli.offline.server import OfflineServer
from jupyter_nbedit.client import Client
from tests.setups.needs import needs
from tests.support import samples
from tests.support.servers import run_server

needs("jupytext")

NAME = "a.ipynb"
REPLACE = {"op": "replace", "cell": 1, "source": "# Changed"}


@pytest.mark.parametrize("is_enabled", [True, False], ids=["enabled", "disabled"])
def test_a_pair_is_edited_without_a_server_if_servers_know_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_enabled: bool
) -> None:
    for variable, name in (
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
        ("JUPYTER_CONFIG_DIR", "config"),
    ):
        monkeypatch.setenv(variable, str(tmp_path / name))
    root = tmp_path / "notebooks"
    root.mkdir()
    (root / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
    (root / NAME).write_bytes(samples.three_cells())
    (root / "a.py").write_text(
        "# %%\nx = 1\nx\n\n# %% [markdown]\n# # Title\n\n# %% [raw]\n# as is\n"
    )
    extensions = {"jupyterlab_jupytext": is_enabled}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "jupyter_server_config.py").write_text(
        f"c.ServerApp.jpserver_extensions = {extensions!r}\n"
    )
    with closing(OfflineServer(root / NAME, root)) as server:
        reply = Client(server).edit(server.path, [REPLACE])
    assert reply["applied_via"] == ("notebook" if is_enabled else "file")
    assert ("Changed" in (root / "a.py").read_text()) == is_enabled
    assert b"# Changed" in (root / NAME).read_bytes()
    if is_enabled:
        with run_server(tmp_path, extensions=["jupyterlab_jupytext"]) as client:
            cells = client.read(NAME).json["cells"]
            assert cells[1]["source"] == "# Changed"
