"""Files and pipes get UTF-8, although Windows has another encoding for them."""

import io
import json
import sys

import pytest

from jupyter_nbedit.cli import main
from tests.support import samples
from tests.support.http import Client

SOURCE = 'print("naïve 日本 😀 \\u2028")'
EDIT = ("edit", "a.ipynb", "--old", "日本", "--new", "日本語", "-m", "ü 日本")
COMMANDS = (
    ("read", "a.ipynb"),
    ("read", "a.ipynb", "--json"),
    ("search", "日本", "."),
    ("search", "日本", ".", "--json"),
    (*EDIT, "--json"),
    ("history", "a.ipynb"),
    ("history", "a.ipynb", "--json"),
    ("undo", "a.ipynb"),
    ("redo", "a.ipynb", "--json"),
)


class Pipe(io.TextIOWrapper):
    """A pipe or a file, as Python opens it on Windows in Western Europe."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="cp1252", newline="\r\n")

    def take(self) -> str:
        self.flush()
        content = self.bytes.getvalue()
        self.bytes.seek(0)
        self.bytes.truncate()
        assert b"\r" not in content
        return content.decode("utf-8")


@pytest.mark.usefixtures("shell")
def test_what_is_printed_is_utf_8_and_valid_json(
    live: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = Pipe()
    monkeypatch.setattr(sys, "stdout", pipe)
    monkeypatch.setattr(sys, "stderr", pipe)
    file = live.root / "a.ipynb"
    file.write_bytes(samples.notebook(samples.code(SOURCE)))
    for arguments in COMMANDS:
        assert main(arguments) == 0, (arguments, pipe.take())
        printed = pipe.take()
        if arguments[-1] == "--json":
            printed = json.dumps(json.loads(printed), ensure_ascii=False)
        assert "日本" in printed, arguments

    def give(content: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), "cp1252"))

    file.write_bytes(samples.notebook(samples.code("")))
    give(SOURCE)
    assert main(["edit", "a.ipynb", "--cell", "0", "--source", "-"]) == 0
    pipe.take()
    assert main(["read", "a.ipynb", "--json"]) == 0
    assert json.loads(pipe.take())["cells"][0]["source"] == SOURCE
