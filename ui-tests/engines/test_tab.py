"""An open notebook in browsers other than Chromium, which all other browser tests use.

Each engine lays out, selects, focuses and scrolls in its own way.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from engines.server import Server, make_source, replace
from engines.tab import Tab, wait_for, wait_until

BLOCK = ".jp-nbedit-block"
BAR = ".jp-nbedit-bar"
BAR_BUTTON = ".jp-nbedit-bar button"
CHANGE_BUTTON = ".jp-nbedit-change button"
CONFLICT = ".jp-nbedit-conflict-mark"
DIFF = ".jp-nbedit-diff"
DIFF_TEXT = ".jp-nbedit-diff .cm-content"
DELETED_LINE = ".jp-nbedit-line"
HISTORY_BUTTON = "#nbedit-history .jp-nbedit-edit-head > button.jp-nbedit-button"
HISTORY_ROW = "#nbedit-history .jp-nbedit-edit-toggle"
MARK = ".jp-nbedit-mark"
PROPOSAL = ".jp-nbedit-proposal"
PROPOSAL_BUTTON = ".jp-nbedit-proposal button"
TOAST = ".Toastify__toast"

#: How far a cell may move on the screen that must not, in pixels.
MAX_DRIFT = 3


def test_edits_above_the_active_cell_change_neither_its_place_nor_the_state_of_the_tab(
    tab: Tab,
) -> None:
    tab.open("clean.ipynb", cells=40)
    tab.call("activate", "c25")
    tab.call("scrollTo", "c25")
    top = tab.call("top", "c25")

    tab.edit(
        replace("c1", "\n".join(f"theirs = {line}" for line in range(12))),
        {"op": "delete", "cell": "c3"},
        {"op": "delete", "cell": "c4"},
        {"op": "insert", "after": "c6", "id": "new", "cell_type": "code", "source": "new = 1"},
        {"op": "move", "cell": "c8", "index": 0},
    )
    wait_for(lambda: tab.marked_cells, ["c8", "c1", "new"])
    tab.wait_for_text("changed 1 cell, added 1, moved 1, deleted 2", BAR)
    tab.wait_for_text("Claude", TOAST)
    tab.call("waitForRest")

    assert tab.call("activeCell") == "c25"
    assert not tab.is_dirty
    # The bar above the notebook takes some of its height.
    assert abs(tab.call("top", "c25") - top) <= MAX_DRIFT


def test_a_stream_of_edits_above_leaves_the_cells_in_sight_where_they_are(tab: Tab) -> None:
    tab.open("stream.ipynb", cells=40)
    tab.call("activate", "c25")
    tab.call("scrollTo", "c25")
    # The bar comes with the first edit.
    tab.edit(replace("c2", "first"))
    wait_until(lambda: tab.read(BAR))
    tab.call("waitForRest")

    tab.call("startSampling", "c25")
    for number in range(8):
        lines = "\n".join(["x = 1"] * (1 + number * 7 % 20))
        tab.edit(replace("c2", lines))
        tab.wait_for_source("c2", lines)
    tab.call("waitForRest")
    drifts = tab.call("stopSampling")

    assert abs(drifts[-1]) <= MAX_DRIFT
    assert max(map(abs, drifts)) <= MAX_DRIFT


def test_edits_out_of_sight_do_not_scroll_and_leave_the_wheel_to_the_user(tab: Tab) -> None:
    tab.open("scroll.ipynb", cells=60)
    tab.call("scrollTo", "c40")
    top = tab.call("top", "c40")
    section = {"op": "insert", "cell_type": "markdown", "source": "# New\n\ntext\n\ntext"}

    tab.edit(
        *(replace(f"c{index}", "line\n" * 9) for index in range(5, 30, 3)),
        *({**section, "after": f"c{index}"} for index in (10, 20, 24, 30)),
    )
    wait_for(lambda: len(tab.ids), 64)
    tab.call("waitForRest")
    assert abs(tab.call("top", "c40") - top) <= MAX_DRIFT

    before = tab.call("scrollTop")
    tab.turn_wheel(-900)
    wait_until(lambda: tab.call("scrollTop") < before)
    tab.call("waitForRest")
    turned = tab.call("scrollTop")
    tab.edit(replace("c50", "a\nb\nc\nd\ne\nf"))
    tab.wait_for_source("c50", "a\nb\nc\nd\ne\nf")
    tab.call("waitForRest")
    assert abs(tab.call("scrollTop") - turned) <= MAX_DRIFT


def test_text_caret_and_selection_survive_edits_of_the_same_and_of_other_cells(tab: Tab) -> None:
    tab.open("dirty.ipynb", cells=40)
    tab.place_caret("c20")
    tab.type("abc")
    assert tab.is_dirty
    tab.press("Shift+ArrowLeft", "Shift+ArrowLeft")
    caret = tab.call("caret")

    tab.edit(replace("c5", "above\n" * 5), replace("c30", "theirs"))
    tab.wait_for_source("c30", "theirs")
    tab.call("waitForRest")
    assert tab.call("caret") == caret
    assert tab.has_caret

    tab.type("Z")
    tab.wait_for_source("c20", make_source(20) + "aZ")
    tab.edit({"op": "replace_text", "cell": "c20", "old": "first = 20", "new": "first = 21"})
    merged = make_source(20).replace("20", "21", 1) + "aZ"
    tab.wait_for_source("c20", merged)
    tab.type("!")
    tab.wait_for_source("c20", merged + "!")
    tab.save()
    assert tab.read_file()["c20"] == merged + "!"
    assert tab.read_file()["c30"] == "theirs"


def test_no_key_is_lost_while_edits_arrive(tab: Tab) -> None:
    tab.open("typing.ipynb", cells=40)
    tab.place_caret("c22")
    typed = "typed while agents edit, ten times"

    def edit() -> None:
        for number in range(10):
            tab.edit(replace(f"c{number % 4}", "n\n" * (number + 1)))
            if number == 5:
                rename = {"op": "replace_text", "old": "first = 22", "new": "renamed = 22"}
                tab.edit({**rename, "cell": "c22"})

    with ThreadPoolExecutor() as pool:
        edits = pool.submit(edit)
        tab.press("Enter")
        is_done = False
        while not is_done:
            # All edits may arrive before the first key.
            is_done = edits.done()
            tab.type(typed)
            tab.press("Enter")
        edits.result()

    wait_until(lambda: tab.get_source("c22").startswith("renamed = 22"))
    _first, second, third, *lines, last = tab.get_source("c22").split("\n")
    assert [second, third] == make_source(22).split("\n")[1:]
    assert {line.strip() for line in lines} == {typed}
    assert last.strip() == ""
    assert tab.has_caret
    tab.save()


def test_marks_blocks_and_the_bar_work_by_mouse(tab: Tab) -> None:
    tab.open("marks.ipynb", cells=10)
    tab.edit(
        replace("c1", "theirs = 1"),
        replace("c2", "theirs = 2\nlong = '" + 30 * "a long line " + "'"),
        {"op": "delete", "cell": "c4"},
        {"op": "delete", "cell": "c5"},
        {"op": "insert", "after": "c6", "id": "new", "cell_type": "code", "source": "new = 1"},
        {"op": "move", "cell": "c8", "index": 0},
    )
    wait_for(lambda: tab.marked_cells, ["c8", "c1", "c2", "new"])
    # A block closes when the next one opens.
    for cell in ("c2", "c1"):
        tab.click(MARK, cell=cell)
        tab.wait_for_text("theirs", DIFF_TEXT, cell=cell)

    tab.click(CHANGE_BUTTON, "Undo", "c1")
    tab.wait_for_source("c1", make_source(1))
    wait_for(lambda: tab.marked_cells, ["c8", "c2", "new"])
    # The next change is shown.
    wait_for(lambda: tab.focused_block, "c2")
    tab.click(CHANGE_BUTTON, "Keep", "c2")
    wait_for(lambda: tab.marked_cells, ["c8", "new"])
    tab.click(f"{DELETED_LINE} button", "Restore")
    wait_for(lambda: tab.ids, ["c8", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "new", "c7", "c9"])
    wait_for(lambda: tab.count(DELETED_LINE), 0)
    tab.click(BAR_BUTTON, "Go to the next")
    wait_until(lambda: tab.focused_block)
    tab.click(BAR_BUTTON, "Undo all")
    wait_for(lambda: tab.marked_cells, [])
    wait_for(lambda: tab.ids, [f"c{index}" for index in range(10)])


def test_a_diff_has_an_appended_line_only_and_an_undo_leaves_what_was_typed(tab: Tab) -> None:
    tab.open("typed.ipynb", cells=5)
    tab.edit(replace("c1", make_source(1) + "\nappended = 1"))
    wait_for(lambda: tab.marked_cells, ["c1"])
    tab.click(MARK, cell="c1")
    tab.wait_for_text("appended = 1", DIFF_TEXT, cell="c1")
    assert tab.count(".cm-changedLine", cell="c1") == 1
    assert tab.count(".cm-deletedLine", cell="c1") == 0

    tab.place_caret("c1")
    tab.press("Enter")
    tab.type("mine = 1")
    tab.click(CHANGE_BUTTON, "Undo", "c1")
    tab.wait_for_source("c1", make_source(1) + "\nmine = 1")
    assert tab.count(".jp-nbedit-conflict") == 0
    assert tab.is_dirty
    tab.save()
    assert tab.read_file()["c1"] == make_source(1) + "\nmine = 1"


def test_the_caret_stays_in_a_cell_whose_type_changes(tab: Tab) -> None:
    tab.open("retyped.ipynb", cells=5)
    tab.place_caret("c2")
    tab.type("abc")
    tab.press("ArrowLeft")
    tab.edit({"op": "replace", "cell": "c2", "cell_type": "markdown"})
    wait_until(lambda: tab.count(".jp-MarkdownCell", cell="") == 1)
    tab.call("waitForRest")
    assert tab.has_caret
    tab.type("Z")
    tab.wait_for_source("c2", make_source(2) + "abZc")


def test_a_toast_shows_and_undoes_its_edit_and_so_does_the_keyboard(tab: Tab) -> None:
    tab.open("toast.ipynb", cells=40)
    tab.edit(replace("c30", "theirs"))
    tab.click(f"{TOAST} button", "View")
    wait_until(lambda: tab.call("isInView", "c30"))
    tab.click(f"{TOAST} button", "Undo")
    tab.wait_for_source("c30", make_source(30))

    tab.edit(replace("c2", "theirs"))
    tab.wait_for_source("c2", "theirs")
    tab.call("activate", "c0")
    tab.press("Control+Alt+z")
    tab.wait_for_source("c2", make_source(2))


def test_changes_can_be_kept_and_undone_by_keyboard_and_keys_do_not_reach_the_cells(
    tab: Tab,
) -> None:
    tab.open("keys.ipynb", cells=40)
    tab.edit(replace("c1", "theirs"), {"op": "delete", "cell": "c20"}, replace("c35", "theirs"))
    wait_for(lambda: tab.marked_cells, ["c1", "c35"])
    tab.call("activate", "c0")

    tab.press("Alt+F5")
    wait_for(lambda: tab.focused_block, "c1")
    # In a cell they would delete it, insert another and cut.
    tab.press("d", "d", "a", "x", "n")
    tab.wait_for_source("c1", make_source(1))
    assert len(tab.ids) == 39
    # The block of a deleted cell is at one of its neighbours.
    wait_until(lambda: tab.focused_block in ("c19", "c21"))
    tab.press("n")
    wait_until(lambda: "c20" in tab.ids)
    wait_for(lambda: tab.focused_block, "c35")
    tab.press("y")
    wait_for(lambda: tab.marked_cells, [])

    tab.edit(replace("c5", "theirs"), replace("c6", "theirs"))
    wait_for(lambda: tab.marked_cells, ["c5", "c6"])
    tab.press("Alt+Shift+F5")
    wait_until(lambda: tab.focused_block)
    tab.press("Escape")
    wait_for(lambda: tab.focused_block, "")
    assert tab.call("hasFocus", ".jp-Notebook")
    assert tab.call("mode") == "command"


def test_proposals_can_be_decided_by_mouse_and_keyboard(tab: Tab, server: Server) -> None:
    tab.open("review.ipynb", cells=12)
    server.set_mode("review.ipynb", "review")
    proposal = tab.edit(
        *(replace(f"c{index}", f"theirs = {index}") for index in (1, 3, 4, 5, 6)),
        {"op": "delete", "cell": "c7"},
        {"op": "move", "cell": "c9", "index": 2},
        {"op": "insert", "at": "end", "id": "new", "cell_type": "markdown", "source": "# New"},
    )
    wait_until(lambda: tab.count(PROPOSAL) >= 5)
    tab.call("activate", "c0")

    tab.press("Alt+F5")
    wait_for(lambda: tab.focused_block, "c1")
    tab.press("y")
    tab.wait_for_source("c1", "theirs = 1")
    tab.wait_for_text("Accepted 1 change", TOAST, "Accepted")
    wait_until(lambda: tab.focused_block not in ("", "c1"))
    tab.press("z")
    tab.wait_for_source("c1", make_source(1))
    tab.call("activate", "c0")
    tab.press("Alt+F5")
    wait_until(lambda: tab.focused_block)
    rejected = tab.focused_block
    tab.press("n")
    tab.wait_for_text("Rejected 1 change", TOAST, "Rejected")
    wait_until(lambda: tab.focused_block not in ("", rejected))
    tab.press("z")
    wait_for(lambda: tab.focused_block, rejected)

    tab.click(PROPOSAL_BUTTON, "Accept", "c3")
    tab.wait_for_source("c3", "theirs = 3")
    tab.click(PROPOSAL_BUTTON, "Reject:", "c4")
    wait_for(lambda: tab.count(PROPOSAL, cell="c4"), 0)
    assert tab.get_source("c4") == make_source(4)
    tab.click(PROPOSAL_BUTTON, "Reject with a reason", "c5")
    wait_until(lambda: tab.call("hasFocus", f"{PROPOSAL} input"))
    # None of these letters decides anything.
    tab.type("Not yet, y or n")
    tab.press("Enter")
    wait_for(lambda: tab.count(PROPOSAL, cell="c5"), 0)
    parts = server.request("GET", f"nbedit/proposals/{proposal['proposal_id']}")["parts"]
    assert [part["reason"] for part in parts if part.get("reason")] == ["Not yet, y or n"]
    tab.click(PROPOSAL_BUTTON, "Edit", "c6")
    wait_until(lambda: tab.call("hasFocus", f"{PROPOSAL} .cm-content"))
    tab.press("Control+End")
    tab.type("  # yn")
    tab.click(PROPOSAL_BUTTON, "Accept", "c6")
    tab.wait_for_source("c6", "theirs = 6  # yn")

    tab.click(BAR_BUTTON, "Accept all")
    wait_for(lambda: tab.count(PROPOSAL), 0)
    wait_until(lambda: "new" in tab.ids and "c7" not in tab.ids)
    server.set_mode("review.ipynb", None)


def test_a_conflict_is_solved_by_mine_theirs_both_and_by_keyboard(tab: Tab) -> None:
    cells = ("c1", "c2", "c3", "c4")
    tab.open("conflict.ipynb", cells=8)
    for cell in cells:
        tab.place_caret(cell)
        tab.type("  # mine")
    tab.edit(*(replace(cell, "first\nsecond\ntheirs") for cell in cells))
    wait_for(lambda: tab.count(CONFLICT), 4)
    assert tab.has_caret

    tab.click(f"{BLOCK} button", "Mine", "c1")
    wait_for(lambda: tab.count(CONFLICT, cell="c1"), 0)
    assert tab.get_source("c1").endswith("# mine")
    tab.click(f"{BLOCK} button", "Theirs", "c2")
    tab.wait_for_source("c2", "first\nsecond\ntheirs")
    tab.click(f"{BLOCK} button", "Both", "c3")
    wait_until(lambda: "# mine" in tab.get_source("c3") and "theirs" in tab.get_source("c3"))
    wait_for(lambda: tab.count(CONFLICT), 1)
    # The focus follows when the notebook has come to rest.
    tab.call("waitForRest")
    tab.call("activate", "c0")
    tab.press("Alt+F5")
    wait_for(lambda: tab.focused_block, "c4")
    tab.press("n")
    wait_for(lambda: tab.count(CONFLICT), 0)
    assert tab.get_source("c4").endswith("# mine")

    tab.call("activate", "c0")
    tab.save()
    assert tab.read_file()["c2"] == "first\nsecond\ntheirs"
    assert tab.read_file()["c4"].endswith("# mine")


def test_the_history_shows_and_undoes_edits_and_takes_arrow_keys(tab: Tab) -> None:
    tab.open("history.ipynb", cells=8)
    for cell in ("c1", "c2", "c3"):
        tab.edit(replace(cell, "theirs"))
    # More rows than fit, so that the list scrolls.
    tab.edit(replace("c4", "x\n" * 60), client="Codex")
    tab.run("nbedit:show-history")
    wait_for(lambda: tab.count(HISTORY_ROW), 4)
    tab.click(HISTORY_ROW)
    tab.wait_for_text("x", f"#nbedit-history {DIFF_TEXT}")

    tab.point_at(HISTORY_ROW)
    tab.click(HISTORY_BUTTON, "Undo")
    tab.wait_for_source("c4", make_source(4))
    wait_until(lambda: tab.count(HISTORY_BUTTON, "Redo"))
    tab.call("focus", HISTORY_ROW)
    row = tab.call("focusedName")
    tab.press("ArrowDown")
    wait_until(lambda: tab.call("focusedName") != row)
    assert tab.call("hasFocus", "#nbedit-history")


def test_copy_on_the_page_of_agents_puts_the_text_into_the_clipboard(tab: Tab) -> None:
    tab.open("clipboard.ipynb", cells=3)
    tab.run("nbedit:connect-agent")
    panel = "#nbedit-connect [role=tabpanel]:not([hidden])"
    wait_until(lambda: tab.read(f"{panel} pre"))
    text = tab.read(f"{panel} pre")
    tab.click(f"{panel} button", "Copy")
    wait_for(lambda: tab.read(f"{panel} button", "Copy"), "Copied")

    tab.call("close", "nbedit-connect")
    tab.open("clipboard.ipynb")
    tab.place_caret("c2")
    tab.press("Control+a", "Control+v")
    tab.wait_for_source("c2", text)


def test_changes_wait_for_the_user_until_they_are_kept_also_through_reloads(tab: Tab) -> None:
    tab.open("unseen.ipynb", cells=10)
    tab.edit(replace("c1", "theirs"), {"op": "delete", "cell": "c5"})
    wait_for(lambda: tab.marked_cells, ["c1"])
    tab.start()
    tab.edit(replace("c2", "theirs"))
    tab.open("unseen.ipynb")
    wait_for(lambda: tab.marked_cells, ["c1", "c2"])
    wait_for(lambda: tab.count(DELETED_LINE), 1)
    tab.click(BAR_BUTTON, "Keep all")
    wait_for(lambda: tab.marked_cells, [])

    tab.start()
    tab.open("unseen.ipynb")
    # What was kept would be shown together with this.
    tab.edit(replace("c7", "theirs"))
    wait_for(lambda: tab.marked_cells, ["c7"])


def test_writes_of_other_programs_are_shown_and_saving_over_them_asks_nothing(
    tab: Tab, server: Server
) -> None:
    tab.open("outside.ipynb", cells=10)
    server.change_outside("outside.ipynb", "c2", "outside")
    tab.wait_for_source("c2", "outside")
    wait_for(lambda: tab.marked_cells, ["c2"])
    wait_until(lambda: tab.read(TOAST))

    tab.place_caret("c4")
    tab.type("X")
    server.change_outside("outside.ipynb", "c6", "outside")
    tab.wait_for_source("c6", "outside")
    assert tab.has_caret
    tab.type("Y")
    tab.save()
    # Not shown yet when the user saves.
    tab.type("Z")
    server.change_outside("outside.ipynb", "c7", "outside")
    tab.save()
    tab.wait_for_source("c7", "outside")
    sources = tab.read_file()
    assert sources["c4"] == make_source(4) + "XYZ"
    assert [sources["c6"], sources["c7"]] == ["outside", "outside"]


def test_edits_are_shown_again_after_a_restart_of_the_server(tab: Tab, server: Server) -> None:
    tab.open("restart.ipynb", cells=10)
    tab.edit(replace("c1", "theirs"))
    tab.wait_for_source("c1", "theirs")
    tab.place_caret("c3")
    tab.type("kept")
    server.lab.stop()
    server.lab.start()

    tab.edit(replace("c2", "theirs"))
    tab.wait_for_source("c2", "theirs")
    assert tab.get_source("c3").endswith("kept")
    tab.edit(replace("c5", "theirs"))
    tab.wait_for_source("c5", "theirs")


def test_saving_right_after_an_edit_asks_nothing_and_keeps_both(tab: Tab) -> None:
    tab.open("save.ipynb", cells=10)
    tab.place_caret("c3")
    typed = make_source(3)
    for number in range(5):
        tab.type(str(number))
        typed += str(number)
        # Before the key arrives there is nothing to save.
        tab.wait_for_source("c3", typed)
        tab.edit(replace("c6", f"theirs = {number}"))
        tab.save()
        tab.wait_for_source("c6", f"theirs = {number}")
    assert tab.read_file()["c3"] == typed
    assert tab.read_file()["c6"] == "theirs = 4"


def test_texts_and_cells_can_be_copied_and_pasted_while_edits_arrive(tab: Tab) -> None:
    tab.open("paste.ipynb", cells=8)
    tab.place_caret("c2")
    tab.press("Control+a", "Control+c")
    tab.edit(replace("c5", "theirs"))
    tab.wait_for_source("c5", "theirs")
    tab.place_caret("c6")
    tab.press("Control+a", "Control+v")
    tab.wait_for_source("c6", make_source(2))

    tab.press("Escape", "c", "v")
    wait_for(lambda: len(tab.ids), 9)
    tab.edit(replace("c7", "theirs"))
    tab.wait_for_source("c7", "theirs")
    tab.save()


def test_text_selected_in_a_diff_has_no_signs_and_no_words_for_screen_readers(tab: Tab) -> None:
    tab.open("copy.ipynb", cells=5)
    tab.edit(replace("c1", "theirs = 1"))
    wait_for(lambda: tab.marked_cells, ["c1"])
    tab.click(MARK, cell="c1")
    tab.wait_for_text("theirs = 1", DIFF_TEXT, cell="c1")
    copied = tab.call("select", DIFF_TEXT, "", "c1").split("\n")
    assert [line for line in copied if line] == [*make_source(1).split("\n"), "theirs = 1"]


def test_texts_can_be_read_in_the_dark_theme(tab: Tab) -> None:
    tab.run("apputils:change-theme", theme="JupyterLab Dark")
    try:
        tab.open("dark.ipynb", cells=6)
        tab.edit(replace("c1", "theirs"))
        tab.click(MARK, cell="c1")
        tab.run("nbedit:show-history")
        contrasts = {}
        for selector in (BAR, BLOCK, DIFF_TEXT, ".cm-changedLine", HISTORY_ROW):
            wait_until(partial(tab.count, selector))
            contrasts[selector] = tab.call("contrast", selector, "", "")
        assert min(contrasts.values()) >= 4.5, contrasts
    finally:
        tab.run("apputils:change-theme", theme="JupyterLab Light")
