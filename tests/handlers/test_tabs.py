"""The socket of the tabs, and what the reply to an edit reports about them."""

import asyncio
import json
import time
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support import samples
from tests.support.clock import Clock
from tests.support.http import JSON, Answer, Local
from tests.support.page_socket import NAME, PageSocket, open_page_socket
from tests.support.waiting import wait_until_async

TEXT = samples.three_cells()
NOBODY = {"open": 0, "shown": 0, "merged": 0, "waiting": 0}


async def edit(
    local: Local, source: str = "changed", wait: int | None = None, **fields: Any
) -> Answer:
    body = {"operations": [{"op": "replace", "cell": "beta", "source": source}], **fields}
    params = {} if wait is None else {"wait_tabs": wait}
    target = ("nbedit", "notebooks", NAME)
    return await local.request(
        "PATCH", *target, body=json.dumps(body).encode(), headers=JSON, params=params
    )


async def wait_for_count(local: Local, **counts: int) -> None:
    """Edit until the expected tabs are counted: a message takes a moment to arrive."""

    async def is_counted() -> bool:
        answer = await edit(local, dry_run=True)
        return bool(answer.json["tabs"] == {**NOBODY, **counts})

    await wait_until_async(is_counted, f"{counts}")


@pytest.mark.usefixtures("local_file")
async def test_every_reply_to_an_edit_has_the_number_of_open_tabs(
    local: Local, jp_ws_fetch: Any
) -> None:
    assert (await edit(local, "1")).json["tabs"] == NOBODY
    async with open_page_socket(jp_ws_fetch, NAME, "b.ipynb"):
        await wait_for_count(local, open=1)
        async with open_page_socket(jp_ws_fetch, NAME) as other:
            await wait_for_count(local, open=2)
            await other.open_notebooks("b.ipynb")
            await wait_for_count(local, open=1)
        cells = ("nbedit", "notebooks", NAME, "cells")
        insert = b'{"cell_type": "code", "source": "x", "at": "end", "id": "new"}'
        requests: list[tuple[str, tuple[str, ...], bytes | None]] = [
            ("POST", cells, insert),
            ("PATCH", (*cells, "new"), b'{"source": "y"}'),
            ("DELETE", (*cells, "new"), None),
        ]
        for verb, parts, body in requests:
            headers = {} if body is None else JSON
            answer = await local.request(verb, *parts, body=body, headers=headers)
            assert answer.json["tabs"] == {**NOBODY, "open": 1}, answer.body
    await wait_for_count(local, open=0)


@pytest.mark.usefixtures("local_file")
async def test_texts_name_the_open_tabs_and_what_they_show(local: Local, jp_ws_fetch: Any) -> None:
    accept = {"Accept": "text/plain"}

    async def read() -> str:
        answer = await local.request("GET", "nbedit", "notebooks", NAME, headers=accept)
        return answer.body.decode().partition("\n")[0]

    async def call(tool: str, **arguments: Any) -> str:
        body = json.dumps(arguments).encode()
        answer = await local.request(
            "POST", "nbedit", "tools", "agent", tool, body=body, headers=JSON
        )
        return str(answer.json["content"][0]["text"])

    assert "open in" not in await read()
    async with open_page_socket(jp_ws_fetch, NAME) as page:
        await wait_for_count(local, open=1)
        made = await edit(local, "theirs")
        await page.report(made, "merged")
        await wait_until_async(
            lambda: _contains(read(), "open in 1 tab | unsaved changes in 1 tab"), "the report"
        )
        assert await call("notebook_search") == f"1 notebook\n{NAME} | open in 1 tab"
        operation = {"op": "replace_text", "old": "theirs", "new": "mine"}
        text = await call("notebook_edit", path=NAME, operations=[operation])
        assert " | open in 1 tab\n" in text


async def _contains(text: Awaitable[str], part: str) -> bool:
    return part in await text


@pytest.mark.usefixtures("local_file")
async def test_an_edit_waits_for_the_report_of_the_tab(local: Local, jp_ws_fetch: Any) -> None:
    for state in ("shown", "merged", "waiting"):
        async with open_page_socket(jp_ws_fetch, NAME) as page:
            await wait_for_count(local, open=1)
            await edit_concurrently(local, page, state)
        await wait_for_count(local, open=0)


