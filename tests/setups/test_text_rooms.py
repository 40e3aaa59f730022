"""Edits of texts that are open in a room: other files, and notebooks as text."""

import asyncio
from pathlib import Path
from typing import Any

from tests.setups.room_clients import RoomServer
from tests.support import samples
from tests.support.http import Answer


async def call(rooms: RoomServer, tool: str, **fields: Any) -> Answer:
    return await rooms.request("POST", f"nbedit/tools/claude_code/{tool}", fields)


def write_file(rooms: RoomServer, path: str, text: str) -> Path:
    file = rooms.root / path.replace(".ipynb", ".md")
    file.write_text(text)
    return file


async def test_a_text_open_in_a_room_is_edited_there(rooms: RoomServer, path: str) -> None:
    file = write_file(rooms, path, "# Title 😀\n\n- one\n- two\n")
    inode = file.stat().st_ino
    async with await rooms.enter(file.name, "text:file") as person:
        person.document.ydoc["source"].insert(0, "typed\n")
        await person.wait_until(lambda: "typed" in file.read_text())
        assert (await call(rooms, "Read", file_path=str(file))).status == 200
        for old, new in (("two", "2 ☃"), ("one", "1 é")):
            answer = await call(rooms, "Edit", file_path=str(file), old_string=old, new_string=new)
            assert answer.status == 200, answer.body
            assert new in file.read_text()
        expected = "typed\n# Title 😀\n\n- 1 é\n- 2 ☃\n"
        await person.wait_until(lambda: person.document.get() == expected)
        assert (file.read_text(), file.stat().st_ino) == (expected, inode)
        answer = await call(rooms, "Write", file_path=str(file), content="all\nnew\n")
        assert answer.status == 200, answer.body
        await person.wait_until(lambda: person.document.get() == "all\nnew\n")
        assert file.read_text() == "all\nnew\n"


async def test_no_typed_text_is_lost_when_a_text_file_is_edited(
    rooms: RoomServer, path: str
) -> None:
    file = write_file(rooms, path, "\n\n# 0\n")
    typed = "".join(chr(ord("a") + n % 26) for n in range(60))
    async with await rooms.enter(file.name, "text:file") as person:

        async def typing() -> None:
            for n, character in enumerate(typed):
                person.document.ydoc["source"].insert(n, character)
                await asyncio.sleep(0.03)

        async def editing() -> None:
            for n in range(10):
                assert (await call(rooms, "Read", file_path=str(file))).status == 200
                fields = {"file_path": str(file), "old_string": f"# {n}\n"}
                answer = await call(rooms, "Edit", **fields, new_string=f"# {n + 1}\n")
                while answer.status == 412:
                    # It was typed between the two.
                    assert (await call(rooms, "Read", file_path=str(file))).status == 200
                    answer = await call(rooms, "Edit", **fields, new_string=f"# {n + 1}\n")
                assert answer.status == 200, answer.body

        await asyncio.gather(typing(), editing())
        expected = f"{typed}\n\n# 10\n"
        await person.wait_until(lambda: person.document.get() == expected)
        await person.wait_until(lambda: file.read_text() == expected)


async def test_a_file_open_as_notebook_is_not_written_as_text(rooms: RoomServer, path: str) -> None:
    # Jupytext opens texts as notebooks; without it, what is in the text decides.
    file = write_file(rooms, path, samples.notebook(samples.markdown("one", "a")).decode())
    content = file.read_bytes()
    assert (await call(rooms, "Read", file_path=str(file))).status == 200
    async with await rooms.enter(file.name):
        fields = {"old_string": "one", "new_string": "two"}
        answer = await call(rooms, "Edit", file_path=str(file), **fields)
        assert "open as a notebook" in answer.json["content"][0]["text"], answer.body
        assert file.read_bytes() == content


async def test_a_notebook_open_as_text_is_edited_there(rooms: RoomServer, path: str) -> None:
    text = samples.notebook(
        samples.code("x = 1", "a", outputs=[samples.HTML_OUTPUT]), samples.markdown("ü", "b")
    )
    file = rooms.root / path
    file.write_bytes(text)
    assert (await rooms.request("POST", f"api/contents/{path}/trust", {})).status == 201
    async with await rooms.enter(path, "text:file") as person:
        read = await rooms.read(path)
        assert (read["live"], read["hash"]) == (True, samples.compute_hash(text))
        edit = {"op": "replace", "cell": "b", "source": "😀"}
        answer = await rooms.edit(path, edit)
        reply = answer.json
        assert (answer.status, reply["applied_via"], reply["persisted"]) == (200, "room", True)
        assert file.read_bytes() == text.replace("ü".encode(), "😀".encode())
        assert samples.compute_hash(file.read_bytes()) == reply["hash"]
        await person.wait_until(lambda: person.document.get() == file.read_text())
        cells = (await rooms.get_contents(path))["content"]["cells"]
        assert cells[0]["metadata"]["trusted"] is True
