"""What fuzzing starts from: small notebooks, one of each kind that `mutators` can make."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.mutators import MUTATORS

SMALL = (
    b'{"cells":[{"cell_type":"code","execution_count":1,"id":"a","metadata":{},"outputs":'
    b'[{"x":[{}]}],"source":["x\\n","y"]},{"attachments":{"p":{}},"cell_type":"markdown","id":"b",'
    b'"metadata":{"k":1},"source":"# T"}],"metadata":{"a":[]},"nbformat":4,"nbformat_minor":5}'
)
_CELL = b'{"cell_type":"raw","source":""}'
OTHERS = (
    # Of several windows.
    b'{"nbformat":4,"cells":[' + b",".join([_CELL] * 8) + b"]}",
    b'{"nbformat":4,"cells":[' + _CELL + b"," + b", ".join([_CELL] * 2) + b"," + _CELL + b"]}",
    b'{"nbformat":4,"cells":[' + b",".join([b", ".join([_CELL] * 2)] * 5) + b"]}",
    b"{}",
    b'{"a":[],"b":[NaN,{"c":"}"}],"\\u0061":{}}',
    b'{"a":1,"b":2,"a":"xxxxxxxx"}',
    b'{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}',
)
# Each scan of them takes longer than all that is to be found out about them.
_SLOW = frozenset(("deep metadata", "long integers"))


def lay_out(folder: Path) -> None:
    """Put the seeds into a folder, each in a file."""
    texts = [
        mutator(SMALL, random.Random(0)) for name, mutator in MUTATORS.items() if name not in _SLOW
    ]
    for number, text in enumerate((*texts, SMALL, *OTHERS)):
        (folder / f"seed-{number:02}").write_bytes(text)
