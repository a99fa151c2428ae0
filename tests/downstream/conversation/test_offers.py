"""What a server says that it has is what is asked of it, whichever way it says so."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mcp_workbench.downstream.conversation.offer import Offer, read_offer
from tests.downstream.conversations import Conversation, result
from tests.wire.loops import IN_JUMPING_TIME

EVERYTHING: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
}
ALL = Offer(
    tools=True,
    tools_change=True,
    prompts=True,
    prompts_change=True,
    resources=True,
    resources_change=True,
    updates=True,
    completions=True,
    logging=True,
)


def offered(capabilities: object) -> Offer:
    return read_offer(msgspec.Raw(json.dumps(capabilities).encode()))


def test_all_of_it_is_read() -> None:
    assert offered(EVERYTHING) == ALL


@pytest.mark.parametrize("odd", [None, [], "tools"])
def test_what_cannot_be_read_is_not_offered(odd: object) -> None:
    assert offered(odd) == Offer()


@pytest.mark.parametrize("odd", [None, {"listChanged": "yes"}])
def test_changes_are_not_offered_by_what_cannot_be_read(odd: object) -> None:
    assert offered({"tools": odd}) == Offer(tools=True)


def test_what_has_no_details_is_still_offered() -> None:
    found = offered({"prompts": {}, "resources": {"subscribe": False}})
    assert found == Offer(prompts=True, resources=True)


@pytest.mark.parametrize(
    ("version", "has"), [("2024-11-05", True), ("2025-03-26", False), ("2025-11-25", False)]
)
@IN_JUMPING_TIME
async def test_completions_of_a_server_that_cannot_declare_them_are_taken_for_offered(
    version: str, has: bool
) -> None:
    greeting = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {}}
    conversation = Conversation({"initialize": result(json.dumps(greeting))})
    await conversation.open("only legacy")
    assert conversation.session.offer == Offer(tools=True, completions=has, server_info=msgspec.Raw(b"{}"))


@IN_JUMPING_TIME
async def test_a_modern_server_is_asked_to_tell_of_the_changes_that_it_offers() -> None:
    discovery = {"supportedVersions": ["2026-07-28"], "capabilities": EVERYTHING}
    conversation = Conversation({"server/discover": result(json.dumps(discovery))})
    await conversation.open()
    (listen,) = (it for it in conversation.messages if it["method"] == "subscriptions/listen")
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
    assert listen["params"]["notifications"] == wanted
