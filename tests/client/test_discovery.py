"""Which server serves a file: with real servers, in processes of their own."""

import json
import os
import shutil
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.client import Client, Server, find_server, inspect_servers
from jupyter_nbedit.client import errors as client_errors
from jupyter_nbedit.client.server import Address
from tests.support.fixed_server import serve
from tests.support.server_farm import Farm


@pytest.fixture
def refused(farm: Farm) -> Callable[..., client_errors.ClientError]:
    """Return the error of a search for a server, in which no token may occur."""

    def find(path: Path | str, kind: type[client_errors.ClientError], **more: Any) -> Any:
        with pytest.raises(kind) as caught:
            find_server(str(path), **{"environ": farm.environ, **more})
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        for file in farm.runtime.glob("jpserver-*.json"):
            token = json.loads(file.read_text())["token"]
            assert not token or token not in shown
        assert "not-the-token" not in shown
        return caught.value

    return find


def write_runtime(folder: Path, **infos: Mapping[str, Any] | str) -> dict[str, str]:
    """Write runtime files, the oldest first; return the environment with this runtime folder."""
    folder.mkdir(exist_ok=True)
    for number, (name, info) in enumerate(infos.items()):
        file = folder / f"jpserver-{name.lstrip('_')}.json"
        file.write_text(info if isinstance(info, str) else json.dumps(info))
        os.utime(file, (number, number))
    return {"JUPYTER_RUNTIME_DIR": str(folder)}


def find(path: Path, environ: Mapping[str, str], **more: Any) -> Server:
    return find_server(str(path), environ=environ, **more).server


# Runtime files ------------------------------------------------------------------------------------


def test_the_server_with_the_deepest_root_is_found(farm: Farm, tmp_path: Path) -> None:
    outer, inner = farm.outer.client, farm.inner.client
    link = tmp_path / "link.ipynb"
    link.symlink_to(inner.root / "a.ipynb")

    in_outer = find(outer.root / "a.ipynb", farm.environ)
    assert (in_outer.address.port, in_outer.root) == (outer.port, str(outer.root.resolve()))
    assert in_outer.url.endswith(f":{outer.port}/outer/")
    for path in (inner.root / "a.ipynb", inner.root / "new" / "b.ipynb", inner.root, link):
        assert find(path, farm.environ).address.port == inner.port
    assert find(link, farm.environ).to_api_path(str(link)) == "a.ipynb"
    # The folder around the inner root begins with its name.
    beside = inner.root.with_name("notebooks2")
    assert find(beside, farm.environ).address.port == outer.port


def test_a_file_that_no_server_serves_has_an_error_with_the_servers_that_run(
    farm: Farm, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    outer = farm.outer.client
    error = refused(tmp_path / "a.ipynb", client_errors.NoServer)

    assert f":{outer.port}/outer/ serves {str(outer.root.resolve())!r}" in error.message
    refused("a\0.ipynb", client_errors.NoServer)
    nothing = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "missing")}
    assert "Start one" in refused("a.ipynb", client_errors.NoServer, environ=nothing).message


def test_two_servers_with_one_root_are_refused_and_both_named(
    farm: Farm, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    outer, inner = farm.read_info(farm.outer), farm.read_info(farm.inner)
    # As if the first had the root of the second.
    twin = {**outer, "root_dir": inner["root_dir"]}
    environ = write_runtime(tmp_path / "runtime", _1=twin, _2=inner)
    notebook = farm.inner.client.root / "a.ipynb"

    error = refused(notebook, client_errors.AmbiguousServer, environ=environ)

    assert all(f":{info['port']}/" in error.message for info in (outer, inner))
    environ["NBEDIT_URL"] = inner["url"]
    assert find(notebook, environ).address.port == inner["port"]


@pytest.mark.threat("S33")
def test_runtime_files_of_servers_that_do_not_run_are_passed_over(
    farm: Farm, tmp_path: Path
) -> None:
    running = farm.read_info(farm.inner)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free_port = closed.getsockname()[1]
    environ = write_runtime(
        tmp_path / "runtime",
        # The same address under a former token and a deeper root: its server has crashed.
        _1={**running, "token": "not-the-token", "root_dir": f"{running['root_dir']}/."},
        _2={**running, "pid": ended.pid},
        _3={**running, "port": free_port, "url": f"http://localhost:{free_port}/"},
        _4="{",
        _5="[]",
        _6=json.dumps({**running, "pid": "1"}),
        _7=json.dumps({**running, "url": 5}),
        _8=json.dumps({**running, "url": "http://[/"}),
        _9=running,
    )
    (tmp_path / "runtime" / "jpserver-10.json").mkdir()
    (tmp_path / "runtime" / "jpserver-mcp-1.json").write_text(json.dumps(running))

    server = find(farm.inner.client.root / "a.ipynb", environ)

    assert server.address.port == running["port"]
    assert len(inspect_servers(environ)) == 1


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [("http", client_errors.ResponseTimeout), ("https", client_errors.ServerUnreachable)],
)
def test_a_server_that_accepts_but_does_not_answer_is_not_passed_over(
    farm: Farm,
    tmp_path: Path,
    refused: Callable[..., client_errors.ClientError],
    scheme: str,
    kind: type[client_errors.ClientError],
) -> None:
    running = farm.read_info(farm.outer)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        info = {**running, "port": port, "url": f"{scheme}://localhost:{port}/"}
        folder = farm.outer.client.root / "deep"
        folder.mkdir(exist_ok=True)
        info["root_dir"] = str(folder)
        environ = write_runtime(tmp_path / "runtime", _1=info, _2=running)

        refused(folder / "a.ipynb", kind, environ=environ)


