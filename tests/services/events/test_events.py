"""The events of an edit, as a listener on the server's own socket receives them."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from jupyter_events.schema import EventSchema

from jupyter_nbedit.services.events.models import EditEvent
from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.http import Local

SAVE_ID = "https://events.jupyter.org/jupyter_server/contents_service/v1"
TEXT = samples.three_cells()
KEPT = "for the notebook only"
REPLACE = replace("beta", KEPT)


class Hook:
    """Records its arguments, and the file at that time."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.seen: list[bytes] = []

    def __call__(self, **options: Any) -> None:
        self.calls.append(options)
        self.seen.append(Path(options["os_path"]).read_bytes())


async def test_an_edit_event_conforms_to_its_schema(
    local: Local, local_file: Path, jp_ws_fetch: Any
) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        answer = await local.patch(
            local_file.name,
            REPLACE,
            {"op": "insert", "cell_type": "code", "source": KEPT, "at": "end", "id": "new"},
            {"op": "move", "cell": "gamma", "at": "start"},
            {"op": "delete", "cell": "alpha"},
            client="an agent",
            message="not told",
        )
        (event,) = await listener.wait_for(1)
    reply = answer.json
    schema = EventSchema(EditEvent.read_schema())
    assert schema.id == event.pop("schema_id") == EditEvent.get_schema_id()
    schema.validate(event)
    properties = schema._schema["properties"]
    assert set(event) == set(schema._schema["required"]) == set(properties)
    assert event.pop("user")
    assert event.pop("last_modified") == reply["last_modified"]
    assert event == {
        "epoch": (await local.request("GET", "nbedit")).json["epoch"],
        "seq": 1,
        "edit_id": reply["edit_id"],
        "path": "a.ipynb",
        "hash_before": samples.compute_hash(TEXT),
        "hash": reply["hash"],
        "client": "an agent",
        "total_cells": 3,
        "operations": [
            {"op": "replace", "cell_id": "beta", "index": 1},
            {"op": "insert", "cell_id": "new", "index": 2},
            {"op": "move", "cell_id": "gamma", "index": 0},
            {"op": "delete", "cell_id": "alpha", "index": 0},
        ],
        "truncated": False,
    }


@pytest.mark.threat("S18")
async def test_no_event_contains_a_source_or_an_output(
    local: Local, local_file: Path, jp_ws_fetch: Any
) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        await local.patch(local_file.name, REPLACE, message=KEPT)
        await local.patch(local_file.name, {"op": "delete", "cell": "beta"})
        await local.patch(local_file.name, {"op": "move", "cell": "alpha", "at": "end"})
        await listener.wait_for(3)
    payload = json.dumps(listener.heard)
    for inside in (KEPT, "x = 1", "Title", "script"):
        assert inside not in payload


async def test_a_notebook_written_by_a_tool_emits_a_create_event(
    local: Local, jp_ws_fetch: Any
) -> None:
    options = {"file_path": f"{local.root}/new.ipynb", "content": TEXT.decode()}
    async with open_listener(jp_ws_fetch) as listener:
        answer = await local.send_json("POST", "tools/claude_code/Write", options)
        assert answer.status == 200
        (event,) = await listener.wait_for(1)
    assert (event["path"], event["client"]) == ("new.ipynb", "claude_code/Write")
    assert (event["hash_before"], event["hash"]) == (None, samples.compute_hash(TEXT))
    assert [entry["cell_id"] for entry in event["operations"]] == ["alpha", "beta", "gamma"]


async def test_the_save_event_comes_before_the_edit_event_and_after_the_write(
    local: Local, local_file: Path, jp_serverapp: Any, jp_ws_fetch: Any
) -> None:
    seen: list[tuple[str, str]] = []

    async def look(data: dict[str, Any], **_: Any) -> None:
        seen.append((data["hash"], samples.hash_file(local_file)))

    jp_serverapp.event_logger.add_listener(schema_id=EditEvent.get_schema_id(), listener=look)
    async with open_listener(jp_ws_fetch) as listener:
        answer = await local.patch(local_file.name, REPLACE)
        await listener.wait_for(1)
    save_events = [event for event in listener.heard if event.get("action") != "get"]
    assert [event["schema_id"] for event in save_events] == [SAVE_ID, EditEvent.get_schema_id()]
    assert save_events[0] == {"schema_id": SAVE_ID, "action": "save", "path": "a.ipynb"}
    assert seen == [(answer.json["hash"], answer.json["hash"])]


async def test_a_request_that_writes_nothing_emits_no_event_and_runs_no_hook(
    local: Local, local_file: Path, jp_serverapp: Any, jp_ws_fetch: Any
) -> None:
    hook = Hook()
    jp_serverapp.contents_manager.register_post_save_hook(hook)
    async with open_listener(jp_ws_fetch) as listener:
        await local.patch(local_file.name, REPLACE, dry_run=True)
        await local.patch(local_file.name, {**REPLACE, "source": "# Title"})
        get_error(
            await local.patch(local_file.name, {**REPLACE, "cell": "x"}), 404, "cell_not_found"
        )
        get_error(await local.patch(local_file.name, REPLACE, hash="0"), 412, "hash_mismatch")
        await local.read(local_file.name)
        assert hook.calls == []
        real = await local.patch(local_file.name, REPLACE)
        (event,) = await listener.wait_for(1)
    assert (event["seq"], event["hash"]) == (1, real.json["hash"])
    actions = [heard["action"] for heard in listener.heard if heard["schema_id"] == SAVE_ID]
    assert [action for action in actions if action != "get"] == ["save"]


