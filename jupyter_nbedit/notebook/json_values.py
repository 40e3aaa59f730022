"""Count the values of a JSON text without decoding it.

A decoder keeps the interpreter's lock until it has built all objects: 16 MB of small values stop
every thread for seconds, and take a gigabyte.
"""

#: The most values of a request. Building so many objects takes some 30 ms.
MAX_JSON_VALUES = 200_000
#: The most values of a request that creates a notebook: 1,000 cells with 400 values in each.
MAX_CREATED_JSON_VALUES = 400_000
# Other threads run between two slices.
_SLICE_BYTES = 1 << 16
_SPACE = b" \t\r\n"
_QUOTE = b'"'


def count_json_values(data: bytes, limit: int) -> int:
    """Return how many values a JSON text has, its objects and arrays included.

    Names of members are no values. Counting stops when there are more than ``limit``. For a text
    that is not JSON the number is arbitrary, but never larger than the number of bytes.
    """
    count = 1 if data.strip(_SPACE) else 0
    is_in_string = False
    # What a slice ends with may belong to the next one: half of an escape, or an opening bracket.
    escape, last = b"", b""
    for start in range(0, len(data), _SLICE_BYTES):
        # A backslash is only in strings; of several in a row, each second one is escaped.
        part = (escape + data[start : start + _SLICE_BYTES]).replace(b"\\\\", b"")
        escape = b"\\" if part.endswith(b"\\") else b""
        pieces = part.removesuffix(b"\\").replace(b'\\"', b"").split(_QUOTE)
        outside = _QUOTE.join(pieces[is_in_string::2]).translate(None, _SPACE)
        if is_in_string and len(pieces) > 1:
            outside = _QUOTE + outside
        outside = last + outside
        opened = outside.count(b"[") + outside.count(b"{")
        empty = outside.count(b"[]") + outside.count(b"{}")
        # The last byte is counted with the next slice.
        last = outside[-1:]
        count += outside.count(b",") + opened - empty
        count -= last in b"[{," if last else 0
        if count > limit:
            return count
        is_in_string ^= len(pieces) % 2 == 0
    return count
