"""What users have allowed for the rest of a session: resources, and tools and prompts with any arguments.

A session is a client's connection over stdio, or its session over HTTP. Over HTTP, a modern client has none:
there it is the client's name, among the clients of one principal, for a limited time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import msgspec

from mcp_workbench.protocol.names import COMPLETION, TOOLS_CALL

if TYPE_CHECKING:
    from mcp_workbench.workbench.client_view import ClientView
    from mcp_workbench.workbench.server_call import ServerCall

    _Key = tuple[str, ...]

MAX_GRANTS: Final = 1000
"""Grants of one session. One more ends the oldest."""
SHARED_GRANT_SECONDS: Final = 1800.0
"""How long a grant lasts if several clients share what we know of a session."""

_TITLES: Final = {
    "resources/read": "Allow this resource for {}",
    "prompts/get": "Allow this prompt for {}, with any arguments",
    COMPLETION: "Allow its completions for {}",
}
"""What is offered for calls that are not calls of tools, with the place of how long it lasts."""


class _Grant(msgspec.Struct):
    expires: float | None
    """When the grant ends, by the monotonic clock; None if it lasts as long as the session."""
    definition: bytes | None
    """The digest of the tool's definition, which ends the grant when it changes; None if it is not known."""


class SessionGrants:
    """The grants of all sessions. Those of a session are dropped when its client has left."""

    def __init__(self) -> None:
        self._grants: WeakKeyDictionary[ClientView, dict[_Key, _Grant]] = WeakKeyDictionary()

    def add(self, call: ServerCall, rule: str) -> None:
        """Let calls of the same target pass that this rule asks about, for the session of a call."""
        expires = time.monotonic() + SHARED_GRANT_SECONDS if call.view.is_shared else None
        grants = self._grants.setdefault(call.view, {})
        key = _key(call, rule)
        grants.pop(key, None)
        grants[key] = _Grant(expires, _definition(call))
        if len(grants) > MAX_GRANTS:
            del grants[next(iter(grants))]

    def allow(self, call: ServerCall, rule: str) -> bool:
        """Whether a call that this rule asks about is allowed by an earlier answer of its user."""
        key = _key(call, rule)
        if not (grants := self._grants.get(call.view)) or (grant := grants.get(key)) is None:
            return False
        definition = _definition(call)
        if grant.definition is None:
            grant.definition = definition  # the server had never been listed when its user was asked
        has_changed = definition is not None and definition != grant.definition
        if has_changed or (grant.expires is not None and grant.expires <= time.monotonic()):
            del grants[key]
            return False
        return True


def session_title(call: ServerCall) -> str:
    """Return what the user is offered, beside allowing a call once."""
    lasting = f"{SHARED_GRANT_SECONDS / 60:.0f} minutes" if call.view.is_shared else "this session"
    if call.method == TOOLS_CALL:
        return f"Allow for {lasting}, with any arguments"
    return _TITLES.get(call.method, "Allow it for {}").format(lasting)


def _key(call: ServerCall, rule: str) -> _Key:
    # With the rule: who allows a tool has not allowed to hand it the results of other servers.
    return rule, call.method, *call.origin, call.name, call.client_name


def _definition(call: ServerCall) -> bytes | None:
    from hashlib import sha256  # noqa: PLC0415 - takes a while, and only approved calls need it

    definition = None if call.tool is None else call.toolbox_server.definition(call.tool)
    return None if definition is None else sha256(definition).digest()
