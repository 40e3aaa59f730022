"""Entries are merged into configurations, and the rest of the text stays as it is."""

import json
import sys
from typing import Any

import json5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.agents.setup.clients import ConfigEntry, Syntax
from jupyter_nbedit.agents.setup.merge import MergeRefused, merge_entries

VALUE = {"command": "/bin/x", "args": ["mcp"]}
ENTRY = ConfigEntry(["mcpServers"], "nbedit", VALUE)
ITEM = ConfigEntry(["mcp_servers"], "nbedit", {"name": "nbedit", **VALUE}, name_key="name")
INLINE = '{"command": "/bin/x", "args": ["mcp"]}'
TABLE = '[mcpServers.nbedit]\ncommand = "/bin/x"\nargs = ["mcp"]\n'
needs_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="has no parser of TOML")


def indent(text: str, levels: int, unit: str = "  ") -> str:
    """Indent all lines but the first."""
    return text.replace("\n", f"\n{unit * levels}")


BLOCK = json.dumps(VALUE, indent=2)

JSON_CASES = {
    "empty": ("", f'{{\n  "mcpServers": {{\n    "nbedit": {indent(BLOCK, 2)}\n  }}\n}}\n'),
    "an empty object": (
        "{}\n",
        f'{{\n  "mcpServers": {{\n    "nbedit": {indent(BLOCK, 2)}\n  }}\n}}\n',
    ),
    "an empty object for servers": (
        '{\n  "a": 1,\n  "mcpServers": {}\n}',
        f'{{\n  "a": 1,\n  "mcpServers": {{\n    "nbedit": {indent(BLOCK, 2)}\n  }}\n}}',
    ),
    "one line": (
        '{"mcpServers": {"b": {"command": "b"}}, "z": 1}\n',
        f'{{"mcpServers": {{"b": {{"command": "b"}}, "nbedit": {INLINE}}}, "z": 1}}\n',
    ),
    "another server, in odd formats": (
        '{\n\t"mcpServers" : {\n\t\t"b":{"command":"b"}\n\t},\n\t"x":[1,\n2]}',
        (
            '{\n\t"mcpServers" : {\n\t\t"b":{"command":"b"},\n\t\t"nbedit": '
            f'{indent(json.dumps(VALUE, indent=chr(9)), 2, chr(9))}\n\t}},\n\t"x":[1,\n2]}}'
        ),
    ),
    "line ends of Windows": (
        '{\r\n  "mcpServers": {\r\n    "b": {}\r\n  }\r\n}\r\n',
        (
            '{\r\n  "mcpServers": {\r\n    "b": {},\r\n    "nbedit": '
            + indent(BLOCK, 2).replace("\n", "\r\n")
            + "\r\n  }\r\n}\r\n"
        ),
    ),
}
COMMENTED_CASES = {
    "comments and a trailing comma": (
        (
            '// mine\n{\n  "a": "//", // one\n  "mcpServers": {\n    // not: "nbedit": {}\n'
            '    "b": {}, /* two */ // three\n  }, // four\n}\n'
        ),
        (
            '// mine\n{\n  "a": "//", // one\n  "mcpServers": {\n    // not: "nbedit": {}\n'
            f'    "b": {{}}, /* two */ // three\n    "nbedit": {indent(BLOCK, 2)}\n'
            "  }, // four\n}\n"
        ),
    ),
    "a comment behind the last member": (
        '{\n  "a": 1 // last\n}',
        f'{{\n  "a": 1, // last\n  "mcpServers": {{\n    "nbedit": {indent(BLOCK, 2)}\n  }}\n}}',
    ),
    "only a comment inside": (
        '{ "mcpServers": { /* none */ } }',
        f'{{ "mcpServers": {{ /* none */\n  "nbedit": {indent(BLOCK, 1)}\n}} }}',
    ),
}


@pytest.mark.parametrize(
    ("syntax", "text", "expected"),
    [
        *(("json", *case) for case in JSON_CASES.values()),
        *(("jsonc", *case) for case in [*JSON_CASES.values(), *COMMENTED_CASES.values()]),
    ],
)
def test_an_entry_is_added_and_all_else_stays(syntax: Syntax, text: str, expected: str) -> None:
    merged = merge_entries(text, [ENTRY], syntax)

    assert merged == expected
    assert json5.loads(merged)["mcpServers"]["nbedit"] == VALUE
    assert merge_entries(merged, [ENTRY], syntax) == merged


