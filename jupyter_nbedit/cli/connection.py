"""The server that answers a command, and how its replies and errors are shown."""

import argparse
import codecs
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.options import UsageError
from jupyter_nbedit.client import Client, Server
from jupyter_nbedit.client.discovery import Discovery, find_server, inspect_server
from jupyter_nbedit.client.errors import ClientError, NoServer, ServedNotebook, ServerError
from jupyter_nbedit.client.requests import Reply, Request
from jupyter_nbedit.client.rooms import check_no_room
from jupyter_nbedit.client.server import get_relative_path
from jupyter_nbedit.errors import NbEditError, NotebookNotFound
from jupyter_nbedit.notebook.shown_text import quote_name, read_name

# What a terminal would take for a command, but no line break and no tab.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_JSON_ESCAPES = "jupyter_nbedit.json"


@dataclass(frozen=True)
class Connection:
    """A client of the server that serves a path, and the API path of that path there.

    ``root`` is the folder that API paths are relative to; None if it is not known.
    """

    client: Client
    path: str
    root: str | None
    is_json: bool

    def send(self, request: Request) -> Reply:
        """Return the reply to a request, in the form that the user wants."""
        return self.client.send(request, as_text=not self.is_json)

    def answer(self, request: Request) -> int:
        """Print the reply to a request; return the exit code."""
        reply = self.send(request)
        print_reply(reply)
        return exit_codes.PROPOSED if reply.is_proposal else exit_codes.DONE


@contextmanager
def connect(
    options: argparse.Namespace, path: str, *, is_change: bool = False
) -> Iterator[Connection]:
    """Connect to the server that serves a path; without one, use the files themselves.

    Raise the errors of `find_server`, but not `NoServer`; `ServedNotebook` if a server serves the
    path and the options say ``--offline``; and `NotebookInRoom` if a change would be lost.
    """
    path = read_name(path)
    name = getattr(options, "client", None)
    try:
        discovery = _find_server(options, path)
        if is_change:
            _check_others(discovery.others, path)
        if isinstance(discovery, Discovery):
            server = discovery.server
            client = Client(server, name=name)
            yield Connection(client, server.to_api_path(path), server.root, options.json)
            return
        if is_change:
            print_problem("No server serves this: the command works on the file itself.")
        # Takes about 1 s of CPU.
        from jupyter_nbedit.cli.offline.server import OfflineServer  # noqa: PLC0415

        with closing(OfflineServer(Path(path), Path.cwd())) as offline:
            client = Client(offline, name=name)
            yield Connection(client, offline.path, str(offline.folder), options.json)
    except NotebookNotFound as error:
        if not options.json:
            error.message = _explain_missing(path)
        raise


def _explain_missing(path: str) -> str:
    """Return what is wrong with a path at which nothing is found."""
    message = f"Nothing is found at {path!r}."
    folder = str(Path(path).parent)
    if not Path(folder).is_dir():
        return (
            f"{message} The folder {folder!r} does not exist; create it first, or check the path."
        )
    if (part := _find_hidden_part(path)) is not None:
        return (
            f"{message} {part!r} is hidden, and the server that serves this shows no hidden files."
            " Start a server in that folder, or set `ContentsManager.allow_hidden`."
        )
    return f"{message} Check the path. The folder of a new notebook must exist."


def _find_server(options: argparse.Namespace, path: str) -> Discovery | NoServer:
    if options.offline and options.url:
        raise UsageError("--offline uses no server; therefore it does not take --url.")
    try:
        discovery = find_showing_server(path, url=options.url, token_file=options.token_file)
    except NoServer as error:
        return error
    if options.offline:
        raise ServedNotebook(
            f"{discovery.server.url} serves this; therefore --offline is refused: people there"
            " would not be asked. Leave --offline out."
        )
    return discovery


def find_showing_server(path: str, *, url: str | None, token_file: str | None) -> Discovery:
    """Return the server that serves and shows a file or a folder; raise as `find_server` does.

    Servers do not show what is hidden below their roots. Raise `NoServer`, too, if the server that
    serves the path does not show the path.
    """
    discovery = find_server(path, url=url, token_file=token_file)
    if _is_hidden_from(discovery.server, path, url=url):
        message = f"{discovery.server.url} does not show {path!r}, which is hidden."
        raise NoServer(message, discovery.others)
    return discovery


def _is_hidden_from(server: Server, target: str, *, url: str | None) -> bool:
    """Return whether a server hides a path below its root; a command then need not ask the server.

    The command may then work on the file without this server. Return False if ``url`` or the
    environment names the server, and if the mode of the server is not ``edit``: a person who has
    paused agents, or reviews their changes, means hidden files, too.
    """
    path = None if server.root is None else get_relative_path(server.root, target)
    if path is None or url or os.environ.get("NBEDIT_URL"):
        return False
    # What does not exist yet is hidden if its folder is.
    shown = path if Path(target).exists() else path.rpartition("/")[0]
    if _find_hidden_part(shown) is None:
        return False
    try:
        response = server.send("GET", f"api/contents/{quote(shown)}?content=0")
        return response.status == HTTPStatus.NOT_FOUND and inspect_server(server).mode == "edit"
    except ClientError:
        return False


def _find_hidden_part(path: str) -> str | None:
    """Return the first part of a path that begins with a dot; None if there is none."""
    parts = path.replace(os.sep, "/").split("/")
    return next((part for part in parts if part.strip(".") and part.startswith(".")), None)


def _check_others(others: Sequence[Server], path: str) -> None:
    """Check servers that serve a file, too, but without the extension."""
    for other in others:
        check_no_room(other, path)
        print_problem(
            f"Warning: {other.url} serves this, and runs without jupyter_nbedit: a tab that is open"
            " there does not show the change."
        )


def _escape_json(error: UnicodeError) -> tuple[str, int]:
    """Replace characters of JSON that an encoding does not have; an error handler of codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_JSON_ESCAPES, _escape_json)


def print_reply(reply: Reply) -> None:
    """Print a reply as it is; on a terminal, without control characters."""
    print_text(reply.text.removesuffix("\n"), is_json=not reply.is_text)


def print_text(text: str, *, is_json: bool = False) -> None:
    """Print a text; on a terminal, with control characters escaped, as notebooks may have some.

    Characters that the output cannot take are escaped as in Python, or as in JSON.
    """
    if sys.stdout.isatty():
        text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    encoding = sys.stdout.encoding or "utf-8"
    errors = _JSON_ESCAPES if is_json else "backslashreplace"
    sys.stdout.write(text.encode(encoding, errors).decode(encoding) + "\n")


def print_problem(text: str) -> None:
    """Print a problem for people."""
    text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def report_error(error: NbEditError | ClientError | UsageError, *, is_json: bool) -> int:
    """Print an error; return the exit code."""
    if isinstance(error, UsageError):
        print_problem(f"jupyter nbedit: {error}")
        return exit_codes.USAGE
    details = error.details if isinstance(error, NbEditError | ServerError) else {}
    if is_json:
        content = {"message": error.message, "reason": error.reason, "details": details}
        print_problem(json.dumps(content))
    else:
        print_problem(f"{error.reason}: {error.message}")
    return exit_codes.get_exit_code(error)


def show_path(connection: Connection, api_path: str) -> str:
    """Return the path of a file as a command takes it: from this folder on, if it is below it.

    It is quoted if that is needed; ``api_path`` may be quoted already.
    """
    path = read_name(api_path)
    if connection.root is not None:
        file = os.path.join(connection.root, *path.split("/"))
        path = get_relative_path(os.curdir, file) or file
    return quote_name(path)