async def edit_concurrently(local: Local, page: PageSocket, state: str) -> None:
    file = local.root / NAME
    before = file.read_bytes()
    waiting = asyncio.create_task(edit(local, f"now {state}", wait=10_000))
    # It is made already, and others can edit: the lock is free during the wait.
    await wait_until_async(lambda: file.read_bytes() != before)
    second = await edit(local, f"later {state}")
    assert not waiting.done()
    assert second.json["hash_before"] != samples.compute_hash(before)
    await page.report(second, state)
    answer = await waiting
    assert answer.json["tabs"] == {**NOBODY, "open": 1, state: 1}
    assert answer.json["edit_id"] < second.json["edit_id"]


@pytest.mark.usefixtures("local_file")
async def test_the_wait_for_reports_ends_after_its_timeout(local: Local, jp_ws_fetch: Any) -> None:
    async with open_page_socket(jp_ws_fetch, NAME):
        await wait_for_count(local, open=1)
        answer = await edit(local, wait=100)
        assert answer.json["tabs"] == {**NOBODY, "open": 1}


@pytest.mark.usefixtures("local_file")
async def test_a_retry_gets_the_first_reply_without_another_wait(
    local: Local, jp_ws_fetch: Any
) -> None:
    body = b'{"operations": [{"op": "delete", "cell": "beta"}]}'
    sent = {"body": body, "headers": {**JSON, "Idempotency-Key": "k"}, "params": {"wait_tabs": 100}}
    async with open_page_socket(jp_ws_fetch, NAME):
        await wait_for_count(local, open=1)
        first = await local.request("PATCH", "nbedit", "notebooks", NAME, **sent)  # type: ignore[arg-type]
    again = await local.request("PATCH", "nbedit", "notebooks", NAME, **sent)  # type: ignore[arg-type]
    assert again.body == first.body
    assert again.json["tabs"]["open"] == 1


async def read_delta(local: Local, since: str) -> Answer:
    target = ("nbedit", "notebooks", NAME)
    return await local.request("GET", *target, params={"since": since, "view": "nbformat"})


async def change_and_read_delta(local: Local) -> Answer:
    """Read the difference that another program makes, which then writes the old version again."""
    file = local.root / NAME
    file.write_bytes(TEXT.replace(b"# Title", b"# Theirs"))
    answer = await read_delta(local, samples.compute_hash(TEXT))
    file.write_bytes(TEXT)
    return answer


@pytest.mark.usefixtures("local_file")
async def test_a_tab_gets_only_what_another_program_changes_in_the_version_that_it_has_reported(
    local: Local, jp_ws_fetch: Any
) -> None:
    report = {"path": NAME, "state": "shown", "hash": samples.compute_hash(TEXT)}
    async with (
        open_page_socket(jp_ws_fetch, "b.ipynb") as other,
        open_page_socket(jp_ws_fetch, NAME) as page,
    ):
        await wait_for_count(local, open=1)
        for socket, message in ((other, report), (page, {**report, "hash": "0" * 256})):
            await socket.send(saw=message)
            await socket.open_notebooks(NAME)
        # Both messages have arrived.
        await wait_for_count(local, open=2)
        assert (await change_and_read_delta(local)).status == 410

        async def read_since_report() -> Answer | None:
            await page.send(saw=report)
            await wait_for_count(local, open=2)
            answer = await change_and_read_delta(local)
            return answer if answer.status == 200 else None

        answer = await wait_until_async(read_since_report)
        assert [part.get("copy") for part in answer.json["cells"]] == [[0, 1], None, [2, 3]]


@pytest.mark.usefixtures("local_file")
async def test_a_tab_that_has_not_reported_yet_gets_only_what_an_edit_changes(
    local: Local, jp_ws_fetch: Any
) -> None:
    since = (await edit(local, "nobody asks")).json["hash_before"]
    assert (await read_delta(local, since)).status == 410
    async with open_page_socket(jp_ws_fetch, NAME):
        await wait_for_count(local, open=1)
        before = samples.hash_file(local.root / NAME)
        for source in ("one", "two"):
            await edit(local, source)
            delta = (await read_delta(local, before)).json
            assert [part.get("copy") for part in delta["cells"]] == [[0, 1], None, [2, 3]]
            assert delta["cells"][1]["cell"]["source"] == source


