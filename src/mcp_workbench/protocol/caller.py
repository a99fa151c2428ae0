"""Whoever a request is made for: its era, what it can be asked for, and what it wants to hear.

Owns how a client's capabilities are read, and how they are declared again to servers of either era.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.names import (
    ELICITATION,
    IMPLEMENTATION,
    INVALID_PARAMS,
    LOG_LEVELS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    METHOD_NOT_FOUND,
    MODERN,
    ROOTS,
    SAMPLING,
)
from mcp_workbench.wire.message import ABSENT, decode_members, encode, members_of, starts_with

if TYPE_CHECKING:
    from collections.abc import Iterable

    Members = dict[str, msgspec.Raw]

TASKS: Final = "io.modelcontextprotocol/tasks"
"""An extension in which results are fetched by requests that we could not route."""

FIRST_STAMP: Final = b'"%b":"%b","%b":%b,"%b":' % (
    *(META_VERSION.encode(), MODERN.encode()),
    *(META_CLIENT.encode(), IMPLEMENTATION),
    META_CAPABILITIES.encode(),
)


class MissingCapability(msgspec.Struct, frozen=True):
    """Why a client cannot be asked for something."""

    code: int
    message: str


class Caller(msgspec.Struct, frozen=True, eq=False):
    """A client as it has described itself, in its handshake or in a request."""

    is_modern: bool
    declared: dict[str, Members]
    """Which of elicitation, sampling and roots it has, with what each says of itself."""
    stamp: bytes
    """What a modern request that is made for it carries in its `_meta`."""
    log_level: int | None = None
    """The least of the levels of log messages that it wants, if it has said."""

    def lack(self, method: str, params: msgspec.Raw) -> MissingCapability | None:
        """What is missing for it to be asked this."""
        wanted = _read_wants(params)
        capability, mode = {
            ELICITATION: ("elicitation", wanted.mode),
            SAMPLING: ("sampling", "tools" if wanted.tools or wanted.tool_choice else ""),
            ROOTS: ("roots", ""),
        }.get(method, ("", ""))
        if not capability:
            return MissingCapability(METHOD_NOT_FOUND, f"Method not found: {method}")
        has = self.declared.get(capability)
        undeclared = f"{method}: the client has not declared the capability {capability}"
        if has is None:
            return MissingCapability(METHOD_NOT_FOUND, undeclared)
        # A bare `elicitation` is one of forms, as it was before there were others.
        if mode and mode not in has and not (mode == "form" and "url" not in has):
            return MissingCapability(INVALID_PARAMS, f"{undeclared}.{mode}")
        return None


class _Wants(msgspec.Struct):
    mode: str = "form"
    tools: msgspec.Raw = ABSENT
    tool_choice: msgspec.Raw = msgspec.field(default=ABSENT, name="toolChoice")


_decode_wants = msgspec.json.Decoder(_Wants).decode


def legacy_caller(declared: dict[str, Members], log_level: int | None = None) -> Caller:
    """A client that has declared these in its handshake."""
    # The modern era knows no change of roots.
    modern = declared | ({"roots": {}} if "roots" in declared else {})
    # A legacy client gets all log messages until it chooses, and a modern server sends none that are not
    # asked for.
    return Caller(False, declared, _stamp(encode(modern), log_level or 0), log_level)


def modern_caller(capabilities: msgspec.Raw, log_level: int | None) -> Caller:
    """A client that declared these in a request, as an object."""
    members = decode_members(capabilities)
    extensions = members_of(members.get("extensions", ABSENT))
    raw = bytes(capabilities)
    if TASKS in extensions:
        del extensions[TASKS]
        raw = encode(members | {"extensions": extensions})
    return Caller(True, askable(members), _stamp(raw, log_level), log_level)


def declared_by(callers: Iterable[Caller]) -> bytes:
    """The capabilities of all of them together, as a legacy server is told them in its handshake."""
    union: dict[str, Members] = {}
    for caller in callers:
        for capability, has in caller.declared.items():
            among = union.setdefault(capability, has)
            if among != has:
                union[capability] = _named(capability, among) | _named(capability, has)
    return encode(union)


def _named(capability: str, has: Members) -> Members:
    """A bare `elicitation` is one of forms, which has to be said once others are named beside it."""
    return has or ({"form": msgspec.Raw(b"{}")} if capability == "elicitation" else {})


def askable(capabilities: Members) -> dict[str, Members]:
    """Those in which a server asks a client for something, with what each says of itself."""
    names = ("elicitation", "sampling", "roots")
    has = {name: capabilities.get(name, ABSENT) for name in names}
    return {name: members_of(raw) for name, raw in has.items() if starts_with(raw, b"{")}


def _stamp(capabilities: bytes, log_level: int | None) -> bytes:
    stamp = b",%b%b" % (FIRST_STAMP, capabilities)
    if log_level is not None:
        stamp += b',"%b":"%b"' % (META_LOG_LEVEL.encode(), LOG_LEVELS[log_level].encode())
    return stamp


def _read_wants(params: msgspec.Raw) -> _Wants:
    try:
        return _decode_wants(params or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return _Wants()


NOBODY: Final = Caller(False, {}, _stamp(b"{}", None))
"""Who the workbench's own requests are made for."""

OWN_META: Final = b'"_meta":{%b}' % NOBODY.stamp.removeprefix(b",")
"""The metadata of such a request to a modern server."""
