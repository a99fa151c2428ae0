"""Which definition of the protocol's schema each message has to keep, whoever we send it to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.structure.schemas import LEGACY_VERSIONS, MODERN_VERSION, faults
from tests.support.client import key_of

if TYPE_CHECKING:
    from tests.support.client import Json, RawClient
    from tests.support.journal import Journal
    from tests.support.sessions import Era

ASKED = {
    "elicitation/create": "Elicit",
    "roots/list": "ListRoots",
    "sampling/createMessage": "CreateMessage",
}
REQUESTED = {
    "completion/complete": "Complete",
    "initialize": "Initialize",
    "logging/setLevel": "SetLevel",
    "ping": "Ping",
    "prompts/get": "GetPrompt",
    "prompts/list": "ListPrompts",
    "resources/list": "ListResources",
    "resources/read": "ReadResource",
    "resources/subscribe": "Subscribe",
    "resources/templates/list": "ListResourceTemplates",
    "resources/unsubscribe": "Unsubscribe",
    "server/discover": "Discover",
    "subscriptions/listen": "SubscriptionsListen",
    "tools/call": "CallTool",
    "tools/list": "ListTools",
}
NOTIFIED = {
    "notifications/cancelled": "Cancelled",
    "notifications/elicitation/complete": "ElicitationComplete",
    "notifications/initialized": "Initialized",
    "notifications/message": "LoggingMessage",
    "notifications/progress": "Progress",
    "notifications/prompts/list_changed": "PromptListChanged",
    "notifications/resources/list_changed": "ResourceListChanged",
    "notifications/resources/updated": "ResourceUpdated",
    "notifications/roots/list_changed": "RootsListChanged",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledged",
    "notifications/tools/list_changed": "ToolListChanged",
}
WITHOUT_RESULT = {"logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"}


def version_of(era: Era) -> str:
    return MODERN_VERSION if era == "modern" else LEGACY_VERSIONS[-1]


def faults_to_client(client: RawClient, era: Era, start: int) -> list[str]:
    """What is wrong with all that a client has received since then."""
    found: list[str] = []
    for message in client.received[start:]:
        answered = client.methods.get(key_of(message.get("id")), "")
        found += _faults(version_of(era), message, answered)
    return found


def faults_to_server(journal: Journal, era: Era, start: int) -> list[str]:
    """What is wrong with all that a server has received since then. It may be tried in the other version."""
    openings: dict[str, Era] = {"server/discover": "modern", "initialize": "legacy"}
    asked = {key_of(event["id"]): event["method"] for event in journal.events("asked")}
    found: list[str] = []
    for message in map(json.loads, journal.lines[start:]):
        version = version_of(openings.get(message.get("method"), era))
        found += _faults(version, message, asked.get(key_of(message.get("id")), ""))
    return found


def _faults(version: str, message: Json, answered: str) -> list[str]:
    """`answered` is the method of the request that a response answers."""
    if "method" in message:
        return [f"{fault}: {message}" for fault in faults(version, _definition(message), message)]
    if "error" in message:
        return [f"{fault}: {message}" for fault in faults(version, "JSONRPCError", message)]
    result = message["result"]
    definition = f"{(REQUESTED | ASKED)[answered]}Result"
    if result.get("resultType") == "input_required":
        definition = "InputRequiredResult"
    elif answered in WITHOUT_RESULT:
        definition = "EmptyResult"
    found = faults(version, "JSONRPCResponse", message) + faults(version, definition, result)
    return [f"{fault}: {message}" for fault in found]


def _definition(message: Json) -> str:
    method = message["method"]
    return (
        f"{NOTIFIED[method]}Notification" if "id" not in message else f"{(REQUESTED | ASKED)[method]}Request"
    )
