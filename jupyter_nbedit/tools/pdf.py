"""The text of a PDF, with the library of the extra ``pdf``."""

from __future__ import annotations

import io

from jupyter_nbedit.errors import InvalidRequest

try:
    import pypdf
except ImportError:
    _HAS_PYPDF = False
else:
    _HAS_PYPDF = True

_MOST_PAGES = 1000


def extract_text(data: bytes) -> str:
    """Return a PDF's text, page by page.

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
            for number, page in enumerate(pages[:_MOST_PAGES], 1)
        ]
    except Exception as error:
        # Whatever is wrong with a PDF, and much may be: the library raises as it stumbles.
        message = (
            f"The PDF cannot be read as text ({type(error).__name__}): it is broken or encrypted."
        )
        raise InvalidRequest(message) from error
    if len(pages) > _MOST_PAGES:
        texts.append(f"--- pages {_MOST_PAGES + 1} to {len(pages)} are not shown ---")
    return "\n".join(texts)
