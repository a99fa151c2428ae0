"""The protocol version that a server speaks is found by asking, whatever it answers, and without a long
wait.
"""

from __future__ import annotations

import pytest

from mcp_workbench import __version__
from mcp_workbench.downstream.conversation.negotiation import PATIENCE_SECONDS, UNANSWERED_SECONDS
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

pytestmark = IN_JUMPING_TIME

LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
ME = {"name": "mcp-workbench", "version": __version__}
STAMP = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": ME,
    "io.modelcontextprotocol/clientCapabilities": {},
}

PATIENTLY = (PATIENCE_SECONDS, "initialize")


async def test_a_server_that_answers_the_probe_is_modern() -> None:
    it = Conversation({"server/discover": result(DISCOVERED)})
    assert await it.open() == MODERN
    assert it.messages == [
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": STAMP}}
    ]


async def test_a_modern_server_that_announces_changes_is_listened_to() -> None:
    found = DISCOVERED.replace('{"tools":{}}', '{"tools":{"listChanged":true}}')
    it = Conversation({"server/discover": result(found)})
    assert await it.open() == MODERN
    assert it.messages[1:] == [
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "subscriptions/listen",
            "params": {"_meta": STAMP, "notifications": {"toolsListChanged": True}},
        }
    ]


@pytest.mark.parametrize(
    "refusal",
    [
        error(-32021),
        error(-32021, {"requiredCapabilities": {"sampling": {}}}),
        error(-32022, {"supported": [MODERN], "requested": "x"}),
        error(-32022, {"supported": [*LEGACY, MODERN]}),
    ],
    ids=lambda say: say.body,
)
async def test_a_modern_error_is_a_modern_server_too(refusal: Say) -> None:
    it = Conversation({"server/discover": refusal})
    assert await it.open() == MODERN
    assert it.heard == [PROBE]


@pytest.mark.parametrize(
    "answer",
    [
        error(-32601),
        error(-32602),
        error(-32600, {"supported": [MODERN]}),
        error(-32000),
        error(0),
        error(-32022),
        error(-32022, {"supported": "all of them"}),
        error(-32022, {"supported": []}),
        error(-32022, {"supported": LEGACY}),
        error(-32022, {"supported": ["1999-01-01", "2025-06-18"]}),
        result("42"),
        result("null"),
        result("[]"),
        result("{}"),
        result('{"supportedVersions":"2026-07-28"}'),
        result('{"supportedVersions":["2025-11-25"]}'),
        result("[" * 100_000 + "]" * 100_000),
    ],
    ids=lambda say: say.body[:60],
)
async def test_any_other_answer_is_a_legacy_server(answer: Say) -> None:
    it = Conversation({"server/discover": answer, "initialize": result(INITIALIZED)})
    assert await it.open() == "legacy"
    assert it.heard == [PROBE, AT_ONCE, (0.0, "notifications/initialized")]


