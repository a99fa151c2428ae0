"""Which servers' kept results may be handed to a server: the meaning of `flows`.

A call refers to kept results by `{"$result": …}`, and its `sources` are the servers that they came from. A
rule yields to one that is at least as specific in the toolbox and in the server, and more in one of them.
Among those that do not yield, the strictest decides. Data that a model copies by itself is not seen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.globs import matches
from mcp_workbench.config.model.policy import ACTIONS
from mcp_workbench.workbench.door import CallDecision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.policy import Action
    from mcp_workbench.workbench.server_call import ServerCall

    Rank = tuple[bool, int]
    """How specific one part of a pattern is: whether it is a whole name, and its literal characters."""


class _Flow(msgspec.Struct, frozen=True):
    """A rule that matches a source, and how specific it is."""

    pattern: str
    action: Action
    toolbox: Rank
    server: Rank

    def yields_to(self, other: _Flow) -> bool:
        mine, theirs = (self.toolbox, self.server), (other.toolbox, other.server)
        return mine != theirs and theirs[0] >= mine[0] and theirs[1] >= mine[1]


def flow_rule(call: ServerCall) -> CallDecision | None:
    """Return what the receiving server's `flows` say about the results that a call hands to it.

    None if they say nothing. A server's own results are always handed back to it.
    """
    rules = call.toolbox_server.flows
    if not rules or not call.sources:
        return None
    receiver = call.origin
    decisions = [
        CallDecision(flow.action, _words(flow, source, receiver))
        for source in call.sources
        if source != receiver and (flow := _deciding(source, rules)) is not None
    ]
    return max(decisions, key=lambda decision: ACTIONS.index(decision.action), default=None)


def _deciding(source: Origin, rules: Mapping[str, Action]) -> _Flow | None:
    """Return the rule that decides about results of one server; None if no rule matches."""
    found = list(_matching(source, rules))
    left = [flow for flow in found if not any(map(flow.yields_to, found))]
    return max(left, key=lambda flow: ACTIONS.index(flow.action), default=None)


def _matching(source: Origin, rules: Mapping[str, Action]) -> Iterator[_Flow]:
    for pattern, action in rules.items():
        toolbox, _, server = pattern.partition("/")
        if matches(toolbox, source[0]) and matches(server, source[1]):
            yield _Flow(pattern, action, _rank(toolbox, source[0]), _rank(server, source[1]))


def _rank(part: str, name: str) -> Rank:
    return part == name, len(part.replace("*", "").replace("?", ""))


def _words(flow: _Flow, source: Origin, receiver: Origin) -> str:
    rule = f'"{flow.pattern}": "{flow.action}" in "flows" of server {"/".join(receiver)}'
    return f"{rule}, for a result of {'/'.join(source)}"
