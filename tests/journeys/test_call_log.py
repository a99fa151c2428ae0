"""The log has one line for each call, whoever makes it, by whichever way, and however it ends."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.serve.admission.test_tokens import ALICE, write_tokens
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import acting, toolboxes
from tests.support.http_client import HttpClient
from tests.support.sessions import ModernSession, failure_of, result_of, session_of
from tests.support.stderrs import without_times
from tests.support.stocks import stock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.support.client import Json
    from tests.support.journal import Journal
    from tests.support.sessions import Era, Session

FAILED = '{"content":[{"type":"text","text":"no"}],"isError":true}'
LONG = {"text": "x" * 5000}


def config(journal: Journal, server_era: Era) -> Json:
    """A server with everything, one that is given little time and one that hangs."""
    answers = {"prompts/get": '{"resultType":"complete","messages":[]}'}
    servers = {
        "all": stock(server_era, answers=answers),
        "brief": acting("hang", "hang", entry={"timeout": 0.3}, era=server_era),
        "slow": acting("hang", "hang", journal, era=server_era),
        "broken": acting("crash", "crash", era=server_era),
    }
    return {**toolboxes(dev=servers), "results": {"inlineLimit": 2000}}


def call_lines(stderr: str) -> list[str]:
    """The lines about calls, without what differs from run to run."""
    lines = [line.removeprefix("mcp-workbench: ") for line in without_times(stderr).splitlines()]
    about_calls = [line for line in lines if line.startswith(("dev/", "workbench/"))]
    timed = [re.sub(r" \d+ m?s\b", " <time>", line, count=1) for line in about_calls]
    return [re.sub(r" [\d.]+ K?B\b", " <size>", line, count=1) for line in timed]


async def make_all_kinds_of_calls(session: Session, journal: Journal) -> None:
    await session.open_toolbox("dev")
    await session.use_tool("dev", "all", "echo")
    assert failure_of(await session.use_tool("dev", "all", "emit", json.loads(FAILED)))
    assert failure_of(await session.use_tool("dev", "brief", "hang"))
    await session.begin_tool("dev", "slow", "hang", request_id="given up")
    await journal.wait_for_call()
    await session.client.notify("notifications/cancelled", {"requestId": "given up"})
    await journal.wait_until(lambda it: it.events("cancelled"))
    assert failure_of(await session.use_tool("dev", "broken", "crash"))
    assert failure_of(await session.use_tool("dev", "all", "nothing"))
    result_of(await session.request("resources/read", {"uri": "workbench:dev/all/test://one"}))
    result_of(await session.request("prompts/get", {"name": "dev/all/one"}))
    kept = await session.use_tool("dev", "all", "echo", LONG)
    handle = kept["content"][0]["text"].partition("handle ")[2].partition("\n")[0]
    await session.use_tool("workbench", "results", "read_result", {"handle": handle})


def expected(who: str, given_up: str) -> list[str]:
    return [
        f"dev/all/echo ok <time> <size> ({who})",
        f"dev/all/emit tool error <time> <size> ({who})",
        f"dev/brief/hang timed out (RequestTimeout) <time> ({who})",
        f"dev/slow/hang {given_up} <time> ({who})",
        f"dev/broken/crash failed (ConnectionClosed) <time> ({who})",
        f"dev/all/nothing refused (ToolNotFound) <time> ({who})",
        f"dev/all resources/read test://one ok <time> <size> ({who})",
        f"dev/all prompts/get one ok <time> <size> ({who})",
        f"dev/all/echo ok <time> <size> ({who})",
        f"workbench/results/read_result ok <time> <size> ({who})",
    ]


@contextlib.asynccontextmanager
async def serving(
    make: Callable[[list[str], dict[str, str]], RawClient], home: Path, configured: Json, *args: str
) -> AsyncIterator[RawClient]:
    async with make(serve_command(write_config(home, configured), *args), clean_environment(home)) as client:
        yield client


@pytest.mark.parametrize("make", [RawClient, HttpClient], ids=["stdio", "HTTP"])
async def test_every_call_has_a_line_that_says_how_it_ended(
    tmp_path: Path, journal: Journal, make: type[RawClient], client_era: Era, server_era: Era
) -> None:
    async with serving(make, tmp_path, config(journal, server_era)) as client:
        session = session_of(client_era, client)
        await session.greet()
        await make_all_kinds_of_calls(session, journal)
        await client.close()
    # A modern client cancels over HTTP by closing its connection.
    hangs_up = (make, client_era) == (HttpClient, "modern")
    given_up = "client gone" if hangs_up else "cancelled"
    assert call_lines(client.stderr) == expected("raw-client", given_up)


async def test_no_call_has_a_line_at_a_higher_level(tmp_path: Path, journal: Journal) -> None:
    configured = config(journal, "modern")
    async with serving(RawClient, tmp_path, configured, "--log-level", "warning") as client:
        await make_all_kinds_of_calls(ModernSession(client), journal)
        await client.close()
    assert call_lines(client.stderr) == []
    assert "[dev/broken] failed: " in client.stderr


async def test_a_call_that_the_end_of_the_client_ends_has_its_line(tmp_path: Path, journal: Journal) -> None:
    async with serving(RawClient, tmp_path, config(journal, "legacy")) as client:
        await ModernSession(client).begin_tool("dev", "slow", "hang")
        await journal.wait_for_call()
        await client.close()
    assert call_lines(client.stderr) == ["dev/slow/hang client gone <time> (raw-client)"]


class Alice(HttpClient):
    """A client with a token."""

    def _headers(self, message: Json, *, is_modern: bool) -> dict[str, str]:
        return super()._headers(message, is_modern=is_modern) | {"Authorization": f"Bearer {ALICE}"}


async def test_a_line_names_the_principal_and_its_client(tmp_path: Path, journal: Journal) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]))

    def make(command: list[str], environment: dict[str, str]) -> RawClient:
        client = Alice(command, environment)
        client._command = [*client._command, "--token-file", str(tokens)]
        return client

    async with serving(make, tmp_path, config(journal, "modern")) as client:
        await ModernSession(client).use_tool("dev", "all", "echo")
        await client.close()
    assert call_lines(client.stderr) == ["dev/all/echo ok <time> <size> (alice, raw-client)"]
    assert ALICE not in client.stderr


async def test_for_machines_a_call_is_an_event_of_its_server(tmp_path: Path, journal: Journal) -> None:
    async with serving(RawClient, tmp_path, config(journal, "modern"), "--log-format", "json") as client:
        await ModernSession(client).use_tool("dev", "all", "echo")
        await client.close()
    events = [json.loads(line) for line in client.stderr.splitlines()]
    (event,) = [event for event in events if event["logger"] == "mcp_workbench.calls"]
    assert (event["level"], event["server"]) == ("info", "dev/all")
    assert call_lines(event["message"]) == ["dev/all/echo ok <time> <size> (raw-client)"]
