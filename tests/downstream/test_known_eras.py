"""An era that the configuration names is kept to; one that is only remembered may prove wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import BadAnswer, ConnectionClosed, RemoteError, RequestTimeout
from tests.downstream.conversations import (
    AT_ONCE,
    DISCOVERED,
    INITIALIZED,
    LIMIT,
    MODERN,
    PROBE,
    Conversation,
    HangUp,
    Say,
    error,
    result,
)
from tests.wire.loops import IN_JUMPING_TIME, now

if TYPE_CHECKING:
    from mcp_workbench.downstream.era_memory import Era

pytestmark = IN_JUMPING_TIME

DONE = (0.0, "notifications/initialized")


async def test_a_remembered_legacy_server_is_not_probed() -> None:
    it = Conversation({"initialize": result(INITIALIZED)})
    assert await it.open(remembered="legacy") == "legacy"
    assert it.heard == [AT_ONCE, DONE]


@pytest.mark.parametrize(
    "refusal",
    [error(-32022, {"supported": [MODERN]}), error(-32601), result("42"), result('{"protocolVersion":"x"}')],
)
async def test_a_remembered_legacy_server_that_refuses_is_found_out_anew(refusal: Say) -> None:
    it = Conversation({"initialize": refusal, "server/discover": result(DISCOVERED)})
    assert await it.open(remembered="legacy") == MODERN
    assert it.heard == [AT_ONCE, PROBE]


async def test_a_remembered_legacy_server_that_ends_is_not_asked_again() -> None:
    it = Conversation({"initialize": HangUp()})
    with pytest.raises(ConnectionClosed):
        await it.open(remembered="legacy")
    assert it.heard == [AT_ONCE]


async def test_a_remembered_legacy_server_may_take_all_its_time() -> None:
    it = Conversation({"initialize": result(INITIALIZED, after=LIMIT - 1)})
    assert await it.open(remembered="legacy") == "legacy"
    assert it.heard[0] == AT_ONCE


async def test_a_remembered_modern_server_is_probed_and_may_have_become_legacy() -> None:
    it = Conversation({"server/discover": error(-32601), "initialize": result(INITIALIZED)})
    assert await it.open(remembered=MODERN) == "legacy"
    assert it.heard == [PROBE, AT_ONCE, DONE]


async def test_a_server_configured_as_legacy_is_never_probed() -> None:
    it = Conversation({"initialize": error(-32022, {"supported": [MODERN]})})
    with pytest.raises(RemoteError):
        await it.open(forced="legacy")
    assert it.heard == [AT_ONCE]


async def test_a_server_configured_as_modern_may_take_all_its_time() -> None:
    it = Conversation({"server/discover": result(DISCOVERED, after=LIMIT - 1)})
    assert await it.open(forced=MODERN) == MODERN
    assert it.heard == [PROBE]


@pytest.mark.parametrize(
    "answer", [error(-32601), result("42"), result('{"supportedVersions":["2025-11-25"]}')]
)
async def test_a_server_configured_as_modern_that_is_not_is_told_so(answer: Say) -> None:
    it = Conversation({"server/discover": answer, "initialize": result(INITIALIZED)})
    with pytest.raises(BadAnswer) as raised:
        await it.open(forced=MODERN)
    assert str(raised.value) == 'it does not speak MCP 2026-07-28, which "protocol" asks for'
    assert it.heard == [PROBE]


async def test_a_server_configured_as_modern_that_is_silent_runs_out_of_time() -> None:
    with pytest.raises(RequestTimeout):
        await Conversation({}).open(forced=MODERN)
    assert now() == LIMIT


@pytest.mark.parametrize(("forced", "method"), [("legacy", "initialize"), (MODERN, "server/discover")])
async def test_a_connection_that_ends_meanwhile_is_the_failure(forced: Era, method: str) -> None:
    it = Conversation({method: HangUp(after=5)})
    with pytest.raises(ConnectionClosed):
        await it.open(forced=forced)
    assert now() == 5
