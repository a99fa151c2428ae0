"""What a server may ask of clients, by the configuration: elicitation, sampling, roots.

A server is not told of a capability that it may not use, and what it asks in spite of that is refused before
it reaches a client. How the user is asked before sampling is decided in `surface.questions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import InputMissing, RemoteError
from mcp_workbench.protocol.caller import without
from mcp_workbench.protocol.names import (
    ELICITATION,
    MISSING_CAPABILITY,
    ROOTS,
    SAMPLING,
    URL_ELICITATION_REQUIRED,
)
from mcp_workbench.wire.message import ABSENT, members_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import WireError
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.protocol.questions import Question

CAPABILITY_OF: Final = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}
"""The capability of clients that a question needs. The keys of a server have the same names."""


class ServerRights(msgspec.Struct, frozen=True):
    """The rights of a server that may not use all capabilities of clients freely."""

    denied: frozenset[str]
    """The capabilities that the server may not use."""
    asks_before_sampling: bool = False
    """Whether the client's user is asked before the server gets a completion of the client's model."""

    def limit(self, caller: Caller) -> Caller:
        """Return a client as the server is told of it: without the capabilities that it may not use."""
        cannot_ask = self.asks_before_sampling and caller.lack(ELICITATION, ABSENT) is not None
        return without(caller, self.denied | {"sampling"} if cannot_ask else self.denied)

    def refusal(self, questions: Iterable[Question]) -> str | None:
        """Return why the server may not ask these questions; None if it may ask all of them."""
        methods = (question.method for question in questions)
        return next(
            (_refusal(method) for method in methods if CAPABILITY_OF.get(method) in self.denied), None
        )

    def needs_consent(self, questions: Iterable[Question]) -> bool:
        """Whether the client's user has to be asked before these questions reach the client."""
        return self.asks_before_sampling and any(question.method == SAMPLING for question in questions)

    def explain(self, error: WireError) -> WireError:
        """Return the error of a call, with its cause if the server needs a capability that is denied."""
        if not isinstance(error, RemoteError):
            return error
        required: Collection[str] = ()
        if error.code == MISSING_CAPABILITY:
            data = members_of(msgspec.Raw(error.data or b"{}"))
            required = members_of(data.get("requiredCapabilities", ABSENT))
        elif error.code == URL_ELICITATION_REQUIRED:
            required = ("elicitation",)
        needed = (
            method for method, name in CAPABILITY_OF.items() if name in self.denied and name in required
        )
        denied = next(needed, None)
        return error if denied is None else InputMissing(_refusal(denied))


def _refusal(method: str) -> str:
    key = CAPABILITY_OF[method]
    return (
        f"{method} is not available, because the configuration of the workbench denies it to this server "
        f'("{key}": "deny"). To allow it, write "{key}": "allow" in the entry of the server'
    )


def rights_of(config: ServerConfig) -> ServerRights:
    """Return the rights of a server by its configuration."""
    keys = {"elicitation": config.elicitation, "sampling": config.sampling, "roots": config.roots}
    denied = frozenset(key for key, action in keys.items() if action == "deny")
    return ServerRights(denied, config.sampling == "ask")
