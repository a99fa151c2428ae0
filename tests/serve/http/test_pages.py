"""Web pages: those that are listed can use the workbench from a browser, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serve.http.raw_clients import JSON
from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.serve.http.conftest import SharedWorkbench

PAGE = "https://app.example.com"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
async def shared_workbench(build: Callable[[], SharedWorkbench]) -> SharedWorkbench:
    shared_workbench = build()
    await shared_workbench.open({**toolboxes(dev={"files": server()}), "http": {"allowedOrigins": [PAGE]}})
    return shared_workbench


async def test_a_listed_page_is_told_that_it_may_come_and_with_what(
    shared_workbench: SharedWorkbench,
) -> None:
    new_client = await shared_workbench.new_client()
    asked = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,mcp-protocol-version",
    }
    response = await new_client.ask("OPTIONS", asked)
    assert (response.status, await response.body()) == (204, b"")
    assert response.headers["access-control-allow-origin"] == PAGE
    assert response.headers["access-control-allow-headers"] == "content-type,mcp-protocol-version"
    assert response.headers["access-control-allow-methods"] == "GET, POST, DELETE"


async def test_a_listed_page_can_read_all_that_it_gets(shared_workbench: SharedWorkbench) -> None:
    client = await shared_workbench.legacy()
    client.headers["Origin"] = PAGE
    streams = [await client.listen()]
    answers = [await client.send("ping"), await client.post(b"{"), await client.ask("PUT")]
    del client.headers["Mcp-Session-Id"]
    answers.append(await client.send("ping"))
    assert [response.status for response in answers] == [200, 400, 405, 400]
    for response in (*streams, *answers):
        assert response.headers["access-control-allow-origin"] == PAGE
        assert "Mcp-Session-Id" in response.headers["access-control-expose-headers"]


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", f"{PAGE}.evil.com", "file://", ""])
async def test_other_pages_are_refused_and_told_nothing(
    shared_workbench: SharedWorkbench, origin: str
) -> None:
    new_client = await shared_workbench.new_client()
    response = await new_client.post(PING, {"Origin": origin})
    assert response.status == 403
    assert "access-control-allow-origin" not in response.headers
    preflight = await new_client.ask("OPTIONS", {"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert preflight.status in (403, 405)
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize("host", ["evil.example.com", "evil.example.com:80", "", "127.0.0.1.evil.com"])
async def test_a_name_that_is_not_ours_is_refused(shared_workbench: SharedWorkbench, host: str) -> None:
    """As a page has it that has given its own name this machine's address."""
    wire = await (await shared_workbench.new_client()).wire()
    wire.host = host
    assert (await wire.ask("POST", JSON, PING)).status == 421