async def test_events_of_all_notebooks_are_numbered_without_gaps(
    local: Local, local_file: Path, jp_ws_fetch: Any
) -> None:
    other = local.root / "b.ipynb"
    other.write_bytes(TEXT)
    async with open_listener(jp_ws_fetch) as listener:
        replies = await asyncio.gather(
            *[
                local.patch(path.name, {**REPLACE, "source": str(n)})
                for n in range(5)
                for path in (local_file, other)
            ]
        )
        events = await listener.wait_for(10)
    assert [event["seq"] for event in events] == list(range(1, 11))
    assert len({event["epoch"] for event in events}) == 1
    assert {event["edit_id"]: event["hash"] for event in events} == {
        reply.json["edit_id"]: reply.json["hash"] for reply in replies
    }
    for path in (local_file, other):
        chain = [event for event in events if event["path"] == path.name]
        for earlier, later in itertools.pairwise(chain):
            assert earlier["hash"] == later["hash_before"]


@pytest.mark.parametrize("count", [20, 21])
async def test_an_event_lists_the_first_20_operations(
    local: Local, local_file: Path, jp_ws_fetch: Any, count: int
) -> None:
    insert = {"op": "insert", "cell_type": "raw", "source": "", "at": "start"}
    async with open_listener(jp_ws_fetch) as listener:
        answer = await local.patch(local_file.name, *[insert] * count)
        (event,) = await listener.wait_for(1)
    assert event["truncated"] is (count > 20)
    operations = [
        {"op": result["op"], "cell_id": result["cell_id"], "index": result["index"]}
        for result in answer.json["operations"][:20]
    ]
    assert event["operations"] == operations


async def test_missing_cell_ids_and_client_names_are_null_in_events(
    local: Local, local_file: Path, jp_ws_fetch: Any
) -> None:
    (local.root / local_file.name).write_bytes(samples.notebook(samples.raw("x"), minor=4))
    async with open_listener(jp_ws_fetch) as listener:
        await local.patch(local_file.name, {"op": "delete", "cell": 0})
        (event,) = await listener.wait_for(1)
    assert event["client"] is None
    assert event["operations"] == [{"op": "delete", "cell_id": None, "index": 0}]
    assert event["total_cells"] == 0


async def test_a_failure_to_emit_an_event_does_not_fail_the_edit(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    def censor(schema_id: str, data: dict[str, Any]) -> dict[str, Any]:
        raise ValueError(f"{schema_id} in {jp_serverapp.root_dir}: {data}")

    jp_serverapp.event_logger.add_modifier(schema_id=EditEvent.get_schema_id(), modifier=censor)

    async def listen(*_: Any, **__: Any) -> None:
        """Without listeners nothing is modified."""

    jp_serverapp.event_logger.add_listener(schema_id=EditEvent.get_schema_id(), listener=listen)
    answer = await local.patch(local_file.name, REPLACE)
    assert answer.status == 200
    assert len(answer.json["warnings"]) == 1
    assert str(local.root) not in answer.body.decode()
    assert samples.hash_file(local_file) == answer.json["hash"]


async def test_post_save_hooks_run_as_after_a_save_by_the_manager(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    hook, second = Hook(), Hook()
    manager = jp_serverapp.contents_manager
    manager.register_post_save_hook(hook)
    manager.register_post_save_hook(second)
    content = {"type": "notebook", "format": "json", "content": json.loads(TEXT)}
    await manager.save(content, local_file.name)
    answer = await local.patch(local_file.name, REPLACE)
    assert answer.json["warnings"] == []
    assert len(second.calls) == 2
    saved, edited = hook.calls
    assert set(saved) == set(edited) == {"os_path", "model", "contents_manager"}
    assert edited["os_path"] == saved["os_path"] == str(local_file)
    assert edited["contents_manager"] is manager
    assert set(edited["model"]) == set(saved["model"])
    assert edited["model"]["content"] is None
    for member in ("name", "path", "type", "format", "mimetype", "writable"):
        assert edited["model"][member] == saved["model"][member]
    assert edited["model"]["hash"] == answer.json["hash"]
    assert edited["model"]["size"] == len(hook.seen[1])
    assert samples.compute_hash(hook.seen[1]) == answer.json["hash"]


async def test_a_failing_hook_is_a_warning_and_later_steps_still_run(
    local: Local, local_file: Path, jp_serverapp: Any, jp_ws_fetch: Any
) -> None:
    def fail(**options: Any) -> None:
        raise RuntimeError(f"cannot convert {options['os_path']}")

    jp_serverapp.contents_manager.register_post_save_hook(fail)
    async with open_listener(jp_ws_fetch) as listener:
        answer = await local.patch(local_file.name, REPLACE)
        await listener.wait_for(1)
    assert answer.status == 200
    assert len(answer.json["warnings"]) == 1
    assert str(local.root) not in answer.body.decode()
    assert samples.hash_file(local_file) == answer.json["hash"]
    assert "save" in [event.get("action") for event in listener.heard]


async def test_a_hook_that_removes_the_notebook_does_not_fail_the_edit(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    def remove(**options: Any) -> None:
        Path(options["os_path"]).unlink()

    for _ in range(2):
        jp_serverapp.contents_manager.register_post_save_hook(remove)
    answer = await local.patch(local_file.name, REPLACE)
    assert (answer.status, len(answer.json["warnings"])) == (200, 1)
