from typing import Any

import pytest

from benchmarks.page_profile import PageProfile, format_profile

OURS = "http://127.0.0.1:1/lab/extensions/jupyter-nbedit/static/1.js"
THEIRS = "http://127.0.0.1:1/static/lab/2.js"


def build_node(node: int, name: str, url: str, *children: int) -> dict[str, Any]:
    frame = {"functionName": name, "url": url, "lineNumber": node, "columnNumber": 0}
    return {"id": node, "callFrame": frame, "children": list(children)}


def test_time_of_a_native_function_is_ours_if_we_call_it_and_a_pause_ends_a_run() -> None:
    nodes = [
        build_node(1, "(root)", "", 2, 3),
        build_node(2, "(idle)", ""),
        build_node(3, "merge", OURS, 4, 5),
        build_node(4, "measure", ""),
        build_node(5, "render", THEIRS, 6),
        build_node(6, "measure", ""),
    ]
    # Each sample stands until the next one, in microseconds.
    profile = {
        "nodes": nodes,
        "samples": [3, 4, 5, 6, 2, 3, 2],
        "timeDeltas": [99, 1000, 2000, 4000, 8000, 500, 3000],
    }
    found = PageProfile.from_cdp(profile)
    assert found.tasks == pytest.approx([15, 3])
    assert found.our_tasks == pytest.approx([3, 3])
    assert {frame.name: took for frame, took in found.total.items()}["merge"] == pytest.approx(18)
    own = "\n".join(format_profile([found]).splitlines()[1:6])
    assert "8.0  measure" in own
    assert "4.0  merge [ours:3:0]" in own
    assert "4.0  render [2.js:5:0]" in own