def test_an_item_is_added_to_a_list() -> None:
    text = '{\n  "mcp_servers": [\n    {"type": "http", "name": "b", "url": "http://b"}\n  ]\n}\n'

    merged = merge_entries(text, [ITEM], "json")

    assert merged.startswith(text[: text.index("\n  ]")] + ",\n    {\n")
    assert json.loads(merged)["mcp_servers"][1] == ITEM.value
    assert merge_entries(merged, [ITEM], "json") == merged


@needs_toml
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", TABLE),
        ('# mine\nmodel = "x"', f'# mine\nmodel = "x"\n\n{TABLE}'),
        (
            '[mcpServers.b]\r\ncommand = "b"\r\n',
            '[mcpServers.b]\r\ncommand = "b"\r\n\r\n' + TABLE.replace("\n", "\r\n"),
        ),
    ],
)
def test_a_table_is_appended(text: str, expected: str) -> None:
    merged = merge_entries(text, [ENTRY], "toml")

    assert merged == expected
    assert merge_entries(merged, [ENTRY], "toml") == merged


def test_what_the_user_has_added_to_the_entry_stays() -> None:
    text = json.dumps({"mcpServers": {"nbedit": {"timeout": 5, **VALUE}}})
    assert merge_entries(text, [ENTRY], "json") == text

    moved = ConfigEntry(["mcpServers"], "nbedit", {**VALUE, "command": "/new"})
    merged = merge_entries(text, [moved], "json", replace=True)
    assert json.loads(merged)["mcpServers"]["nbedit"] == {"timeout": 5, **moved.value}


SECRET = "s3cret"  # noqa: S105 -- must not be shown
REFUSED: list[tuple[str, Syntax, ConfigEntry, str]] = [
    ('{"mcpServers": {', "json", ENTRY, "not valid JSON"),
    ('{"a": 1} x', "jsonc", ENTRY, "line 1, column 10: expected the end of the file"),
    ('{\n"a" 1}', "jsonc", ENTRY, "line 2, column 5: expected a colon"),
    ('{"a": 1 "b": 2}', "jsonc", ENTRY, "expected a comma or }"),
    ('{"a": [1 2]}', "jsonc", ENTRY, "expected a comma or ]"),
    ("{'a': 1}", "jsonc", ENTRY, "expected a key in double quotes"),
    ('{"a": NaN}', "jsonc", ENTRY, "expected a value"),
    ('{"a": "\\x"}', "jsonc", ENTRY, "expected a value"),
    ('{"a": /* open', "jsonc", ENTRY, "expected a value"),
    ('{"a": 1, "a": 2}', "jsonc", ENTRY, "expected only one member 'a'"),
    ("[" * 50_000, "jsonc", ENTRY, "at most 100 levels"),
    ("[" * 50_000, "json", ENTRY, "not valid JSON"),
    ('{"a": 1} // comment', "json", ENTRY, "not valid JSON"),
    ("[]", "json", ENTRY, "it is a list, not an object"),
    ('{"mcpServers": null}', "json", ENTRY, "its member mcpServers is null, not an object"),
    ('{"mcp_servers": {}}', "json", ITEM, "its member mcp_servers is an object, not a list"),
    ('{"mcpServers": {"nbedit": 1}}', "json", ENTRY, "another entry 'nbedit'"),
    (f'{{"mcpServers": {{"nbedit": {{"command": "{SECRET}"}}}}}}', "json", ENTRY, "another entry"),
    (f'{{"mcp_servers": [{{"name": "nbedit", "url": "{SECRET}"}}]}}', "json", ITEM, "another"),
]
REFUSED_TOML = [
    ("a = ", "not valid TOML"),
    ("mcpServers = 1", "its member mcpServers is a number or boolean, not an object"),
    (f'[mcpServers.nbedit]\ncommand = "{SECRET}"', "another entry 'nbedit'"),
    ("mcpServers = {b = {}}", "not valid TOML"),
]


