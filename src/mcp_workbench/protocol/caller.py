"""The client that a request is made for: its protocol version, its capabilities, and its log level.

Owns how a client's capabilities are read, and how they are declared again to legacy and to modern servers.
"""

from __future__ import annotations

from functools import lru_cache
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
"""An extension that is not passed on: its results are fetched by requests that cannot be routed to a server.
"""
PROGRAM_EXTENSION: Final = "io.github.mcp-workbench/program"
"""An extension that clients declare if no model reads the answers: see `Caller.is_program`. Its member
`attended` is false if nobody is there to ask: see `Caller.is_attended`."""
_FALSE: Final = msgspec.Raw(b"false")
_NOT_PASSED_ON: Final = (TASKS, PROGRAM_EXTENSION)
MAX_STAMPS: Final = 100
"""Stamps without denied capabilities that are remembered. Nearly all requests of a client have the same."""

FIRST_STAMP: Final = b'"%b":"%b","%b":%b,"%b":' % (
    *(META_VERSION.encode(), MODERN.encode()),
    *(META_CLIENT.encode(), IMPLEMENTATION),
    META_CAPABILITIES.encode(),
)


class MissingCapability(msgspec.Struct, frozen=True):
    """The JSON-RPC error for a question that the client cannot be asked."""

    code: int
    message: str


class Caller(msgspec.Struct, frozen=True, eq=False):
    """A client as it has described itself, in its handshake or in a request."""

    is_modern: bool
    declared: dict[str, Members]
    """The client's elicitation, sampling and roots capabilities, each with its members."""
    stamp: bytes
    """The `_meta` members that a modern request carries when it is made for this client."""
    log_level: int | None = None
    """Index of the lowest log level that the client wants; None if it has not said."""
    is_program: bool = False
    """Whether a program reads the answers, and not a model.

    Results of tools stay as they are, however large, and calls that fail in the workbench are answered with a
    JSON-RPC error.
    """
    is_attended: bool = True
    """Whether a person answers what the client is asked. A program may say that nobody does."""

    def lack(self, method: str, params: msgspec.Raw) -> MissingCapability | None:
        """Return why the client cannot be asked this; None if it can."""
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
        # An empty `elicitation` means forms, which was the only mode at first.
        if mode and mode not in has and not (mode == "form" and "url" not in has):
            return MissingCapability(INVALID_PARAMS, f"{undeclared}.{mode}")
        return None


class _Wants(msgspec.Struct):
    mode: str = "form"
    tools: msgspec.Raw = ABSENT
    tool_choice: msgspec.Raw = msgspec.field(default=ABSENT, name="toolChoice")


_decode_wants = msgspec.json.Decoder(_Wants).decode


def legacy_caller(declared: dict[str, Members], log_level: int | None = None) -> Caller:
    """Return the caller for a client that declared these capabilities in its handshake."""
    # The modern protocol has no notification that roots have changed.
    modern = declared | ({"roots": {}} if "roots" in declared else {})
    # A legacy client gets all log messages until it sets a level, and a modern server sends none that are
    # not requested.
    return Caller(False, declared, _stamp(encode(modern), log_level or 0), log_level)


def modern_caller(capabilities: msgspec.Raw, log_level: int | None) -> Caller:
    """Return the caller for a client that declared these capabilities, a JSON object, in a request."""
    members = decode_members(capabilities)
    extensions = members_of(members.get("extensions", ABSENT))
    raw = bytes(capabilities)
    passed_on = {name: extension for name, extension in extensions.items() if name not in _NOT_PASSED_ON}
    if len(passed_on) < len(extensions):
        others = {name: value for name, value in members.items() if name != "extensions"}
        raw = encode(others | ({"extensions": passed_on} if passed_on else {}))
    is_program = PROGRAM_EXTENSION in extensions
    is_attended = members_of(extensions.get(PROGRAM_EXTENSION, ABSENT)).get("attended") != _FALSE
    return Caller(True, askable(members), _stamp(raw, log_level), log_level, is_program, is_attended)


def declared_by(callers: Iterable[Caller]) -> bytes:
    """Return the union of the clients' capabilities as JSON, for the handshake with a legacy server."""
    union: dict[str, Members] = {}
    for caller in callers:
        for capability, has in caller.declared.items():
            among = union.setdefault(capability, has)
            if among != has:
                union[capability] = _named(capability, among) | _named(capability, has)
    return encode(union)


def without(caller: Caller, names: frozenset[str]) -> Caller:
    """Return a caller without some of its capabilities, for a server that may not use them."""
    if not names:
        return caller
    declared = {name: has for name, has in caller.declared.items() if name not in names}
    return msgspec.structs.replace(caller, declared=declared, stamp=_stamp_without(caller.stamp, names))


@lru_cache(maxsize=MAX_STAMPS)
def _stamp_without(stamp: bytes, names: frozenset[str]) -> bytes:
    members = decode_members(b"{%b}" % stamp.removeprefix(b","))
    capabilities = decode_members(members[META_CAPABILITIES])
    left = {name: has for name, has in capabilities.items() if name not in names}
    members[META_CAPABILITIES] = msgspec.Raw(encode(left))
    return b",%b" % encode(members)[1:-1]


def _named(capability: str, has: Members) -> Members:
    """Return the modes of a capability. An empty `elicitation` means forms."""
    return has or ({"form": msgspec.Raw(b"{}")} if capability == "elicitation" else {})


def askable(capabilities: Members) -> dict[str, Members]:
    """Return the capabilities in which a server can ask a client something, each with its members."""
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
"""The caller of the workbench's own requests, and of clients that have not described themselves."""

OWN_META: Final = b'"_meta":{%b}' % NOBODY.stamp.removeprefix(b",")
"""The `_meta` member of the workbench's own requests to modern servers."""
