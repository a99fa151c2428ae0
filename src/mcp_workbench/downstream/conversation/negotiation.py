"""Opens a conversation with a server in a protocol version that it speaks.

The rules are those of the specification for stdio: probe with `server/discover`, take a modern response or
a modern error for modern, and everything else, silence included, for legacy. A server that is slow to
start is silent too, so after a short wait `initialize` is sent as well. From then on what the server
*accepts* decides: a result of `initialize` makes the session legacy, whatever the response to the probe
is.

Many servers speak both versions, and on a modern connection they cannot send requests. So a server is
spoken to in its client's version if possible: for a legacy client `initialize` is sent first, and a server
that is known to be modern only never gets it.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.downstream.conversation.offer import Offer, read_offer
from mcp_workbench.errors import BadAnswer, BrokenOff, RemoteError
from mcp_workbench.protocol.caller import OWN_META
from mcp_workbench.protocol.names import (
    IMPLEMENTATION,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    META_SERVER,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    MODERN,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.storage.protocol_versions import Versions
from mcp_workbench.wire.message import ABSENT, members_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.storage.protocol_versions import SpokenProtocol
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.wire.request import AwaitedRequest

PATIENCE_SECONDS: Final = 0.75
"""Seconds that a silent server has to respond to the probe."""
REMOTE_PATIENCE_SECONDS: Final = 5.0
"""Seconds that a remote server has to respond to the probe."""
UNANSWERED_SECONDS: Final = 5.0
"""Seconds that a server that has responded to the probe has to respond to `initialize` as well."""
REFUSALS: Final = (UNSUPPORTED_VERSION, METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST)
"""Error codes of a server that does not know `initialize`."""

Approach = Literal["only legacy", "only modern", "legacy first", "modern first", "probe"]
"""How a conversation is opened. `only`: as configured. `modern first`: the server is known to be modern,
and gets `initialize` only if it denies that. `probe`: nothing is known."""

FIRST_TO_DECLARE_COMPLETIONS: Final = "2025-03-26"
"""First version with a capability for completions. Older servers may have completions without it."""

OLDER_VERSIONS: Final = ("2024-10-07",)
"""Legacy versions that are accepted from servers, but not offered to clients."""

_PROBE: Final = b"{%b}" % OWN_META


class _Discovered(msgspec.Struct):
    supported: list[str] = msgspec.field(name="supportedVersions")
    capabilities: msgspec.Raw = ABSENT
    meta: msgspec.Raw = msgspec.field(name="_meta", default=ABSENT)
    instructions: msgspec.Raw = ABSENT


class _Initialized(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion")
    capabilities: msgspec.Raw = ABSENT
    server_info: msgspec.Raw = msgspec.field(name="serverInfo", default=ABSENT)
    instructions: msgspec.Raw = ABSENT


class _VersionData(msgspec.Struct):
    supported: list[str]


async def open_conversation(
    session: Session, approach: Approach, *, limit: float, patience: float = PATIENCE_SECONDS
) -> Agreed:
    """Agree on a protocol version with the server. Return it, and what was learned. Raises WireError."""
    agreed = await _Agreement(session, limit, patience).reach(approach)
    if agreed.protocol == "legacy":
        session.speak_legacy(agreed.offer)
    else:
        session.speak_modern(agreed.offer)
    return agreed


class Agreed(msgspec.Struct, frozen=True):
    """The protocol of a conversation, and what was learned by opening it."""

    protocol: SpokenProtocol
    offer: Offer = Offer()
    learned: Versions = Versions()
    """The versions that the server is now known to speak, or not to speak."""


class _Agreement:
    """The exchange of messages that leads to an agreed version."""

    def __init__(self, session: Session, limit: float, patience: float) -> None:
        self._peer = session.peer
        self._limit = limit
        self._patience = patience
        self._initialize_params = b'{"protocolVersion":"%b","capabilities":%b,"clientInfo":%b}' % (
            LEGACY_VERSIONS[0].encode(),
            session.declare(),
            IMPLEMENTATION,
        )

    async def reach(self, approach: Approach) -> Agreed:
        match approach:
            case "only legacy":
                return await self._initialize()
            case "only modern":
                return await self._discover()
            case "legacy first":
                return await self._initialize_first()
            case "modern first":
                return await self._probe(self._limit)
            case "probe":
                return await self._probe(self._patience)

    async def _initialize(self) -> Agreed:
        with self._initializing() as request:
            return _read_initialized(await request.answer)

    async def _discover(self) -> Agreed:
        with self._discovering() as request:
            await asyncio.wait([request.answer])
            agreed = _read_discovered(request)
            if agreed.protocol != MODERN:
                raise BadAnswer(f'it does not speak MCP {MODERN}, which "protocol" asks for')
            return agreed

    async def _initialize_first(self) -> Agreed:
        """Send the probe only if the server has refused `initialize`."""
        try:
            return await self._initialize()
        except (RemoteError, BadAnswer) as error:
            refusal = error
        with self._discovering() as discover:
            await asyncio.wait([discover.answer], timeout=self._patience)
            if discover.answer.done() and (agreed := _read_discovered(discover)).protocol == MODERN:
                # Any other refusal may be temporary.
                if isinstance(refusal, RemoteError) and refusal.code in REFUSALS:
                    return msgspec.structs.replace(agreed, learned=Versions(legacy=False, modern=True))
                return agreed
        raise refusal

    async def _probe(self, patience: float) -> Agreed:
        """Send `initialize` only if there is no modern response to the probe within `patience` seconds."""
        with self._discovering() as discover:
            await asyncio.wait([discover.answer], timeout=patience)
            if discover.answer.done() and (agreed := _read_discovered(discover)).protocol == MODERN:
                return agreed
            with self._initializing() as initialize:
                return await self._settle(initialize, discover)

    async def _settle(self, initialize: AwaitedRequest, discover: AwaitedRequest) -> Agreed:
        """Decide by what the server accepts: if it accepts `initialize` the session is legacy, even if it
        has responded to the probe as well.
        """
        await asyncio.wait([discover.answer, initialize.answer], return_when=asyncio.FIRST_COMPLETED)
        if not initialize.answer.done() and _read_discovered(discover).protocol == MODERN:
            await asyncio.wait([initialize.answer], timeout=UNANSWERED_SECONDS)
            if not initialize.answer.done():
                return _read_discovered(discover)
        await asyncio.wait([initialize.answer])
        try:
            agreed = _read_initialized(initialize.answer.result())
        except (RemoteError, BadAnswer):
            await asyncio.wait([discover.answer], timeout=PATIENCE_SECONDS)
            if discover.answer.done() and (agreed := _read_discovered(discover)).protocol == MODERN:
                return agreed
            raise
        speaks_modern = discover.answer.done() and _read_discovered(discover).protocol == MODERN
        return msgspec.structs.replace(agreed, learned=Versions(legacy=True, modern=speaks_modern))

    def _initializing(self) -> AbstractContextManager[AwaitedRequest]:
        return _asking(self._peer, "initialize", self._initialize_params, self._limit)

    def _discovering(self) -> AbstractContextManager[AwaitedRequest]:
        return _asking(self._peer, "server/discover", _PROBE, self._limit)


@contextmanager
def _asking(peer: Peer, method: str, params: bytes, limit: float) -> Iterator[AwaitedRequest]:
    request = peer.ask(method, params, limit=limit)
    try:
        yield request
    finally:
        peer.forget(request)


def _read_initialized(answer: msgspec.Raw) -> Agreed:
    try:
        found = msgspec.json.decode(answer, type=_Initialized)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its answer to initialize could not be read: {error}") from None
    if found.version not in LEGACY_VERSIONS and found.version not in OLDER_VERSIONS:
        raise BadAnswer(f'it answered initialize with the unknown protocol version "{found.version}"')
    offer = read_offer(found.capabilities, found.server_info, found.instructions)
    if found.version < FIRST_TO_DECLARE_COMPLETIONS:
        offer = msgspec.structs.replace(offer, completions=True)
    return Agreed("legacy", offer, Versions(legacy=True))


def _read_discovered(discover: AwaitedRequest) -> Agreed:
    """Return what the response to a probe says. Raises WireError."""
    offer = Offer()
    try:
        found = msgspec.json.decode(discover.answer.result(), type=_Discovered)
        supported = found.supported
        server_info = members_of(found.meta).get(META_SERVER, ABSENT)
        offer = read_offer(found.capabilities, server_info, found.instructions)
    except RemoteError as error:
        if error.code == MISSING_CAPABILITY:
            return Agreed(MODERN, learned=Versions(modern=True))
        if error.code != UNSUPPORTED_VERSION:
            return Agreed("legacy")
        supported = _supported_versions(error)
    except (BadAnswer, BrokenOff, msgspec.DecodeError, RecursionError):
        return Agreed("legacy")
    if MODERN in supported:
        return Agreed(MODERN, offer, Versions(modern=True))
    if supported and not any(version in LEGACY_VERSIONS for version in supported):
        spoken = ", ".join((MODERN, *LEGACY_VERSIONS))
        raise BadAnswer(f"it speaks only MCP {', '.join(supported)}; the workbench speaks {spoken}")
    return Agreed("legacy")


def _supported_versions(error: RemoteError) -> list[str]:
    try:
        return msgspec.json.decode(error.data or b"", type=_VersionData).supported
    except (msgspec.DecodeError, RecursionError):
        return []
