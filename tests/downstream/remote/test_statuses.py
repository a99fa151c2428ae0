"""Each status of HTTP has the outcome that is right for it, and words that say what to do."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import BadStatus, LoginRequired, Refused, StartError, WireError
from tests.downstream.remote.serving import discovered, ready, serving, text
from tests.downstream.servers import call_tool, server
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.downstream.remote.serving import Asked, HttpServer, Reply
    from tests.support.client import Json

pytestmark = ON_BOTH_LOOPS

TOKEN: Json = {"headers": {"Authorization": "Bearer abcdef-secret"}}
SCOPE = 'Bearer error="insufficient_scope", scope="files:write"'
NOT_REPEATED = "The call was not repeated, because it may have taken effect."


async def refused(
    directory: Path, status: int, body: bytes = b"", entry: Json | None = None, **headers: str
) -> tuple[WireError, str, HttpServer]:
    """What a call comes to that gets this answer: the error, what is told of it, and the server."""

    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.status(status, body, **headers)

    secrets = {"Bearer abcdef-secret": "<header>", "abcdef-secret": "<header>"}
    async with serving(handle) as http, server({"url": http.url, **(entry or {})}, directory, secrets) as it:
        session = await ready(it)
        with pytest.raises(WireError) as raised:
            await call_tool(session, "echo", 5).result
        assert it.state == "ready"
        return raised.value, it.explain(raised.value, session), http


async def test_401_names_the_command_that_logs_in(tmp_path: Path) -> None:
    error, told, _ = await refused(tmp_path, 401)
    assert isinstance(error, LoginRequired)
    assert told == ("it requires a login (HTTP 401). Run this in a terminal: mcp-workbench login dev/files")


async def test_401_to_a_token_of_the_configuration_says_that_it_was_not_accepted(tmp_path: Path) -> None:
    echoed = b"what is abcdef-secret?"
    error, told, _ = await refused(tmp_path, 401, echoed, TOKEN, content_type="text/plain")
    assert isinstance(error, Refused)
    assert told == (
        "the server did not accept the token in `headers` (HTTP 401 Unauthorized: what is <header>?). "
        "Nothing was done. It may have expired, or be for another service: "
        "replace it in the configuration."
    )


async def test_401_to_a_password_in_the_address_says_that_it_was_not_accepted(tmp_path: Path) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.status(401)

    async with serving(handle) as http:
        url = http.url.replace("http://", "http://me:password@")
        async with server({"url": url}, tmp_path) as it:
            with pytest.raises(StartError) as raised:
                await it.connect(modern=True)
    assert raised.value.reason == "the server did not accept the password in `url` (HTTP 401 Unauthorized)"
    assert {asked.headers["authorization"] for asked in http.asked} == {"Basic bWU6cGFzc3dvcmQ="}


async def test_403_says_that_it_is_not_allowed(tmp_path: Path) -> None:
    _, told, _ = await refused(tmp_path, 403, b"Invalid Origin header", content_type="text/plain")
    assert told == (
        "the server does not allow this (HTTP 403 Forbidden: Invalid Origin header). Nothing was done. "
        "Your account or network address may not use this server: ask its operator."
    )


async def test_403_for_want_of_a_right_names_it_and_the_command(tmp_path: Path) -> None:
    error, told, _ = await refused(tmp_path, 403, www_authenticate=SCOPE)
    assert isinstance(error, LoginRequired)
    assert told == (
        "its login does not cover this: it asks for the scope 'files:write' (HTTP 403). "
        "Run this in a terminal: mcp-workbench login dev/files --scope files:write"
    )


async def test_403_for_want_of_a_right_of_a_token_asks_for_another(tmp_path: Path) -> None:
    _, told, _ = await refused(tmp_path, 403, entry=TOKEN, www_authenticate=SCOPE)
    assert told == (
        "the token in `headers` does not have the right for this (scope: files:write). Nothing was done. "
        "Get one with more rights, and put it into the configuration."
    )


async def test_404_without_a_session_doubts_the_address(tmp_path: Path) -> None:
    error, told, _ = await refused(tmp_path, 404)
    assert isinstance(error, BadStatus)
    assert told == (
        "there is no MCP server at this address (HTTP 404 Not Found). Nothing was done. "
        'Check "url": MCP servers often live at a path of their own, such as /mcp or /sse.'
    )


@pytest.mark.parametrize("after", ["1", "date"])
async def test_429_with_a_short_wait_is_sent_again(tmp_path: Path, after: str) -> None:
    times: list[float] = []

    async def handle(asked: Asked, reply: Reply) -> None:
        if await discovered(asked, reply):
            return
        times.append(time.monotonic())
        date = email.utils.formatdate(time.time() + 2, usegmt=True)
        if len(times) == 1:
            await reply.status(429, retry_after=date if after == "date" else after)
        else:
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        await call_tool(await ready(it), "echo", 10).result
    assert len(times) == 2
    assert times[1] - times[0] >= 0.9


async def test_429_with_a_long_wait_says_when_to_come_back(tmp_path: Path) -> None:
    error, told, http = await refused(tmp_path, 429, retry_after="30")
    assert isinstance(error, Refused)
    assert told == (
        "the server gets too many requests (HTTP 429); it asks to try again in 30 s. Nothing was done."
    )
    assert len(http.calls("tools/call")) == 1


async def test_429_without_a_time_is_not_sent_again(tmp_path: Path) -> None:
    _, told, http = await refused(tmp_path, 429)
    assert told == "the server gets too many requests (HTTP 429). Nothing was done."
    assert len(http.calls("tools/call")) == 1


async def test_429_that_does_not_end_is_given_up(tmp_path: Path) -> None:
    _, _, http = await refused(tmp_path, 429, retry_after="0")
    assert len(http.calls("tools/call")) == 4


async def test_429_whose_wait_does_not_fit_the_time_out_is_told_at_once(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if not await discovered(asked, reply):
            await reply.status(429, retry_after="4")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(Refused, match="try again in 4 s"):
            await call_tool(await ready(it), "echo", 2).result


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 599])
async def test_5xx_is_not_repeated(tmp_path: Path, status: int) -> None:
    _, told, http = await refused(tmp_path, status, b"Overloaded", content_type="text/plain")
    assert f"HTTP {status}" in told
    assert "Overloaded" in told
    assert NOT_REPEATED in told
    assert len(http.calls("tools/call")) == 1


async def test_503_says_when_to_come_back(tmp_path: Path) -> None:
    _, told, _ = await refused(tmp_path, 503, retry_after="120")
    assert told == f"HTTP 503 Service Unavailable; it asks to try again in 120 s. {NOT_REPEATED}"


@pytest.mark.parametrize("status", [401, 403, 429, 502, 503, 504])
async def test_who_is_not_let_in_is_not_asked_for_another_era(tmp_path: Path, status: int) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.status(status)

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(StartError):
            await it.connect(modern=True)
    assert [asked.calls for asked in http.asked] == ["server/discover"]


async def test_a_redirect_within_the_server_is_followed_with_the_body(tmp_path: Path) -> None:
    async def handle(asked: Asked, reply: Reply) -> None:
        if asked.path == "/mcp":
            await reply.status(307, location="/mcp/")
        elif not await discovered(asked, reply):
            await reply.result(asked, text("yes"))

    async with serving(handle) as http, server({"url": http.url, **TOKEN}, tmp_path) as it:
        await call_tool(await ready(it), "echo", 5).result
    first, second = http.calls("tools/call")
    assert (first.path, second.path) == ("/mcp", "/mcp/")
    assert first.body == second.body
    assert second.headers["authorization"] == "Bearer abcdef-secret"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_to_another_server_is_not_followed(tmp_path: Path, status: int) -> None:
    async def elsewhere(_: Asked, reply: Reply) -> None:
        await reply.status(500)

    async with serving(elsewhere) as other:

        async def handle(_: Asked, reply: Reply) -> None:
            await reply.status(status, location=f"{other.origin}/secret?token=1")

        async with serving(handle) as http, server({"url": http.url, **TOKEN}, tmp_path) as it:
            with pytest.raises(StartError) as raised:
                await it.connect(modern=True)
    assert other.asked == []
    assert raised.value.reason == f"it redirects to {other.origin}, which is not followed"


async def test_a_redirect_without_end_is_given_up(tmp_path: Path) -> None:
    async def handle(_: Asked, reply: Reply) -> None:
        await reply.status(307, location="/round")

    async with serving(handle) as http, server({"url": http.url}, tmp_path) as it:
        with pytest.raises(StartError, match="which is not followed"):
            await it.connect(modern=True)
    assert len(http.asked) < 20


async def test_a_wait_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    _, told, _ = await refused(tmp_path, 503, retry_after="soon")
    assert "come back" not in told
