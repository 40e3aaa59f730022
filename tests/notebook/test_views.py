"""Views of a cell for readers."""

import base64
import json
from typing import Any

import msgspec
import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.outputs import strip_ansi
from jupyter_nbedit.notebook.views import ViewOptions, render_cells
from tests.support import corpora, samples
from tests.support.sampling import is_nightly

PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)
BASE64 = base64.b64encode(PNG).decode()
OUTPUTS: list[dict[str, Any]] = [
    {"output_type": "stream", "name": "stdout", "text": ["a \x1b[31mred\x1b[0m\n", "line\n"]},
    {
        "output_type": "execute_result",
        "execution_count": 4,
        "metadata": {"image/png": {"width": 3}},
        "data": {
            "text/plain": ["<Figure ", "size>"],
            "text/html": ["<b>é</b>", "\n"],
            "image/png": BASE64,
            "image/svg+xml": ["<svg>", "</svg>"],
            "application/json": ["1", "2"],
            "application/vnd.x+json": {"a": [1]},
        },
    },
    {"output_type": "display_data", "metadata": {}, "data": {"image/png": BASE64 + "\n"}},
    {
        "output_type": "error",
        "ename": "ZeroDivisionError",
        "evalue": "division by \x1b[1mzero\x1b[0m",
        "traceback": ["\x1b[0;31mZeroDivisionError\x1b[0m", "line two"],
    },
]


def render(*cells: dict[str, Any], **how: Any) -> list[dict[str, Any]]:
    document = Document.parse(samples.notebook(*cells))
    views = render_cells(
        (document.get_cell(index) for index in range(len(document))), ViewOptions(**how)
    )
    found: list[dict[str, Any]] = json.loads(msgspec.json.encode(views))
    return found


def outputs(how: str | None, *options: Any, view: str = "source") -> Any:
    cell = samples.code("x", "a", outputs=list(options or OUTPUTS))
    return render(cell, view=view, outputs=how)[0].get("outputs")


def test_output_texts_have_no_ansi_escapes_and_images_have_type_and_size() -> None:
    assert outputs("text") == [
        {"output_type": "stream", "name": "stdout", "text": "a red\nline\n"},
        {
            "output_type": "execute_result",
            "execution_count": 4,
            "data": {
                "text/plain": "<Figure size>",
                "text/html": {"mime": "text/html", "bytes": len("<b>é</b>\n".encode())},
                "image/png": {"mime": "image/png", "bytes": len(PNG)},
                "image/svg+xml": {"mime": "image/svg+xml", "bytes": len("<svg></svg>")},
                "application/json": {"mime": "application/json", "bytes": len('["1","2"]')},
                "application/vnd.x+json": {
                    "mime": "application/vnd.x+json",
                    "bytes": len('{"a":[1]}'),
                },
            },
        },
        {
            "output_type": "display_data",
            "data": {"image/png": {"mime": "image/png", "bytes": len(PNG)}},
        },
        {
            "output_type": "error",
            "ename": "ZeroDivisionError",
            "evalue": "division by zero",
            "traceback": "ZeroDivisionError\nline two",
        },
    ]


def test_full_outputs_are_those_of_the_notebook_with_joined_lines() -> None:
    stream, result, display, error = outputs("full")
    assert stream == {**OUTPUTS[0], "text": "a \x1b[31mred\x1b[0m\nline\n"}
    assert result["data"] == {
        "text/plain": "<Figure size>",
        "text/html": "<b>é</b>\n",
        "image/png": BASE64,
        "image/svg+xml": "<svg></svg>",
        "application/json": ["1", "2"],
        "application/vnd.x+json": {"a": [1]},
    }
    assert result["metadata"] == {"image/png": {"width": 3}}
    assert display == OUTPUTS[2]
    assert error == OUTPUTS[3]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 1000])
def test_the_size_of_an_image_is_its_number_of_bytes(size: int) -> None:
    lines = base64.encodebytes(bytes(size)).decode().splitlines(keepends=True)
    output = {"output_type": "display_data", "metadata": {}, "data": {"image/png": lines}}
    assert outputs("text", output)[0]["data"]["image/png"]["bytes"] == size


@pytest.mark.parametrize(
    "output", [None, "text", 3, [], {}, {"output_type": 3}, {"data": "x", "traceback": "y"}]
)
def test_an_invalid_output_is_shown_with_unknown_type(output: Any) -> None:
    found = outputs("text", output)
    assert [one["output_type"] for one in found] == ["unknown"]
    assert len(outputs("full", output)) == 1
    assert outputs("summary", output)["count"] == 1


def test_a_full_view_has_metadata_and_attachments() -> None:
    attached = {"a.png": {"image/png": BASE64}, "b.txt": {"text/plain": ["é", "\n"]}}
    metadata = {"tags": ["x"], "nested": {"list": [1, None]}}
    cell = samples.markdown("![](attachment:a.png)", "a", attachments=attached, metadata=metadata)
    found = render(cell, view="full")[0]
    assert found["source"] == "![](attachment:a.png)"
    assert found["metadata"] == metadata
    assert found["attachments"] == {
        "a.png": {"image/png": {"mime": "image/png", "bytes": len(PNG)}},
        "b.txt": {"text/plain": {"mime": "text/plain", "bytes": 3}},
    }
    assert render(cell, view="full", outputs="full")[0]["attachments"] == {
        "a.png": {"image/png": BASE64},
        "b.txt": {"text/plain": "é\n"},
    }
    for view in ("outline", "source"):
        assert not {"metadata", "attachments"} & set(render(cell, view=view)[0])


@pytest.mark.parametrize("attachments", [None, [], "x", {}, {"a.png": "x"}])
def test_invalid_attachments_are_not_shown(attachments: Any) -> None:
    found = render(samples.markdown("x", "a", attachments=attachments), view="full")[0]
    assert "attachments" not in found


@pytest.mark.parametrize(
    ("coloured", "plain"),
    [
        ("\x1b[0;31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mx\x1b[K", "x"),
        ("\x1b]8;;http://a\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bx\x1b=", "x"),
        ("a\x1b", "a\x1b"),
        ("\x1b]never ends", "\x1b]never ends"),
        ("\x1b[1", "\x1b[1"),
        ("no escapes [0m", "no escapes [0m"),
    ],
)
def test_ansi_escapes_and_nothing_else_are_removed(coloured: str, plain: str) -> None:
    assert strip_ansi(coloured) == plain


def test_real_notebooks_are_shown_in_every_view() -> None:
    for path in corpora.notebooks()[:: 1 if is_nightly() else 10]:
        try:
            document = Document.parse(path.read_bytes())
            cells = [document.get_cell(index) for index in range(len(document))]
            sources = [cell.source for cell in cells]
        except InvalidNotebook:
            continue
        for how in ("none", "summary", "text", "full"):
            views = render_cells(cells, ViewOptions("full", how))
            assert [view.source for view in views] == sources
            text = msgspec.json.encode(views).decode()
            assert how == "full" or '"data":{"image/png":"' not in text
