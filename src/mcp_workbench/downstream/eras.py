"""Finding out which era a server speaks, and opening the conversation in it.

The rules are those of the specification for stdio: probe with `server/discover`, take a modern answer or
a modern error for modern, and everything else, silence included, for legacy. A server that is slow to
start is silent too, so after a short wait `initialize` is sent as well, and the first answer that means
something decides.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.caller import OWN_META
from mcp_workbench.downstream.offer import Offer, members_of, read_offer
from mcp_workbench.errors import BadAnswer, BrokenOff, RemoteError
from mcp_workbench.protocol import (
    IMPLEMENTATION,
    LEGACY_VERSIONS,
    META_SERVER,
    MISSING_CAPABILITY,
    MODERN,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from mcp_workbench.downstream.era_memory import Era
    from mcp_workbench.downstream.session import Session
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.wire.request import Question

PATIENCE: Final = 0.75
"""Seconds that a silent server is given to recognise the probe."""
REMOTE_PATIENCE: Final = 5.0
"""The same for one that is reached over HTTP, where whoever does not know the probe says so."""

FIRST_TO_DECLARE_COMPLETIONS: Final = "2025-03-26"
"""Servers of earlier versions may have completions, and no way to say so."""

OLDER_VERSIONS: Final = ("2024-10-07",)
"""Legacy versions that we do not offer to clients, but understand from servers."""

_PROBE: Final = b"{%b}" % OWN_META


class _Discovered(msgspec.Struct):
    supported: list[str] = msgspec.field(name="supportedVersions")
    capabilities: msgspec.Raw = ABSENT
    meta: msgspec.Raw = msgspec.field(name="_meta", default=ABSENT)


class _Initialized(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion")
    capabilities: msgspec.Raw = ABSENT
    server_info: msgspec.Raw = msgspec.field(name="serverInfo", default=ABSENT)


class _VersionData(msgspec.Struct):
    supported: list[str]


async def open_conversation(
    session: Session,
    *,
    forced: Era | None,
    remembered: Era | None,
    limit: float,
    patience: float = PATIENCE,
) -> Era:
    """Agrees with the server on an era: the configured one, or the one that it turns out to speak."""
    agreed = await _Agreement(session, limit, patience).reach(forced, remembered)
    if agreed.era == "legacy":
        session.speak_legacy(agreed.offer)
    else:
        session.speak_modern(agreed.offer)
    return agreed.era


class _Agreed(msgspec.Struct, frozen=True):
    era: Era
    offer: Offer = Offer()


class _Agreement:
    """The messages that it takes to agree."""

    def __init__(self, session: Session, limit: float, patience: float) -> None:
        self._peer = session.peer
        self._limit = limit
        self._patience = patience
        self._initialize_params = b'{"protocolVersion":"%b","capabilities":%b,"clientInfo":%b}' % (
            LEGACY_VERSIONS[0].encode(),
            session.declare(),
            IMPLEMENTATION,
        )

    async def reach(self, forced: Era | None, remembered: Era | None) -> _Agreed:
        if forced == MODERN:
            return await self._discover()
        if forced == "legacy":
            return await self._initialize()
        if remembered == "legacy":
            try:
                return await self._initialize()
            except (RemoteError, BadAnswer):
                pass  # it is not what it was: find out anew
        return await self._probe()

    async def _initialize(self) -> _Agreed:
        with self._initializing() as request:
            return _read_initialized(await request.answer)

    async def _discover(self) -> _Agreed:
        with self._discovering() as request:
            await asyncio.wait([request.answer])
            agreed = _read_discovered(request)
            if agreed.era != MODERN:
                raise BadAnswer(f'it does not speak MCP {MODERN}, which "protocol" asks for')
            return agreed

    async def _probe(self) -> _Agreed:
        with self._discovering() as discover:
            await asyncio.wait([discover.answer], timeout=self._patience)
            if discover.answer.done() and (agreed := _read_discovered(discover)).era == MODERN:
                return agreed
            with self._initializing() as initialize:
                await asyncio.wait([discover.answer, initialize.answer], return_when=asyncio.FIRST_COMPLETED)
                # The probe first, for a server that was slow to start may have answered both by now.
                if discover.answer.done() and (agreed := _read_discovered(discover)).era == MODERN:
                    return agreed
                await asyncio.wait([initialize.answer])
                return await _weigh(initialize, discover)

    def _initializing(self) -> AbstractContextManager[Question]:
        return _asking(self._peer, "initialize", self._initialize_params, self._limit)

    def _discovering(self) -> AbstractContextManager[Question]:
        return _asking(self._peer, "server/discover", _PROBE, self._limit)


async def _weigh(initialize: Question, discover: Question) -> _Agreed:
    """Decides once `initialize` is answered; a refusal may also be that of a slow modern server."""
    try:
        return _read_initialized(initialize.answer.result())
    except (RemoteError, BadAnswer):
        await asyncio.wait([discover.answer], timeout=PATIENCE)
        if discover.answer.done() and (agreed := _read_discovered(discover)).era == MODERN:
            return agreed
        raise


@contextmanager
def _asking(peer: Peer, method: str, params: bytes, limit: float) -> Iterator[Question]:
    request = peer.ask(method, params, limit=limit)
    try:
        yield request
    finally:
        peer.forget(request)


def _read_initialized(answer: msgspec.Raw) -> _Agreed:
    try:
        found = msgspec.json.decode(answer, type=_Initialized)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its answer to initialize could not be read: {error}") from None
    if found.version not in LEGACY_VERSIONS and found.version not in OLDER_VERSIONS:
        raise BadAnswer(f'it answered initialize with the unknown protocol version "{found.version}"')
    offer = read_offer(found.capabilities, found.server_info)
    if found.version < FIRST_TO_DECLARE_COMPLETIONS:
        offer = msgspec.structs.replace(offer, completions=True)
    return _Agreed("legacy", offer)


def _read_discovered(discover: Question) -> _Agreed:
    """What an answered probe says. Raises what ended the connection, or that no version is shared."""
    offer = Offer()
    try:
        found = msgspec.json.decode(discover.answer.result(), type=_Discovered)
        supported = found.supported
        offer = read_offer(found.capabilities, members_of(found.meta).get(META_SERVER, ABSENT))
    except RemoteError as error:
        if error.code == MISSING_CAPABILITY:
            return _Agreed(MODERN)
        if error.code != UNSUPPORTED_VERSION:
            return _Agreed("legacy")
        supported = _supported_versions(error)
    except (BadAnswer, BrokenOff, msgspec.DecodeError, RecursionError):
        return _Agreed("legacy")
    if MODERN in supported:
        return _Agreed(MODERN, offer)
    if supported and not any(version in LEGACY_VERSIONS for version in supported):
        ours = ", ".join((MODERN, *LEGACY_VERSIONS))
        raise BadAnswer(f"it speaks only MCP {', '.join(supported)}; the workbench speaks {ours}")
    return _Agreed("legacy")


def _supported_versions(error: RemoteError) -> list[str]:
    try:
        return msgspec.json.decode(error.data or b"", type=_VersionData).supported
    except (msgspec.DecodeError, RecursionError):
        return []
