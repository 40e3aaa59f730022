"""Extract the text of a PDF, if the extra ``pdf`` is installed."""

from __future__ import annotations

import io

from jupyter_nbedit.errors import InvalidRequest

try:
    import pypdf
except ImportError:
    _HAS_PYPDF = False
else:
    _HAS_PYPDF = True

_MAX_PAGES = 1000


def extract_text(data: bytes) -> str:
    """Return the text of a PDF, page by page.

    Raises
    ------
    InvalidRequest
        If the library is not installed or cannot read it.
    """
    if not _HAS_PYPDF:
        message = (
            "This server cannot read PDFs. Whoever runs it can change that with `pip install "
            "'jupyter_nbedit[pdf]'` and a restart."
        )
        raise InvalidRequest(message)
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        texts = [
            f"--- page {number} of {len(pages)} ---\n{page.extract_text()}"
            for number, page in enumerate(pages[:_MAX_PAGES], 1)
        ]
    except Exception as error:
        # The library raises exceptions of many classes for damaged files.
        message = (
            f"The PDF cannot be read as text ({type(error).__name__}): it is broken or encrypted."
        )
        raise InvalidRequest(message) from error
    if len(pages) > _MAX_PAGES:
        texts.append(f"--- pages {_MAX_PAGES + 1} to {len(pages)} are not shown ---")
    return "\n".join(texts)
