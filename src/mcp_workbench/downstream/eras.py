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

from mcp_workbench.downstream.session import MODERN_STAMP
from mcp_workbench.errors import BadAnswer, RemoteError
from mcp_workbench.protocol import (
    IMPLEMENTATION,
    LEGACY_VERSIONS,
    MISSING_CAPABILITY,
    MODERN,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.downstream.era_memory import Era
    from mcp_workbench.downstream.session import Session
    from mcp_workbench.wire.peer import Peer
    from mcp_workbench.wire.request import Question

PATIENCE: Final = 0.75
"""Seconds that a silent server is given to recognise the probe."""

OLDER_VERSIONS: Final = ("2024-10-07",)
"""Legacy versions that we do not offer to clients, but understand from servers."""

_PROBE: Final = b'{"_meta":{%b}}' % MODERN_STAMP
_INITIALIZE: Final = b'{"protocolVersion":"%b","capabilities":{},"clientInfo":%b}' % (
    LEGACY_VERSIONS[0].encode(),
    IMPLEMENTATION,
)


class _ToolsCapability(msgspec.Struct):
    list_changed: bool = msgspec.field(default=False, name="listChanged")


class _Capabilities(msgspec.Struct):
    tools: _ToolsCapability


class _Discovered(msgspec.Struct):
    supported: list[str] = msgspec.field(name="supportedVersions")
    capabilities: msgspec.Raw = ABSENT


class _Initialized(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion")


class _VersionData(msgspec.Struct):
    supported: list[str]


async def open_conversation(
    session: Session, *, forced: Era | None, remembered: Era | None, limit: float
) -> Era:
    """Agrees with the server on an era: the configured one, or the one that it turns out to speak."""
    agreed = await _agree(session.peer, forced, remembered, limit)
    if agreed.era == "legacy":
        session.peer.notify("notifications/initialized")
    else:
        session.speak_modern(announces_changes=agreed.announces_changes)
    return agreed.era


class _Agreed(msgspec.Struct, frozen=True):
    era: Era
    announces_changes: bool = False
    """Whether a modern server offers to say when its tools have changed. Legacy ones say so unasked."""


async def _agree(peer: Peer, forced: Era | None, remembered: Era | None, limit: float) -> _Agreed:
    if forced == MODERN:
        return await _discover(peer, limit)
    if forced == "legacy":
        return await _initialize(peer, limit)
    if remembered == "legacy":
        try:
            return await _initialize(peer, limit)
        except (RemoteError, BadAnswer):
            pass  # it is not what it was: find out anew
    return await _probe(peer, limit)


async def _initialize(peer: Peer, limit: float) -> _Agreed:
    with _asking(peer, "initialize", _INITIALIZE, limit) as request:
        return _read_initialized(await request.answer)


async def _discover(peer: Peer, limit: float) -> _Agreed:
    with _asking(peer, "server/discover", _PROBE, limit) as request:
        await asyncio.wait([request.answer])
        agreed = _read_discovered(request)
        if agreed.era != MODERN:
            raise BadAnswer(f'it does not speak MCP {MODERN}, which "protocol" asks for')
        return agreed


async def _probe(peer: Peer, limit: float) -> _Agreed:
    with _asking(peer, "server/discover", _PROBE, limit) as discover:
        await asyncio.wait([discover.answer], timeout=PATIENCE)
        if discover.answer.done() and (agreed := _read_discovered(discover)).era == MODERN:
            return agreed
        with _asking(peer, "initialize", _INITIALIZE, limit) as initialize:
            await asyncio.wait([discover.answer, initialize.answer], return_when=asyncio.FIRST_COMPLETED)
            # The probe first, for a server that was slow to start may have answered both by now.
            if discover.answer.done() and (agreed := _read_discovered(discover)).era == MODERN:
                return agreed
            await asyncio.wait([initialize.answer])
            return await _weigh(initialize, discover)


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
        version = msgspec.json.decode(answer, type=_Initialized).version
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadAnswer(f"its answer to initialize could not be read: {error}") from None
    if version not in LEGACY_VERSIONS and version not in OLDER_VERSIONS:
        raise BadAnswer(f'it answered initialize with the unknown protocol version "{version}"')
    return _Agreed("legacy")


def _read_discovered(discover: Question) -> _Agreed:
    """What an answered probe says. Raises what ended the connection, or that no version is shared."""
    announces_changes = False
    try:
        found = msgspec.json.decode(discover.answer.result(), type=_Discovered)
        supported = found.supported
        announces_changes = _announces_changes(found.capabilities)
    except RemoteError as error:
        if error.code == MISSING_CAPABILITY:
            return _Agreed(MODERN)
        if error.code != UNSUPPORTED_VERSION:
            return _Agreed("legacy")
        supported = _supported_versions(error)
    except (BadAnswer, msgspec.DecodeError, RecursionError):
        return _Agreed("legacy")
    if MODERN in supported:
        return _Agreed(MODERN, announces_changes)
    if supported and not any(version in LEGACY_VERSIONS for version in supported):
        ours = ", ".join((MODERN, *LEGACY_VERSIONS))
        raise BadAnswer(f"it speaks only MCP {', '.join(supported)}; the workbench speaks {ours}")
    return _Agreed("legacy")


def _announces_changes(capabilities: msgspec.Raw) -> bool:
    try:
        return msgspec.json.decode(capabilities, type=_Capabilities).tools.list_changed
    except (msgspec.DecodeError, RecursionError):
        return False


def _supported_versions(error: RemoteError) -> list[str]:
    try:
        return msgspec.json.decode(error.data or b"", type=_VersionData).supported
    except (msgspec.DecodeError, RecursionError):
        return []
