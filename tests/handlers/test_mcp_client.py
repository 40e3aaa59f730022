"""The official client of the Model Context Protocol at the endpoint, in each of its modes."""

import asyncio

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.support.http import Client
from tests.support.mcp_session import MODES, build_client, check_session


@pytest.mark.parametrize(
    ("mode", "scheme"), list(zip(MODES, ("token", "Bearer", "bearer"), strict=True))
)
def test_the_official_client_reads_and_edits(live: Client, mode: str, scheme: str) -> None:
    async def run() -> None:
        headers = {"Authorization": f"{scheme} {live.token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            url = f"http://127.0.0.1:{live.port}/nbedit/mcp"
            async with build_client(streamable_http_client(url, http_client=http), mode) as client:
                await check_session(client, mode, live.root)

    asyncio.run(run())
