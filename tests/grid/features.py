"""The rows of the grid: every feature, and the combinations of eras in which there is such a thing.

A test says which of them it proves by the mark `proves`. Its cell is that of the parameters `client_era` and
`server_era`; a test that runs on one side only names that side's era in the mark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.sessions import Era

LEGACY_LEGACY = ("legacy", "legacy")
LEGACY_MODERN = ("legacy", "modern")
MODERN_LEGACY = ("modern", "legacy")
MODERN_MODERN = ("modern", "modern")
ALL = (LEGACY_LEGACY, LEGACY_MODERN, MODERN_LEGACY, MODERN_MODERN)
LEGACY_SERVERS = (LEGACY_LEGACY, MODERN_LEGACY)
MODERN_SERVERS = (LEGACY_MODERN, MODERN_MODERN)
LEGACY_CLIENTS = (LEGACY_LEGACY, LEGACY_MODERN)
MODERN_CLIENTS = (MODERN_LEGACY, MODERN_MODERN)


@dataclass(frozen=True)
class Feature:
    """One row; a combination that is not among its cells has no such thing."""

    title: str
    cells: tuple[tuple[str, str], ...] = ALL


QUESTIONS = {
    "elicitation-form": Feature("Elicitation by form"),
    "elicitation-url": Feature("Elicitation by URL"),
    "elicitation-refused": Feature("Elicitation that the user declines or cancels"),
    "elicitation-complete": Feature("Notification that a URL elicitation is complete", (LEGACY_LEGACY,)),
    "url-required": Feature("A call refused until a URL is visited (-32042)", LEGACY_SERVERS),
    "sampling": Feature("Sampling"),
    "sampling-tools": Feature("Sampling with tools"),
    "roots": Feature("Roots"),
    "roots-changed": Feature("Notification that the roots have changed", (LEGACY_LEGACY,)),
    "rounds": Feature("Several rounds of questions in one call"),
    "several-at-once": Feature("Several questions in one round"),
    "state-only": Feature("A round without questions that only passes a state on", MODERN_SERVERS),
    "rounds-capped": Feature("Rounds without end are ended by the workbench", (LEGACY_MODERN,)),
    "nonsense": Feature("An invalid question fails its call with a clear error", MODERN_SERVERS),
    "elsewhere": Feature("Questions while a prompt or a resource is fetched"),
    "crowd": Feature("Twenty calls ask at once, and each gets its own answer"),
}
WAITING = {
    "parked": Feature("Several calls wait for the user at once", (MODERN_LEGACY,)),
    "expiry": Feature("A question without an answer expires"),
    "patience": Feature("The user's time does not count for the server's time-out"),
    "leaving": Feature("The client disconnects while it is asked"),
    "dying": Feature("The server dies while it waits for an answer", LEGACY_SERVERS),
    "state": Feature("`requestState` forged, expired, replayed or swapped is refused", MODERN_CLIENTS),
    "replicas": Feature(
        "A retry at another replica is refused, and stays valid at the first", MODERN_CLIENTS
    ),
}
CAPABILITIES = {
    "declared": Feature("A server gets the capabilities of this client"),
    "offered": Feature("The client gets the capabilities of the servers"),
    "missing": Feature("A question beyond the client's capabilities gets a clear error"),
    "denied": Feature("A question that the configuration denies reaches no client"),
    "consent": Feature("Sampling that the configuration asks the user about"),
    "attribution": Feature("A question reaches its own caller, or no client", LEGACY_SERVERS),
}
MEANWHILE = {
    "progress": Feature("Progress with the caller's own token"),
    "progress-up": Feature("Progress that the client reports on a question", (LEGACY_LEGACY,)),
    "progress-flood": Feature("A flood of progress is thinned, and the last one is delivered"),
    "logging": Feature("Log messages at the level that the client chose"),
    "cancel-call": Feature("The client cancels a call"),
    "cancel-question": Feature("The client cancels a call while it is asked", LEGACY_CLIENTS),
    "cancel-retry": Feature("The client cancels a retry", MODERN_CLIENTS),
    "cancel-parked": Feature("The client cancels a call that it has not retried", (MODERN_LEGACY,)),
    "cancel-opening": Feature("The client cancels a call while its toolbox opens"),
    "withdrawn": Feature("The server withdraws its question", LEGACY_SERVERS),
}
CHANGES = {
    "tools-changed": Feature("Changed tools are in the catalogue"),
    "lists-changed": Feature("Notification that prompts or resources have changed"),
    "listen": Feature("`subscriptions/listen`: acknowledged, tagged, ended", MODERN_CLIENTS),
    "subscribe": Feature("Notification that a resource has changed"),
}
CONTENTS = {
    "resources": Feature("Resources and templates are listed"),
    "read": Feature("Resources are read"),
    "links": Feature("Links in results can be read"),
    "prompts": Feature("Prompts are listed and fetched"),
    "completion": Feature("Completion of arguments"),
    "meta": Feature("`_meta`: reserved keys per hop, trace context and vendor keys passed"),
    "unknown": Feature("Unknown members are kept"),
}
GROUPS = {
    "Questions in the middle of a call": QUESTIONS,
    "While a call waits for an answer": WAITING,
    "Who can be asked": CAPABILITIES,
    "While a call is in flight": MEANWHILE,
    "Changes": CHANGES,
    "Resources, prompts, contents": CONTENTS,
}
FEATURES = {name: feature for group in GROUPS.values() for name, feature in group.items()}


def proves(
    feature: str, *, client: Era | None = None, server: Era | None = None, by: str | None = None
) -> pytest.MarkDecorator:
    """`by` names the official SDK or the real server that a test uses in place of a raw one."""
    return pytest.mark.proves(feature, client=client, server=server, by=by)
