"""What a client declares about itself: once in a handshake, or anew in every modern request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.protocol.caller import NOBODY, askable, declared_by, legacy_caller, modern_caller
from mcp_workbench.protocol.names import (
    INVALID_PARAMS,
    LOG_LEVELS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
)
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import ABSENT, decode_text, encode, members_of
from mcp_workbench.workbench.text.sanitise import clean_text
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.requests import Meta

MAX_NAME_CHARACTERS = 1000
"""Length of a client's name that is kept. The log masks secrets in it, and then cuts it shorter."""
MAX_DECLARATIONS = 100
"""Different declarations of one client that are kept."""

# The version of nearly all requests, recognised without decoding.
_NEWEST = msgspec.Raw(encode(MODERN_VERSIONS[0]))


class Callers:
    """The capabilities and log level of one client, as each of its requests declares them."""

    def __init__(self) -> None:
        self.legacy: Caller | None = None
        """What the client declared in its handshake, if there was one: its requests need no metadata then."""
        self.legacy_name = ""
        """The name that the client gave itself in its handshake."""
        self.modern_name = ""
        """The name in the `clientInfo` that was read last."""
        self.client_info = ABSENT
        """The `clientInfo` of a modern request that was read last."""
        self._capabilities = ABSENT
        self._level = ABSENT
        self._modern = NOBODY
        self._declared: list[Caller] = []
        """The declarations of modern requests so far, each with a new capability, without log levels."""

    def __iter__(self) -> Iterator[Caller]:
        """Iterate over all that the client has declared."""
        if self.legacy is not None:
            yield self.legacy
        yield from self._declared
        if self._modern is not NOBODY:
            yield self._modern

    def greet(self, capabilities: msgspec.Raw, client_info: msgspec.Raw) -> None:
        """Take what a legacy client declares in its handshake, and who it says that it is."""
        self.legacy_name = _name_in(client_info)
        self.legacy = legacy_caller(askable(members_of(capabilities.copy())))

    def read_name(self, client_info: msgspec.Raw) -> str:
        """Return the name in the `clientInfo` of a modern request, and keep it for the next."""
        # Copied: it would keep the whole line in memory.
        self.client_info, self.modern_name = client_info.copy(), _name_in(client_info)
        return self.modern_name

    def name_of(self, meta: Meta) -> str:
        """Return the name of the client that sends a request with this metadata."""
        info = meta.get(META_CLIENT)
        return self.legacy_name if info is None else self.read_name(info)

    def set_log_level(self, level: int) -> None:
        """Set the least level of log messages that a legacy client wants."""
        if self.legacy is not None:
            self.legacy = legacy_caller(self.legacy.declared, level)

    def of(self, meta: Meta) -> Caller | None:
        """Return the caller of a request with this metadata; None if it is neither legacy nor modern.

        Raises Refusal if the metadata is invalid.
        """
        version = meta.get(META_VERSION)
        if version is None:
            return self.legacy
        if version != _NEWEST:
            _require_known(version)
        capabilities = meta.get(META_CAPABILITIES, ABSENT)
        level = meta.get(META_LOG_LEVEL, ABSENT)
        # Nearly all requests of a client declare the same.
        if capabilities != self._capabilities or level != self._level or not capabilities:
            # Copies: what we keep must not keep the whole message alive.
            capabilities, level = capabilities.copy(), level.copy()
            self._modern = _read(capabilities, level)
            self._capabilities, self._level = capabilities, level
            self._remember(self._modern)
        return self._modern

    def _remember(self, caller: Caller) -> None:
        """Remember a declaration: servers are started for all requests, not only for the latest."""
        if not caller.declared or len(self._declared) >= MAX_DECLARATIONS:
            return
        if not self._declared or declared_by([*self._declared, caller]) != declared_by(self._declared):
            self._declared.append(msgspec.structs.replace(caller, log_level=None))


class _ClientInfo(msgspec.Struct):
    name: str = ""


_decode_client_info = msgspec.json.Decoder(_ClientInfo).decode


def _name_in(client_info: msgspec.Raw) -> str:
    """The name in a `clientInfo`, fit for a log line; empty if there is none."""
    try:
        name = _decode_client_info(client_info or b"{}").name
    except (msgspec.DecodeError, RecursionError):
        return ""
    return shorten(clean_text(name), MAX_NAME_CHARACTERS)


def _read(capabilities: msgspec.Raw, level: msgspec.Raw) -> Caller:
    try:
        return modern_caller(capabilities, read_level(level, f"_meta['{META_LOG_LEVEL}']") if level else None)
    except (msgspec.DecodeError, RecursionError):
        missing = f"Invalid params: _meta['{META_CAPABILITIES}'] is required, an object"
        raise Refusal(INVALID_PARAMS, missing) from None


def read_level(raw: msgspec.Raw, place: str) -> int:
    """Read a log level as a number, counted from the lowest. Raises Refusal."""
    level = decode_text(raw)
    if level not in LOG_LEVELS:
        raise Refusal(INVALID_PARAMS, f"Invalid params: {place} must be one of {', '.join(LOG_LEVELS)}")
    return LOG_LEVELS.index(level)


def _require_known(version: msgspec.Raw) -> None:
    requested = decode_text(version)
    if requested is None:
        raise Refusal(INVALID_PARAMS, f"Invalid params: _meta['{META_VERSION}'] must be a string")
    if requested not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": requested}
        raise Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