@pytest.mark.parametrize("url", ["http://nothing.invalid:8888/", "http://255.255.255.255:8888/"])
def test_a_server_that_this_process_cannot_reach_is_not_passed_over(
    tmp_path: Path, refused: Callable[..., client_errors.ClientError], url: str
) -> None:
    info = {"url": url, "root_dir": str(tmp_path), "pid": os.getpid(), "hostname": "nothing"}
    environ = write_runtime(tmp_path / "runtime", _1=info)

    refused(tmp_path / "a.ipynb", client_errors.TransportError, environ=environ)


def test_a_server_without_the_extension_is_named(
    farm: Farm, refused: Callable[..., client_errors.ClientError]
) -> None:
    path = farm.bare.client.root / "a.ipynb"

    error = refused(path, client_errors.NoServer)

    assert isinstance(error, client_errors.NoServer)
    assert [server.address.port for server in error.others] == [farm.bare.client.port]
    assert "without jupyter_nbedit" in error.message
    url = f"http://127.0.0.1:{farm.bare.client.port}/"
    refused(path, client_errors.ExtensionMissing, url=url)


def test_a_server_whose_root_is_less_deep_is_used_beside_one_without_the_extension(
    farm: Farm, tmp_path: Path
) -> None:
    outer = farm.read_info(farm.outer)
    folder = farm.outer.client.root / "sub"
    folder.mkdir()
    bare = {**farm.read_info(farm.bare), "root_dir": str(folder)}
    environ = write_runtime(tmp_path / "runtime", _1=outer, _2=bare)

    found = find_server(str(folder / "a.ipynb"), environ=environ)

    assert found.server.address.port == outer["port"]
    assert [server.address.port for server in found.others] == [bare["port"]]


def test_a_server_with_a_password_only_is_named_with_what_to_do(
    farm: Farm, refused: Callable[..., client_errors.ClientError]
) -> None:
    error = refused(farm.locked.client.root / "a.ipynb", client_errors.AccessDenied)

    assert f":{farm.locked.client.port}/" in error.message
    assert "JUPYTER_TOKEN" in error.message
    (state,) = (
        state
        for state in inspect_servers(farm.environ)
        if state.server.address.port == farm.locked.client.port
    )
    assert isinstance(state.problem, client_errors.AccessDenied)


