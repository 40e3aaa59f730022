"""The page for people says what the document says."""

from __future__ import annotations

import re
from pathlib import Path

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import document
from tests.openapi.page import _anchor, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
DOCUMENT = document(default_handlers, base_url="/")


def test_the_page_is_made_from_the_document_of_today() -> None:
    assert PAGE.read_text() == page(DOCUMENT), "python tests/openapi writes it anew"


def test_every_operation_and_every_form_is_on_the_page_and_every_link_leads_somewhere() -> None:
    text = PAGE.read_text()
    headings = {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    for path, verbs in DOCUMENT["paths"].items():
        for verb in verbs:
            assert f"\n`{verb.upper()} {path}`\n" in text
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= headings
    assert {_anchor(name) for name in DOCUMENT["components"]["schemas"]} <= headings
