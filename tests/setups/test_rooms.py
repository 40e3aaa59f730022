"""Edits of notebooks that are open in a room, for both kinds of rooms."""

import asyncio
import itertools
import json
from contextlib import suppress
from typing import Any

import pytest

from tests.setups.contents_requests import follow_with_delta, follow_with_full_reads, get_hash
from tests.setups.room_clients import DocumentsBackend, RoomServer
from tests.support import samples
from tests.support.http import Answer
from tests.support.waiting import wait_until, wait_until_async


def code(name: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    count = 1 if outputs else None
    return samples.code(source, name, outputs=list(outputs), execution_count=count)


def markdown(name: str, source: str) -> dict[str, Any]:
    return samples.markdown(source, name)


def write_notebook(rooms: RoomServer, path: str, *cells: dict[str, Any], minor: int = 5) -> None:
    (rooms.root / path).write_bytes(samples.notebook(*cells, minor=minor))


def read_from_disk(rooms: RoomServer, path: str) -> Any:
    """Read a file that the room may be writing, in place, at this moment."""

    def read() -> Any:
        with suppress(ValueError):
            return json.loads((rooms.root / path).read_text())

    return wait_until(read)


def sources(notebook: Any) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


async def test_an_edit_reaches_all_clients_and_is_on_disk_with_the_reply(
    rooms: RoomServer, path: str
) -> None:
    write_notebook(
        rooms,
        path,
        code("a", "x = 1\ny = '😀'\n", samples.HTML_OUTPUT),
        markdown("b", "# é 👩‍👩‍👧\r\nhi"),
    )
    edits: list[dict[str, Any]] = [
        {"op": "replace_text", "cell": "a", "old": "x = 1", "new": "x = '☃'", "outputs": "keep"},
        {"op": "replace_text", "cell": "b", "old": "hi", "new": "hello 😀"},
        {"op": "insert", "after": "a", "cell_type": "code", "source": "new 😀", "id": "c"},
        {"op": "move", "cell": "b", "at": "start"},
        {"op": "clear_outputs", "cell": "a"},
        {"op": "set_metadata", "cell": "a", "patch": {"tags": ["one"], "n": 3}},
        {"op": "set_metadata", "cell": "a", "patch": {"n": None}},
        {"op": "set_metadata", "patch": {"title": "ü"}},
        {"op": "replace", "cell": "c", "cell_type": "markdown"},
        {"op": "split", "cell": "a", "at_line": 2},
        {"op": "delete", "cell": "b"},
    ]
    async with await rooms.enter(path) as person:
        inode = (rooms.root / path).stat().st_ino
        for edit in edits:
            answer = await rooms.edit(path, edit)
            content = (rooms.root / path).read_bytes()
            reply = answer.json
            assert (answer.status, reply["applied_via"], reply["persisted"]) == (200, "room", True)
            assert reply["bytes_preserved"] is False
            assert reply["warnings"] == []
            assert samples.compute_hash(content) == reply["hash"]
            assert (await rooms.read(path))["hash"] == reply["hash"]
            notebook = json.loads(content)
            await person.wait_until(lambda content=notebook: person.sources() == sources(content))  # type: ignore[misc]
        assert (await rooms.get_contents(path))["hash"] == reply["hash"]
        # The room writes in place; a replaced file would have another inode.
        assert (rooms.root / path).stat().st_ino == inode
        assert sources(notebook) == ["x = '☃'", "y = '😀'\n", "new 😀"]
        assert notebook["cells"][0]["metadata"] == {"tags": ["one"]}
        assert notebook["metadata"]["title"] == "ü"
        assert [cell["cell_type"] for cell in notebook["cells"]] == ["code", "code", "markdown"]
        assert person.document.ycells[0]["id"] == "a"


async def test_an_edit_is_one_change_that_leaves_other_cells_alone(
    rooms: RoomServer, path: str
) -> None:
    write_notebook(rooms, path, *[code(f"c{n}", f"x = {n}") for n in range(5)])
    async with await rooms.enter(path) as person:
        watched: list[Any] = []
        subscription = person.document.ycells.observe_deep(
            lambda events: watched.append([event.path for event in events])
        )
        edits = [
            {"op": "replace_text", "cell": f"c{n}", "old": "x", "new": "longer"} for n in (1, 3)
        ]
        answer = await rooms.edit(path, *edits)
        assert answer.json["applied_via"] == "room"
        await person.wait_until(lambda: person.source(3) == "longer = 3")
        assert [sorted(paths) for paths in watched] == [[[1, "source"], [3, "source"]]]
        person.document.ycells.unobserve(subscription)


async def test_no_typed_text_is_lost_while_edits_arrive(rooms: RoomServer, path: str) -> None:
    write_notebook(
        rooms, path, code("typed", "# top\n\n\n# 0 😀\n"), *[code(f"c{n}", "") for n in range(10)]
    )
    characters = "".join(chr(ord("a") + n % 26) if n % 10 else "é" for n in range(200))
    async with await rooms.enter(path) as person, await rooms.enter(path) as other:
        typed = 0

        async def typing() -> None:
            nonlocal typed
            text = person.document.ycells[0]["source"]
            for character in characters:
                text.insert(len(b"# top\n") + typed, character)
                typed += len(character.encode())
                await asyncio.sleep(0.02)

        async def editing() -> None:
            for n in range(50):
                edit: dict[str, Any] = {"op": "replace", "cell": f"c{n % 10}", "source": f"y = {n}"}
                if n % 5 == 0:
                    there = f"# {n // 5} 😀"
                    edit = {"op": "replace_text", "cell": "typed", "old": there}
                    edit["new"] = f"# {n // 5 + 1} 😀"
                answer = await rooms.edit(path, edit)
                assert answer.status == 200, answer.body
                assert answer.json["applied_via"] == "room"

        await asyncio.gather(typing(), editing())
        expected = [f"# top\n{characters}\n\n# 10 😀\n", *[f"y = {n}" for n in range(40, 50)]]
        for n in range(10):
            # Every fifth edit went into the other cell, so the last one of a cell may be older.
            last = max(k for k in range(n, 50, 10) if k % 5) if n % 5 else None
            expected[n + 1] = "" if last is None else f"y = {last}"
        await person.wait_until(lambda: person.sources() == expected)
        await other.wait_until(lambda: other.sources() == expected)
        await person.wait_until(lambda: sources(read_from_disk(rooms, path)) == expected)


async def test_trust_is_kept_on_disk_and_never_added(rooms: RoomServer, path: str) -> None:
    for trusted in (True, False):
        name = f"{trusted}-{path}"
        write_notebook(rooms, name, code("a", "x", samples.HTML_OUTPUT), code("b", f"{trusted}"))
        if trusted:
            answer = await rooms.request("POST", f"api/contents/{name}/trust", {})
            assert answer.status == 201
        async with await rooms.enter(name) as person:
            assert (await rooms.read(name))["trusted"] is trusted
            for edit in (
                {"op": "replace", "cell": "b", "source": f"{trusted} z"},
                {"op": "insert", "at": "end", "cell_type": "code", "source": "n"},
                {"op": "move", "cell": "a", "at": "end"},
                {"op": "replace_text", "cell": "a", "old": "x", "new": "w", "outputs": "keep"},
            ):
                answer = await rooms.edit(name, edit)
                assert (answer.status, answer.json["persisted"]) == (200, True)
                cells = (await rooms.get_contents(name))["content"]["cells"]
                by_id = {cell["id"]: cell["metadata"].get("trusted") for cell in cells}
                assert by_id["a"] is trusted
                assert (await rooms.read(name))["trusted"] is trusted
            await person.wait_until(lambda: "n" in person.sources())
            added = [cell for cell in person.document.ycells if str(cell["source"]) == "n"]
            assert "trusted" not in added[0]["metadata"]


async def test_a_closed_notebook_gets_no_room_and_no_id(rooms: RoomServer, path: str) -> None:
    write_notebook(rooms, path, code("a", "x = 'needle'"))
    log = rooms.read_log()
    assert (await rooms.read(path))["live"] is False
    answer = await rooms.edit(path, {"op": "replace", "cell": "a", "source": "'needle'"})
    assert (answer.status, answer.json["applied_via"]) == (200, "file")
    edit = {"op": "replace", "cell": "a", "source": "y"}
    assert (await rooms.edit(path, edit, dry_run=True)).json["dry_run"] is True
    assert [hit["path"] for hit in await _search(rooms, "'needle'")] == [path]
    assert not any(name.endswith(path) for name in rooms.list_file_ids())
    log_lines = rooms.read_log().removeprefix(log)
    assert "nitializing room" not in log_lines
    assert "Creating FileLoader" not in log_lines


async def _search(rooms: RoomServer, query: str) -> list[dict[str, Any]]:
    answer = await rooms.request("POST", "nbedit/search", {"query": query})
    assert answer.status == 200, answer.body
    hits: list[dict[str, Any]] = answer.json["hits"]
    return hits


async def test_a_room_closes_after_the_last_client_although_edits_use_it(
    closing_rooms: RoomServer, path: str
) -> None:
    write_notebook(closing_rooms, path, code("a", "x"))
    async with await closing_rooms.enter(path):
        edit = {"op": "replace", "cell": "a", "source": "y"}
        assert (await closing_rooms.edit(path, edit)).json["applied_via"] == "room"
    await closing_rooms.wait_until_closed(path)
    answer = await closing_rooms.edit(path, {"op": "replace", "cell": "a", "source": "z"})
    assert (answer.status, answer.json["applied_via"]) == (200, "file")
    async with await closing_rooms.enter(path) as person:
        assert person.sources() == ["z"]


async def test_edits_succeed_while_a_room_closes(closing_rooms: RoomServer, path: str) -> None:
    write_notebook(closing_rooms, path, markdown("a", ""))
    ways: list[str] = []
    turns = itertools.count()
    async with await closing_rooms.enter(path):
        pass

    async def edit() -> bool:
        source = f"turn {next(turns)}"
        answer = await closing_rooms.edit(path, {"op": "replace", "cell": "a", "source": source})
        assert answer.status == 200, answer.body
        assert sources(read_from_disk(closing_rooms, path)) == [source]
        ways.append(answer.json["applied_via"])
        if isinstance(closing_rooms.backend, DocumentsBackend):
            # There each edit counts as activity.
            await asyncio.sleep(0.8 + len(ways) / 2)
        return "file" in ways

    await wait_until_async(edit)


async def test_a_notebook_without_ids_is_edited_and_gets_none(rooms: RoomServer, path: str) -> None:
    cells = [code("", "one"), markdown("", "two"), code("", "three")]
    for cell in cells:
        del cell["id"]
    write_notebook(rooms, path, *cells, minor=4)
    async with await rooms.enter(path) as person:
        for edits in (
            [{"op": "replace_text", "cell": 1, "old": "two", "new": "TWO"}],
            [{"op": "insert", "at": "start", "cell_type": "code", "source": "zero"}],
            [{"op": "move", "cell": 3, "at": "start"}, {"op": "delete", "cell": 1}],
        ):
            answer = await rooms.edit(path, *edits)
            assert (answer.status, answer.json["persisted"]) == (200, True), answer.body
        await person.wait_until(lambda: person.sources() == ["three", "zero", "TWO"])
    notebook = read_from_disk(rooms, path)
    assert sources(notebook) == ["three", "zero", "TWO"]
    assert not any("id" in cell for cell in notebook["cells"])


async def test_a_room_is_found_by_any_name_of_a_file(closing_rooms: RoomServer, path: str) -> None:
    write_notebook(closing_rooms, path, code("a", "x"))
    link = f"link-{path}"
    (closing_rooms.root / link).symlink_to(path)
    for opened, named in ((path, link), (link, path)):
        async with await closing_rooms.enter(opened) as person:
            new = f"through {named}"
            answer = await closing_rooms.edit(named, {"op": "replace", "cell": "a", "source": new})
            assert (answer.status, answer.json["applied_via"]) == (200, "room")
            await person.wait_until(lambda new=new: person.sources() == [new])  # type: ignore[misc]
        await closing_rooms.wait_until_closed(path)
    assert (closing_rooms.root / link).is_symlink()


async def test_a_tab_without_collaboration_follows_the_file_of_a_room(
    closing_rooms: RoomServer, path: str
) -> None:
    rooms, client = closing_rooms, closing_rooms.client
    write_notebook(rooms, path, code("a", "x"), code("b", "y"))

    def edit_through(kind: str) -> None:
        answer = client.patch(path, {"op": "replace", "cell": "a", "source": kind})
        assert (answer.status, answer.json["applied_via"]) == (200, kind)

    async def has_same_hash() -> bool:
        ours = await asyncio.to_thread(get_hash, client, path)
        return bool((await rooms.get_contents(path))["hash"] == ours)

    async def type_unsaved_text() -> bool:
        person.document.ycells[1]["source"].insert(0, "typed ")
        return not await has_same_hash()

    async with await rooms.enter(path) as person:
        relation = await asyncio.to_thread(
            follow_with_full_reads, client, path, lambda: edit_through("room")
        )
        assert relation == "same"
        # Our hash is that of the room, and then the tab asks the Contents API.
        await wait_until_async(type_unsaved_text)
        await wait_until_async(has_same_hash, "the room to save")
        cells = (await rooms.get_contents(path))["content"]["cells"]
        assert cells[1]["source"] == person.source(1)
    await rooms.wait_until_closed(path)
    await asyncio.to_thread(follow_with_delta, client, path, lambda: edit_through("file"))


async def test_an_out_of_band_change_and_edit_are_both_kept(rooms: RoomServer, path: str) -> None:
    write_notebook(rooms, path, code("a", "x"), code("b", "y"))
    async with await rooms.enter(path) as person:
        write_notebook(rooms, path, code("a", "x"), code("b", "from outside"))
        answer = await rooms.edit(path, {"op": "replace", "cell": "a", "source": "z"})
        assert (answer.status, answer.json["persisted"]) == (200, True), answer.body
        assert sources(read_from_disk(rooms, path)) == ["z", "from outside"]
        await person.wait_until(lambda: person.sources() == ["z", "from outside"])


async def test_a_deleted_notebook_is_not_found_although_its_room_exists(
    rooms: RoomServer, path: str
) -> None:
    for way in ("deleted", "unlinked", "renamed"):
        name = f"{way}-{path}"
        write_notebook(rooms, name, code("a", "x"))
        async with await rooms.enter(name):
            if way == "unlinked":
                (rooms.root / name).unlink()
            else:
                body = {"path": f"to-{name}"} if way == "renamed" else None
                verb = "PATCH" if way == "renamed" else "DELETE"
                await rooms.request(verb, f"api/contents/{name}", body)
            answer = await rooms.edit(name, {"op": "replace", "cell": "a", "source": "y"})
            assert (answer.status, answer.json["reason"]) == (404, "notebook_not_found")
            assert not (rooms.root / name).exists()
            if way == "renamed":
                edit = {"op": "replace", "cell": "a", "source": "z"}
                answer = await rooms.edit(f"to-{name}", edit)
                assert (answer.status, answer.json["applied_via"]) == (200, "room")
                assert sources(read_from_disk(rooms, f"to-{name}")) == ["z"]


async def test_reads_and_searches_see_unsaved_text(rooms: RoomServer, path: str) -> None:
    write_notebook(rooms, path, code("a", "x"))
    async with await rooms.enter(path) as person:
        # Until a manual save; the other kind of rooms saves after a while in any case.
        await person.set_awareness(autosave=False)
        word = f"typed{path.partition('.')[0]}"
        person.document.ycells[0]["source"].insert(1, word)

        async def read_typed() -> Any:
            read = await rooms.read(path)
            return read if read["cells"][0]["source"] == f"x{word}" else None

        assert (await wait_until_async(read_typed))["live"] is True
        assert [hit["path"] for hit in await _search(rooms, word)] == [path]
        if not isinstance(rooms.backend, DocumentsBackend):
            assert sources(read_from_disk(rooms, path)) == ["x"]


async def test_an_edit_waits_for_a_room_that_is_loading(rooms: RoomServer, path: str) -> None:
    write_notebook(rooms, path, *[code(f"c{n}", f"x = {n}") for n in range(400)])
    entering = asyncio.create_task(rooms.enter(path))
    ways = []
    for n in range(400):
        last = entering.done()
        answer = await rooms.edit(path, {"op": "replace", "cell": f"c{n}", "source": f"y = {n}"})
        assert answer.status == 200, answer.body
        ways.append(answer.json["applied_via"])
        if last:
            break
    person = await entering
    async with person:
        expected = [f"{'y' if n < len(ways) else 'x'} = {n}" for n in range(400)]
        await person.wait_until(lambda: person.sources() == expected)
    assert ways[-1] == "room"


async def test_duplicate_cells_of_a_room_are_repaired_by_edits(
    rooms: RoomServer, path: str
) -> None:
    write_notebook(rooms, path, code("a", "x"), code("b", "y"))
    async with await rooms.enter(path) as person:
        document = person.document
        same = document.create_ycell(document.get_cell(1))
        other = document.create_ycell({**document.get_cell(1), "source": "another"})
        document.ycells.extend([same, other])
        turns = itertools.count()

        async def edit() -> Answer | None:
            operation = {"op": "replace", "cell": "a", "source": f"z {next(turns)}"}
            answer = await rooms.edit(path, operation)
            return answer if answer.json["total_cells"] == 3 else None

        answer = await wait_until_async(edit)
        assert (answer.status, answer.json["persisted"]) == (200, True)
        assert sources(read_from_disk(rooms, path))[1:] == ["y", "another"]


async def test_a_room_with_manual_save_is_not_saved_by_edits(rooms: RoomServer, path: str) -> None:
    if isinstance(rooms.backend, DocumentsBackend):
        pytest.skip("jupyter-server-documents always saves")
    write_notebook(rooms, path, code("a", "x"))
    async with await rooms.enter(path) as person:
        await person.set_awareness(autosave=False)
        turns = itertools.count()

        async def edit() -> Any:
            operation = {"op": "replace", "cell": "a", "source": f"y {next(turns)}"}
            answer = await rooms.edit(path, operation)
            assert (answer.status, answer.json["applied_via"]) == (200, "room")
            return None if answer.json["persisted"] else (operation["source"], answer.json)

        source, reply = await wait_until_async(edit, "the server to hear that nobody saves")
        assert len(reply["warnings"]) == 1
        read = await rooms.read(path)
        assert (read["hash"], read["cells"][0]["source"]) == (reply["hash"], source)
        assert sources(read_from_disk(rooms, path)) != [source]
