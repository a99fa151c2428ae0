"""A version that the configuration names is kept to; one that is only known may prove wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import BadAnswer, ConnectionClosed, RemoteError, RequestTimeout
from mcp_workbench.storage.protocol_versions import Versions
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
    from mcp_workbench.downstream.conversation.negotiation import Approach

pytestmark = IN_JUMPING_TIME

DONE = (0.0, "notifications/initialized")


async def test_a_server_that_is_greeted_first_is_not_probed() -> None:
    it = Conversation({"initialize": result(INITIALIZED)})
    assert await it.open("legacy first") == "legacy"
    assert it.heard == [AT_ONCE, DONE]


@pytest.mark.parametrize(
    "refusal",
    [error(-32022, {"supported": [MODERN]}), error(-32601), result("42"), result('{"protocolVersion":"x"}')],
)
async def test_a_server_that_refuses_the_old_greeting_is_probed(refusal: Say) -> None:
    it = Conversation({"initialize": refusal, "server/discover": result(DISCOVERED)})
    assert await it.open("legacy first") == MODERN
    assert it.heard == [AT_ONCE, PROBE]


async def test_a_server_that_ends_at_the_old_greeting_is_not_asked_again() -> None:
    it = Conversation({"initialize": HangUp()})
    with pytest.raises(ConnectionClosed):
        await it.open("legacy first")
    assert it.heard == [AT_ONCE]


async def test_a_server_that_is_greeted_first_may_take_all_its_time() -> None:
    it = Conversation({"initialize": result(INITIALIZED, after=LIMIT - 1)})
    assert await it.open("legacy first") == "legacy"
    assert it.heard[0] == AT_ONCE


async def test_a_remembered_modern_server_is_probed_and_may_have_become_legacy() -> None:
    it = Conversation({"server/discover": error(-32601), "initialize": result(INITIALIZED)})
    assert await it.open("modern first") == "legacy"
    assert it.heard == [PROBE, AT_ONCE, DONE]


@pytest.mark.parametrize("after", [0.0, 2.0, LIMIT - 1])
async def test_a_server_that_is_known_to_be_modern_never_gets_the_old_greeting(after: float) -> None:
    it = Conversation({"server/discover": result(DISCOVERED, after=after), "initialize": result(INITIALIZED)})
    assert await it.open("modern first") == MODERN
    assert it.heard == [PROBE]


async def test_a_server_that_is_known_to_be_modern_and_is_silent_runs_out_of_time() -> None:
    it = Conversation({"initialize": result(INITIALIZED)})
    with pytest.raises(RequestTimeout):
        await it.open("modern first")
    assert (it.heard, now()) == ([PROBE], LIMIT)


@pytest.mark.parametrize(
    ("approach", "script", "learned"),
    [
        ("legacy first", {"initialize": result(INITIALIZED)}, Versions(legacy=True)),
        (
            "legacy first",
            {"initialize": error(-32022), "server/discover": result(DISCOVERED)},
            Versions(legacy=False, modern=True),
        ),
        (
            "legacy first",
            {"initialize": error(-32603), "server/discover": result(DISCOVERED)},
            Versions(modern=True),
        ),
        ("modern first", {"server/discover": result(DISCOVERED)}, Versions(modern=True)),
        ("probe", {"server/discover": result(DISCOVERED)}, Versions(modern=True)),
        (
            "probe",
            {"server/discover": error(-32601), "initialize": result(INITIALIZED)},
            Versions(legacy=True, modern=False),
        ),
        ("probe", {"initialize": result(INITIALIZED)}, Versions(legacy=True, modern=False)),
        (
            "probe",
            {"server/discover": result(DISCOVERED, after=2), "initialize": result(INITIALIZED, after=2)},
            Versions(legacy=True, modern=True),
        ),
        (
            "probe",
            {"server/discover": result(DISCOVERED, after=2), "initialize": error(-32022, after=2)},
            Versions(modern=True),
        ),
    ],
)
async def test_what_a_server_accepts_and_refuses_is_what_it_is_known_for(
    approach: Approach, script: dict[str, Say], learned: Versions
) -> None:
    """A refusal says nothing where the probe came first: some servers keep to the first version they hear."""
    agreed = await Conversation(script).agree(approach)
    assert agreed.learned == learned


async def test_a_server_configured_as_legacy_is_never_probed() -> None:
    it = Conversation({"initialize": error(-32022, {"supported": [MODERN]})})
    with pytest.raises(RemoteError):
        await it.open("only legacy")
    assert it.heard == [AT_ONCE]


async def test_a_server_configured_as_modern_may_take_all_its_time() -> None:
    it = Conversation({"server/discover": result(DISCOVERED, after=LIMIT - 1)})
    assert await it.open("only modern") == MODERN
    assert it.heard == [PROBE]


@pytest.mark.parametrize(
    "answer", [error(-32601), result("42"), result('{"supportedVersions":["2025-11-25"]}')]
)
async def test_a_server_configured_as_modern_that_is_not_is_told_so(answer: Say) -> None:
    it = Conversation({"server/discover": answer, "initialize": result(INITIALIZED)})
    with pytest.raises(BadAnswer) as raised:
        await it.open("only modern")
    assert str(raised.value) == 'it does not speak MCP 2026-07-28, which "protocol" asks for'
    assert it.heard == [PROBE]


async def test_a_server_configured_as_modern_that_is_silent_runs_out_of_time() -> None:
    with pytest.raises(RequestTimeout):
        await Conversation({}).open("only modern")
    assert now() == LIMIT


@pytest.mark.parametrize(
    ("approach", "method"), [("only legacy", "initialize"), ("only modern", "server/discover")]
)
async def test_a_connection_that_ends_meanwhile_is_the_failure(approach: Approach, method: str) -> None:
    it = Conversation({method: HangUp(after=5)})
    with pytest.raises(ConnectionClosed):
        await it.open(approach)
    assert now() == 5