NONSENSE = [
    "",
    "[]",
    "{",
    "[" * 100_000,
    '{"tabs": ["a.ipynb"]}',
    '{"tabs": {"a.ipynb": 0}}',
    '{"tabs": {"": 1}}',
    json.dumps({"tabs": {f"{n}.ipynb": 1 for n in range(1001)}}),
    '{"saw": {"path": "a.ipynb"}}',
    '{"saw": {"path": "a.ipynb", "state": "seen"}}',
    '{"saw": {"path": "a.ipynb", "state": "shown", "edit_id": "1"}}',
    '{"saw": {"path": "a.ipynb", "state": "shown", "source": "x"}}',
    '{"saw": {"path": "a.ipynb", "state": "shown", "hash": "' + "0" * 257 + '"}}',
    '{"opened": {"\\ud83d\\ude00": 1}}',
]


@pytest.mark.usefixtures("local_file")
async def test_an_invalid_message_closes_the_socket_with_a_reason(
    local: Local, jp_ws_fetch: Any
) -> None:
    for message in NONSENSE:
        async with open_page_socket(jp_ws_fetch, NAME) as page:
            await page.socket.write_message(message)
            code, reason = await page.close_code()
            assert (code, bool(reason)) == (1007, True), message
    async with open_page_socket(jp_ws_fetch, NAME) as page:
        await page.socket.write_message(b"{}", binary=True)
        assert (await page.close_code())[0] == 1003
    async with open_page_socket(jp_ws_fetch, NAME) as page:
        await page.send(tabs={"x" * 300_000: 1})
        assert (await page.close_code())[0] in {1009, 1006}
    await wait_for_count(local, open=0)


@pytest.mark.usefixtures("local_file")
async def test_a_page_that_sends_too_much_is_throttled_and_blocks_no_other(
    local: Local, jp_ws_fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_page_socket(jp_ws_fetch) as page:
        begin = int(time.monotonic()) + 1.25
        seconds = [begin, begin + 500]
        # The clock stands until the test advances it.
        monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
        for _ in range(250):
            await page.open_notebooks()
        await page.open_notebooks(NAME)
        for _ in range(50):
            assert (await edit(local)).json["tabs"]["open"] == 0
        counts = set[int]()
        while counts != {0, 1} and seconds[0] < seconds[1]:
            seconds[0] += 1
            counts.add((await edit(local, dry_run=True)).json["tabs"]["open"])
        assert counts == {0, 1}


@pytest.mark.usefixtures("local_file")
async def test_invalid_paths_in_messages_cause_no_failure(local: Local, jp_ws_fetch: Any) -> None:
    odd = ["\0", "../a.ipynb", "/etc/passwd", "x" * 5000, "a\\b", "\ud83d\ude00", "a.ipynb/b"]
    async with open_page_socket(jp_ws_fetch, *odd) as page:
        for path in odd:
            await page.send(saw={"path": path, "state": "shown"})
        await page.open_notebooks(NAME)
        await wait_for_count(local, open=1)


@pytest.mark.usefixtures("local_file")
@pytest.mark.parametrize(
    "jp_server_config",
    [{"ServerApp": {"tornado_settings": {"websocket_ping_interval": 0.2}}}],
    indirect=True,
)
async def test_a_disconnected_page_is_not_counted_for_long(
    local: Local, address: str, token: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A connection of our own: tornado's would answer the pings.
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    head = {**token, "Host": url.netloc, "Upgrade": "websocket", "Connection": "Upgrade"}
    head |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    lines = [f"GET {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    text = json.dumps({"tabs": {NAME: 1}}).encode()
    mask = bytes(4)
    writer.write(bytes([0x81, 0x80 | len(text)]) + mask + text)
    await wait_for_count(local, open=1)
    clock = Clock()
    clock.install(monkeypatch)
    # Tornado waits for some seconds until it closes the connection.
    for _ in range(20):
        clock.advance(1)
        answer = await edit(local, dry_run=True)
    assert answer.json["tabs"]["open"] == 0
    writer.close()


@pytest.fixture
def address(jp_serverapp: Any, jp_http_port: int, jp_base_url: str) -> str:
    assert jp_serverapp
    return f"ws://127.0.0.1:{jp_http_port}{jp_base_url}nbedit/tabs"


@pytest.fixture
def token(jp_serverapp: Any) -> dict[str, str]:
    return {"Authorization": f"token {jp_serverapp.identity_provider.token}"}