async def test_a_legacy_server_is_greeted_in_its_own_way() -> None:
    it = Conversation({"server/discover": error(-32601), "initialize": result(INITIALIZED)})
    await it.open()
    assert it.messages[1:] == [
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": ME},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


async def test_a_server_that_speaks_only_versions_unknown_to_us_is_told_so() -> None:
    it = Conversation({"server/discover": error(-32022, {"supported": ["2031-01-01", "2030-01-01"]})})
    with pytest.raises(BadAnswer) as raised:
        await it.open()
    assert str(raised.value) == (
        "it speaks only MCP 2031-01-01, 2030-01-01; "
        "the workbench speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
    )
    assert it.heard == [PROBE]


async def test_silence_costs_less_than_a_second_before_the_old_greeting() -> None:
    it = Conversation({"initialize": result(INITIALIZED)})
    assert await it.open() == "legacy"
    assert it.heard == [PROBE, PATIENTLY, (PATIENCE_SECONDS, "notifications/initialized")]
    assert PATIENCE_SECONDS < 1


async def test_a_modern_server_that_is_slow_to_start_is_still_modern() -> None:
    refusal = error(-32022, {"supported": [MODERN]}, after=20)
    it = Conversation({"server/discover": result(DISCOVERED, after=20), "initialize": refusal})
    assert await it.open() == MODERN
    assert (it.heard, now()) == ([PROBE, PATIENTLY], 20 + PATIENCE_SECONDS)


async def test_a_slow_modern_server_that_leaves_the_old_greeting_unanswered_is_modern_after_a_while() -> None:
    it = Conversation({"server/discover": result(DISCOVERED, after=20)})
    assert await it.open() == MODERN
    assert (it.heard, now()) == ([PROBE, PATIENTLY], 20 + UNANSWERED_SECONDS)


async def test_a_legacy_server_that_is_slow_to_start_is_still_legacy() -> None:
    it = Conversation(
        {"server/discover": error(-32602, after=20), "initialize": result(INITIALIZED, after=20)}
    )
    assert await it.open() == "legacy"
    assert it.heard == [PROBE, PATIENTLY, (20 + PATIENCE_SECONDS, "notifications/initialized")]


@pytest.mark.parametrize("after", [2 - PATIENCE_SECONDS, 2, 2 + UNANSWERED_SECONDS - 1])
async def test_a_slow_server_that_accepts_the_old_greeting_is_in_a_legacy_session(after: float) -> None:
    """Whatever it answers the probe with, and whichever answer comes first."""
    it = Conversation(
        {"server/discover": result(DISCOVERED, after=2), "initialize": result(INITIALIZED, after=after)}
    )
    assert await it.open() == "legacy"


async def test_a_refusal_of_the_old_greeting_leaves_time_for_the_answer_to_the_probe() -> None:
    script = {
        "server/discover": result(DISCOVERED, after=1.2),
        "initialize": error(-32022, {"supported": [MODERN]}, after=0.1),
    }
    it = Conversation(script)
    assert await it.open() == MODERN
    assert (it.heard, now()) == ([PROBE, PATIENTLY], 1.2)


async def test_a_refusal_of_the_old_greeting_without_an_answer_to_the_probe_is_the_failure() -> None:
    it = Conversation({"initialize": error(-32603)})
    with pytest.raises(RemoteError, match=r"^JSON-RPC error -32603: no$"):
        await it.open()
    assert now() == 2 * PATIENCE_SECONDS


async def test_a_legacy_server_that_refuses_its_greeting_is_the_failure() -> None:
    it = Conversation({"server/discover": error(-32601), "initialize": error(-32603)})
    with pytest.raises(RemoteError, match=r"^JSON-RPC error -32603: no$"):
        await it.open()
    assert now() == 0


@pytest.mark.parametrize("version", ["2024-10-07", *LEGACY])
async def test_every_older_version_is_understood(version: str) -> None:
    it = Conversation({"initialize": result(INITIALIZED.replace("2025-11-25", version))})
    assert await it.open() == "legacy"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            INITIALIZED.replace("2025-11-25", "1999-01-01"),
            'it answered initialize with the unknown protocol version "1999-01-01"',
        ),
        ("42", "its answer to initialize could not be read: Expected `object`, got `int`"),
        (
            "{}",
            "its answer to initialize could not be read: Object missing required field `protocolVersion`",
        ),
    ],
)
async def test_an_answer_to_the_greeting_that_cannot_be_used_is_the_failure(
    answer: str, message: str
) -> None:
    it = Conversation({"server/discover": error(-32601), "initialize": result(answer)})
    with pytest.raises(BadAnswer) as raised:
        await it.open()
    assert str(raised.value) == message


async def test_silence_for_the_whole_time_is_the_failure() -> None:
    it = Conversation({})
    with pytest.raises(RequestTimeout):
        await it.open()
    assert (it.heard, now()) == ([PROBE, PATIENTLY], LIMIT)


@pytest.mark.parametrize("script", [{"server/discover": HangUp()}, {"initialize": HangUp(after=0.5)}])
async def test_a_connection_that_ends_meanwhile_is_the_failure(script: dict[str, HangUp]) -> None:
    with pytest.raises(ConnectionClosed, match=r"^the server exited with code 1$"):
        await Conversation(script).open()
