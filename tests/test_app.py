"""The extension in its server: discovery, configuration, log and shutdown."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.extension.manager import ExtensionManager
from jupyter_server.extension.utils import get_metadata
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

import jupyter_nbedit
from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.settings import NbEditSettings
from jupyter_nbedit.trust.manager import TrustManager
from tests.support import samples
from tests.support.http import Local
from tests.support.servers import run_server

NAME = "a.ipynb"
TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


def test_the_package_declares_the_server_extension() -> None:
    module, points = get_metadata("jupyter_nbedit")
    assert module is jupyter_nbedit
    assert points == [{"module": "jupyter_nbedit", "app": NbEditApp}]
    assert jupyter_nbedit.__version__ == version("jupyter_nbedit")


def test_the_package_declares_the_labextension() -> None:
    assert jupyter_nbedit._jupyter_labextension_paths() == [
        {"src": "labextension", "dest": "jupyter-nbedit"}
    ]


def test_importing_the_package_does_not_load_a_server() -> None:
    # JupyterLab does so for every extension it lists.
    script = "import sys, jupyter_nbedit; print([n for n in sys.modules if 'server' in n])"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert "jupyter_server" not in process.stdout


def test_options_are_accepted_on_the_command_line(jp_configurable_serverapp: Any) -> None:
    argv = ["--NbEditApp.mode=plan", "--NbEditApp.max_request_bytes=4096"]
    app = jp_configurable_serverapp(argv=argv)
    found = app.extension_manager.extension_apps["jupyter_nbedit"].pop()
    assert (found.mode, found.max_request_bytes) == ("plan", 4096)


def test_every_option_documents_its_effect_and_its_default() -> None:
    for trait in NbEditSettings.class_own_traits(config=True).values():
        assert "default" in " ".join(trait.help.split())


def test_the_extension_cannot_run_without_a_server() -> None:
    with pytest.raises(RuntimeError):
        NbEditApp().initialize_settings()


async def test_lock_files_are_in_the_runtime_directory_of_the_server(
    local: Local, jp_runtime_dir: Path
) -> None:
    (local.root / NAME).write_bytes(TEXT)
    await local.patch(NAME, REPLACE)
    assert [path.name for path in local.root.iterdir()] == [NAME]
    names = [path.name for path in (jp_runtime_dir / "nbedit" / "locks").iterdir()]
    assert sorted(Path(name).suffix for name in names) == ["", ".lock"]
    assert "writes" in names


class FailingManager(AsyncLargeFileManager):
    """A contents manager whose store fails in words of its own."""

    async def get(self, path: str, *args: Any, **kwargs: Any) -> Any:
        if path == NAME:
            message = "bucket /srv/secret\nis on fire"
            raise RuntimeError(message)
        return await super().get(path, *args, **kwargs)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"contents_manager_class": FailingManager}}], indirect=True
)
async def test_the_failure_of_a_contents_manager_is_logged_and_not_in_the_reply(
    local: Local, caplog: pytest.LogCaptureFixture
) -> None:
    (local.root / NAME).write_bytes(TEXT)
    answer = await local.patch(NAME, REPLACE)
    assert (answer.status, answer.json["reason"]) == (500, "io_error")
    assert b"secret" not in answer.body
    (line,) = [r.getMessage() for r in caplog.records if "io_error" in r.getMessage()]
    assert "RuntimeError: bucket /srv/secret" in line
    assert len(line.splitlines()) == 1


async def test_the_refusal_of_a_pre_save_hook_is_logged_and_not_in_the_reply(
    local: Local, jp_serverapp: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_: Any) -> None:
        raise HTTPError(403, "see /srv/secret")

    (local.root / NAME).write_bytes(TEXT)
    jp_serverapp.contents_manager.register_pre_save_hook(refuse)
    answer = await local.patch(NAME, REPLACE)
    assert (answer.status, answer.json["reason"]) == (403, "forbidden")
    assert b"secret" not in answer.body
    (line,) = [r.getMessage() for r in caplog.records if "forbidden" in r.getMessage()]
    assert "see /srv/secret" in line


def test_a_headless_server_starts_and_stops_without_a_warning_of_the_extension(
    tmp_path: Path,
) -> None:
    with run_server(tmp_path, "--no-browser", application="jupyterlab") as client:
        assert client.request("GET", "nbedit").status == 200
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert any("jupyter_nbedit | extension was successfully loaded" in line for line in lines)
    # A traceback of another package names the folder of this checkout.
    package = str(Path(jupyter_nbedit.__file__).parent)
    heads = [line for line in lines if "nbedit" in line.lower() and re.match(r"\[[A-Z] ", line)]
    assert [line for line in heads if not line.startswith(("[I ", "[D "))] == []
    assert [line for line in lines if f"{package}{os.sep}" in line] == []


def test_the_extension_opens_no_browser_unless_configured() -> None:
    assert NbEditApp().open_browser is False
    assert NbEditApp(open_browser=True).open_browser is True


async def test_an_uninitialized_extension_can_be_stopped(jp_serverapp: Any) -> None:
    # Jupyter links all extensions first; a server that gives up before it loads them stops them.
    manager = ExtensionManager(serverapp=jp_serverapp)
    manager.from_jpserver_extensions({"jupyter_nbedit": True})
    manager.link_all_extensions()
    await manager.stop_all_extensions()


async def test_a_server_without_a_contents_manager_stops_without_an_error(
    local: Local, jp_serverapp: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (local.root / NAME).write_bytes(TEXT)
    assert (await local.patch(NAME, REPLACE)).status == 200
    del jp_serverapp.web_app.settings["contents_manager"]
    await jp_serverapp.cleanup_extensions()
    assert [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}] == []


@pytest.fixture
def failing_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make storing signatures fail when the server stops, with an unexpected error."""

    def fail(_: TrustManager) -> None:
        message = "no notary today"
        raise RuntimeError(message)

    monkeypatch.setattr(TrustManager, "flush", fail)


@pytest.mark.usefixtures("failing_store")
async def test_a_failure_to_close_is_logged_and_everything_else_stops(
    jp_serverapp: Any, local: Local, jp_data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (local.root / NAME).write_bytes(TEXT)
    assert (await local.patch(NAME, REPLACE)).status == 200
    write_ahead_log = jp_data_dir / "nbedit" / "history.sqlite3-wal"
    assert write_ahead_log.exists()
    await jp_serverapp.kernel_manager.start_kernel()
    await jp_serverapp._cleanup()
    assert jp_serverapp.kernel_manager.list_kernels() == []
    logged = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.getMessage() for record in logged] == [
        "jupyter_nbedit could not close its signatures; the server continues to stop"
    ]
    assert logged[0].exc_info
    # SQLite removes it when the database is closed.
    assert not write_ahead_log.exists()


async def test_the_package_does_not_use_kernels(local: Local, jp_serverapp: Any) -> None:
    (local.root / NAME).write_bytes(TEXT)
    await local.patch(NAME, REPLACE)
    await local.read(NAME)
    assert jp_serverapp.kernel_manager.list_kernels() == []
    assert await jp_serverapp.session_manager.list_sessions() == []