def test_a_token_that_is_not_valid_any_more_is_an_error(
    farm: Farm, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    info = farm.read_info(farm.inner)
    path = farm.inner.client.root / "a.ipynb"
    for token, message in (
        ("not-the-token", "does not accept the token"),
        (None, "none is known"),
    ):
        environ = write_runtime(tmp_path / "runtime", _1={**info, "token": token})

        error = refused(path, client_errors.AccessDenied, environ=environ)

        assert message in error.message


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")
def test_a_server_on_a_unix_socket_is_found(
    farm: Farm, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("s")
    root = farm.start_other(folder, "--ServerApp.port=8888", f"--ServerApp.sock={folder / 's'}")

    server = find(root / "a.ipynb", farm.environ)

    assert server.url.startswith("http+unix://%2F")
    assert Client(server).read("a.ipynb")["total_cells"] == 3
    assert find(root / "a.ipynb", {**farm.environ, "NBEDIT_URL": server.url}) == server


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_server_with_a_self_signed_certificate_is_found_on_this_machine_only(
    farm: Farm,
    tmp_path_factory: pytest.TempPathFactory,
    refused: Callable[..., client_errors.ClientError],
) -> None:
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=nobody -keyout {key}"
        f" -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    root = farm.start_other(
        folder, f"--ServerApp.certfile={certificate}", f"--ServerApp.keyfile={key}"
    )

    server = find(root / "a.ipynb", farm.environ)

    assert server.url.startswith("https://")
    assert Client(server).read("a.ipynb")["total_cells"] == 3
    # The URL of a server that listens at a name: others could have it, so the certificate counts.
    (info,) = (
        info
        for file in farm.runtime.glob("jpserver-*.json")
        if (info := json.loads(file.read_text()))["root_dir"] == str(root)
    )
    # Another spelling of 127.0.0.1.
    url = info["url"].replace("localhost", "127.1")
    environ = write_runtime(folder / "runtime", _1={**info, "url": url})
    refused(root, client_errors.TlsFailed, environ=environ)


# Given and own servers ----------------------------------------------------------------------------


@pytest.mark.threat("S33")
def test_a_given_url_comes_first_and_takes_its_token_from_a_file_or_the_url(
    farm: Farm, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    inner = farm.inner.client
    nothing = {"JUPYTER_RUNTIME_DIR": str(tmp_path)}
    url = f"http://127.0.0.1:{inner.port}"
    token_file = tmp_path / "token"
    token_file.write_text(f"{inner.token}\n")
    variables = {**nothing, "NBEDIT_URL": url, "JUPYTER_TOKEN": inner.token}

    for server in (
        find(Path("a.ipynb"), nothing, url=url, token_file=str(token_file)),
        find(Path("a.ipynb"), nothing, url=f"{url}/?token={inner.token}"),
        find(Path("a.ipynb"), variables),
    ):
        assert server.root is None
        assert server.url == f"{url}/"
        assert inner.token not in repr(server)
        assert Client(server).read(server.to_api_path("./x/../a.ipynb"))["total_cells"] == 3
        assert Client(server).search(query="x", path=server.to_api_path("."))["hits"]
    refused(inner.root / "a.ipynb", client_errors.OutsideRoot, environ=variables)
    # The token of a terminal's own server is not for another one.
    own = {**variables, "JUPYTER_SERVER_URL": "http://localhost:1/"}
    assert "none is known" in refused("a.ipynb", client_errors.AccessDenied, environ=own).message
    # A server that runs here has its root and token in its runtime file.
    known = find(inner.root / "a.ipynb", farm.environ, url=url)
    assert known.root == str(inner.root.resolve())
    refused(tmp_path / "a.ipynb", client_errors.OutsideRoot, url=url)


def test_a_url_is_shown_as_it_is_sent() -> None:
    for url, shown in (
        ("http://localhost:8888", "http://localhost:8888/"),
        ("https://hub.example/user/ü%40b/?token=x", "https://hub.example/user/%C3%BC%40b/"),
        ("http://0.0.0.0:80/a b/", "http://127.0.0.1/a%20b/"),
        ("http://[::1]:8888/", "http://[::1]:8888/"),
        ("http+unix://%2Ftmp%2Fs/x/", "http+unix://%2Ftmp%2Fs/x/"),
    ):
        assert Address.from_url(url).url == shown


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8888",
        "ftp://localhost/",
        "http://",
        "http://me:pass@localhost:8888/",
        "http://localhost:x/",
        "http://[::1/",
        "http+unix:///",
    ],
)
def test_a_url_that_is_none_of_a_server_is_refused(
    url: str, refused: Callable[..., client_errors.ClientError]
) -> None:
    error = refused("a.ipynb", client_errors.InvalidAddress, url=f"{url}?token=not-the-token")

    assert "me:pass" not in error.message


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff", b"x" * 5000])
def test_a_token_file_without_a_token_is_refused(
    content: bytes | None, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    url = "http://localhost:1/"

    error = refused("a.ipynb", client_errors.InvalidAddress, url=url, token_file=str(file))

    assert repr(str(file)) in error.message
    refused("a.ipynb", client_errors.InvalidAddress, token_file=str(file))


def test_an_address_where_nothing_listens_is_an_error(
    refused: Callable[..., client_errors.ClientError],
) -> None:
    for url in ("http://127.0.0.1:1/", "http://localhost:1/", "http+unix://%2Fnothing/"):
        refused("a.ipynb", client_errors.ConnectFailed, url=url)
    refused("a.ipynb", client_errors.ServerUnreachable, url="http://nothing.invalid/")


def test_the_hub_and_the_terminal_name_their_own_server(farm: Farm, tmp_path: Path) -> None:
    outer, inner = farm.outer.client, farm.inner.client
    hub = {
        "JUPYTER_RUNTIME_DIR": str(tmp_path),
        "JUPYTERHUB_USER": "me",
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{outer.port}/outer/",
        "JUPYTERHUB_API_TOKEN": outer.token,
        "JUPYTERHUB_ROOT_DIR": str(outer.root),
    }
    terminal = {
        **farm.environ,
        "JUPYTER_SERVER_URL": f"http://localhost:{outer.port}/outer/",
        "JUPYTER_SERVER_ROOT": str(outer.root),
    }
    for environ in (hub, terminal):
        # Before a server with a deeper root.
        server = find(inner.root / "a.ipynb", environ)
        assert server.address.port == outer.port
        assert Client(server).describe_server()["name"] == "jupyter_nbedit"
    # Its server has been restarted at another port since: the runtime file has it.
    for variable, value in (
        ("JUPYTER_SERVER_URL", "http://localhost:1/outer/"),
        ("JUPYTER_SERVER_URL", "nonsense"),
        ("JUPYTER_SERVER_ROOT", str(tmp_path)),
    ):
        environ = {**terminal, variable: value}
        server = find(outer.root / "a.ipynb", environ)
        assert server.address.port == outer.port


@pytest.mark.threat("S33")
def test_the_server_of_another_user_behind_one_proxy_gets_no_token(
    farm: Farm, tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    with serve(403) as proxy:
        hub = f"http://127.0.0.1:{proxy.port}"
        environ = {
            "JUPYTER_RUNTIME_DIR": str(tmp_path),
            "JUPYTER_SERVER_URL": f"{hub}/user/ada/",
            "JUPYTER_SERVER_ROOT": str(farm.outer.client.root),
            "JUPYTER_TOKEN": "not-the-token",
        }
        path = farm.outer.client.root / "a.ipynb"
        refused("a.ipynb", client_errors.AccessDenied, url=f"{hub}/user/bob/", environ=environ)
        assert [request.get("Authorization") for request in proxy.requests] == [None]
        refused(path, client_errors.AccessDenied, url=f"{hub}/user/ada/lab", environ=environ)
        assert proxy.requests[-1]["Authorization"] == "token not-the-token"


@pytest.mark.parametrize(
    ("url", "other", "is_same"),
    [
        ("http://localhost:1/user/ada/", "http://127.0.0.1:1/user/ada", True),
        ("http://localhost:1/user/ada/", "http://localhost:1/user/ada/lab/tree/a.ipynb", True),
        ("http://localhost:1/user/ada/", "http://localhost:1/user/ada/notebooks/a.ipynb", True),
        ("http://localhost:1/user/ada/", "http://localhost:1/", True),
        ("http://localhost:1/", "http://localhost:1/lab", True),
        ("http://localhost:1/user/ada%20b/", "http://localhost:1/user/ada b/", True),
        ("http://localhost:1/user/ada/", "http://localhost:1/user/bob/", False),
        ("http://localhost:1/user/ada/", "http://localhost:1/user/ada/second/", False),
        ("http://localhost:1/user/ada/", "http://localhost:1/user/", False),
        ("http://localhost:1/user/ada/", "http://localhost:2/user/ada/", False),
    ],
)
def test_two_addresses_are_of_one_server_if_their_base_urls_are_the_same(
    url: str, other: str, *, is_same: bool
) -> None:
    addresses = Address.from_url(url), Address.from_url(other)
    assert addresses[0].is_same_server(addresses[1]) is is_same
    assert addresses[1].is_same_server(addresses[0]) is is_same


@pytest.mark.threat("S33")
def test_a_redirect_is_not_followed_so_that_no_other_server_gets_the_token(
    refused: Callable[..., client_errors.ClientError],
) -> None:
    with serve(200) as other:
        location = f"http://me:pw@127.0.0.1:{other.port}/hub/login?next=not-the-token"
        with serve(302, {"Location": location}) as server:
            url = f"http://127.0.0.1:{server.port}/?token=not-the-token"
            error = refused("a.ipynb", client_errors.Redirected, url=url)
    assert [request["Authorization"] for request in server.requests] == ["token not-the-token"]
    assert other.requests == []
    assert f"'http://127.0.0.1:{other.port}/hub/login'" in error.message


HUB = {"X-JupyterHub-Version": "5.4.0"}


@pytest.mark.parametrize(
    ("base_url", "status", "location", "start"),
    [
        ("/user/ada/", 302, "/hub/user/ada/nbedit", "/hub/spawn/ada"),
        ("/user/%C3%BC@b/", 302, "/hub/user/%C3%BC%40b/nbedit", "/hub/spawn/%C3%BC%40b"),
        ("/user/ada/second/", 302, "/hub/user/ada/second/nbedit", "/hub/home"),
        ("/user/hub/hub/", 302, "/hub/user/hub/hub/nbedit", "/hub/home"),
        ("/hub/user/ada/", 302, "/hub/hub/user/ada/nbedit", "/hub/hub/spawn/ada"),
        ("/team/user/ada/", 302, "/team/hub/user/ada/nbedit", "/team/hub/spawn/ada"),
        (
            "/user/ada/",
            302,
            "https://hub.example/hub/user/ada/nbedit",
            "//hub.example/hub/spawn/ada",
        ),
        ("/hub/user/ada/", 424, None, "/hub/spawn/ada"),
        ("/hub/user/ada/", 503, None, "/hub/spawn/ada"),
    ],
)
def test_a_server_that_a_hub_has_stopped_is_said_to_be_stopped_and_where_to_start_it(
    base_url: str,
    status: int,
    location: str | None,
    start: str,
    refused: Callable[..., client_errors.ClientError],
) -> None:
    with serve(status, HUB | ({"Location": location} if location else {})) as hub:
        url = f"http://127.0.0.1:{hub.port}{base_url}?token=not-the-token"
        error = refused("a.ipynb", client_errors.ServerNotRunning, url=url)

    assert error.reason == "server_not_running"
    assert "is not running" in error.message
    place = start if start.startswith("//") else f"//127.0.0.1:{hub.port}{start}"
    assert f"{place}, and" in error.message


@pytest.mark.parametrize(
    ("base_url", "status", "location", "right"),
    [
        ("/", 302, "/hub/nbedit", "/user/NAME/"),
        ("/user/", 301, "/user/nbedit/", "/user/NAME/"),
        ("/team/", 302, "/team/hub/nbedit", "/team/user/NAME/"),
        ("/hub/", 404, None, "/user/NAME/"),
        ("/hub/home/", 404, None, "/user/NAME/"),
        ("/hub/spawn/ada/", 302, "/hub/login?next=%2Fhub%2Fspawn", "/user/NAME/"),
        ("/hub/user/ada/", 302, "/user/ada/nbedit?redirects=1", "/user/ada/"),
        ("/hub/user/ada/", 302, "/hub/login?next=%2Fhub%2Fuser%2Fada%2Fnbedit", "/user/ada/"),
        ("/hub/user/ada/", 404, None, "/user/ada/"),
    ],
)
def test_an_address_of_a_hub_without_a_server_of_a_user_is_refused_with_the_right_one(
    base_url: str,
    status: int,
    location: str | None,
    right: str,
    refused: Callable[..., client_errors.ClientError],
) -> None:
    with serve(status, HUB | ({"Location": location} if location else {})) as hub:
        url = f"http://127.0.0.1:{hub.port}{base_url}?token=not-the-token"
        error = refused("a.ipynb", client_errors.InvalidAddress, url=url)

    assert "not of the server of a user" in error.message
    assert f" Give http://127.0.0.1:{hub.port}{right}" in error.message


def test_a_stopped_server_of_a_hub_is_found_out_wherever_its_address_comes_from(
    tmp_path: Path, refused: Callable[..., client_errors.ClientError]
) -> None:
    with serve(302, {**HUB, "Location": "/hub/user/ada/nbedit"}) as hub:
        url = f"http://127.0.0.1:{hub.port}/user/ada/"
        own = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "none")}
        root = {"JUPYTER_SERVER_ROOT": str(tmp_path), "JUPYTERHUB_ROOT_DIR": str(tmp_path)}
        path = tmp_path / "a.ipynb"
        for environ in (
            {**own, "NBEDIT_URL": url},
            {**own, **root, "JUPYTER_SERVER_URL": url},
            {**own, **root, "JUPYTERHUB_USER": "ada", "JUPYTERHUB_SERVICE_URL": url},
        ):
            name = "a.ipynb" if "NBEDIT_URL" in environ else path
            error = refused(name, client_errors.ServerNotRunning, environ=environ)
            assert "/hub/spawn/ada" in error.message


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_whose_server_does_not_answer_is_an_error_that_says_so(
    status: int, refused: Callable[..., client_errors.ClientError]
) -> None:
    with serve(status, {"content-type": "text/html"}, b"<h1>Service Unavailable</h1>") as proxy:
        url = f"http://127.0.0.1:{proxy.port}/user/ada/"
        error = refused("a.ipynb", client_errors.ServerNotRunning, url=url)

    assert f"No server answers at {url}" in error.message
    assert f":{proxy.port}/hub/home" in error.message