@pytest.mark.parametrize(
    ("text", "syntax", "entry", "reason"),
    [
        *REFUSED,
        *(
            pytest.param(text, "toml", ENTRY, reason, marks=needs_toml)
            for text, reason in REFUSED_TOML
        ),
    ],
)
def test_what_cannot_be_merged_is_refused(
    text: str, syntax: Syntax, entry: ConfigEntry, reason: str
) -> None:
    with pytest.raises(MergeRefused) as refused:
        merge_entries(text, [entry], syntax)

    assert reason in str(refused.value)
    assert SECRET not in str(refused.value)
    assert len(str(refused.value)) < 300


LEAKS = [
    '{"mcpServers": {"b": {"env": {"KEY" "%s"}}}}',
    '{"mcpServers": "%s"}',
    '["%s"]',
    '"%s"',
    '{"a": %s}',
    '{"key": "%s\n"}',
    '{"key": "\\x%s"}',
    '{"a": ["%s" "b"]}',
    '{"a": "%s", "a": 1}',
    '{"mcpServers": {}} %s',
    '{"mcpServers": {"nbedit": "%s"}}',
]
LEAKS_TOML = [
    'key = "%s',
    "key = %s",
    'key = "a" %s',
    'mcpServers = "%s"',
    'mcpServers = ["%s"]',
    'a = 1\na = "%s"',
    '[mcpServers]\nnbedit = "%s"',
    'key = "%s\\x"',
    'key = "%s\x01"',
    "%s",
]


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        *((text, syntax) for text in LEAKS for syntax in ("json", "jsonc")),
        *(pytest.param(text, "toml", marks=needs_toml) for text in LEAKS_TOML),
    ],
)
def test_no_part_of_a_value_is_in_a_message(text: str, syntax: Syntax) -> None:
    with pytest.raises(MergeRefused) as refused:
        merge_entries(text.replace("%s", f"§¶{SECRET}"), [ENTRY], syntax)

    assert not set("§¶\x01\\") & set(str(refused.value))
    assert SECRET not in str(refused.value)


# Random documents ---------------------------------------------------------------------------------

KEYS = st.sampled_from(["a", "mcpServers", "b c", "ü", '"', "nbedit", "//"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(
    ["", "", " ", "\n  ", "\n\t", "\r\n", " // c: {\n", "/* , } */", "\n    /* a\n b */ "]
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, str]:
    """Draw an object and a text of it, with comments, trailing commas and odd white space."""
    value: dict[str, Any] = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    if not isinstance(value.get("mcpServers", {}), dict):
        del value["mcpServers"]
    value.get("mcpServers", {}).pop("nbedit", None)
    return value, f"{draw(SPACES)}{render(draw, value)}{draw(SPACES)}"


def render(draw: st.DrawFn, value: Any) -> str:
    members: list[str]
    if isinstance(value, dict):
        members = [
            f"{draw(SPACES)}{json.dumps(key)}{draw(SPACES)}:{draw(SPACES)}{render(draw, inner)}"
            for key, inner in value.items()
        ]
        brackets = "{}"
    elif isinstance(value, list):
        members = [f"{draw(SPACES)}{render(draw, inner)}" for inner in value]
        brackets = "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    inside = f"{draw(SPACES)},".join(members) + draw(SPACES)
    if members:
        inside += draw(st.sampled_from(["", ",", ", // trailing\n"]))
    return f"{brackets[0]}{inside}{brackets[1]}"


@given(documents())
def test_any_document_gets_the_entry_and_keeps_its_text(document: tuple[Any, str]) -> None:
    value, text = document

    merged = merge_entries(text, [ENTRY], "jsonc")

    value.setdefault("mcpServers", {})["nbedit"] = VALUE
    assert json5.loads(merged) == value
    assert merge_entries(merged, [ENTRY], "jsonc") == merged
    assert contains_in_order(merged, text)


def contains_in_order(merged: str, text: str) -> bool:
    """Return whether all that is not white space is still there, in its order."""
    rest = iter(merged)
    return all(character in rest for character in text if not character.isspace())
