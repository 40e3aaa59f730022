"""No text makes the server take more than linear time.

Steps are counted. What the counter takes for granted, that an expression of ``re`` goes over its
match once, shows in very long texts: a linear pass over one takes seconds, another one hours.
"""

import subprocess
import sys

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from tests.linear.documents import BROKEN_JSON, DOCUMENTS, read
from tests.support.paths import ROOT
from tests.support.sampling import is_nightly

# Guards against hanging: all that is counted, and one text.
LIMIT_SECONDS, LIMIT_OF_ONE = 1800.0, 600.0
GROUPS = ["texts", "edits", "comparisons", "routes", "messages", "names", "not_found"]
LONG = 3_000_000 if is_nightly() else 100_000


@pytest.mark.parametrize("group", GROUPS if is_nightly() else [" or ".join(GROUPS)])
def test_no_request_and_no_notebook_takes_more_than_linear_time(group: str) -> None:
    process = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider"),
            # Its plugin takes half a second to import.
            *("-p", "no:schemathesis"),
            *("-p", "tests.linear.counting", "tests/linear/cases.py", "-k", group),
        ],
        cwd=ROOT,
        timeout=LIMIT_SECONDS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert process.returncode == 0, process.stdout


@pytest.mark.timeout(LIMIT_OF_ONE)
@pytest.mark.parametrize("name", DOCUMENTS if is_nightly() else ["headings"])
def test_a_very_long_text_is_read(name: str) -> None:
    read(DOCUMENTS[name](LONG))


@pytest.mark.timeout(LIMIT_OF_ONE)
@pytest.mark.parametrize("name", BROKEN_JSON)
def test_a_very_long_text_of_invalid_json_is_refused(name: str) -> None:
    with pytest.raises(InvalidNotebook):
        Document.parse(BROKEN_JSON[name](LONG))
