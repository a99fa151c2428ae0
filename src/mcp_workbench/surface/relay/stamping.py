"""Adds the members that the modern protocol requires in every result. Legacy results stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import (
    BadAnswer,
    InvalidCall,
    LimitReached,
    RemoteError,
    ServerNotFound,
    ToolboxNotFound,
    ToolNotFound,
    ToolsNotFound,
)
from mcp_workbench.protocol.names import CALL_FAILED, IMPLEMENTATION, INVALID_PARAMS, META_SERVER
from mcp_workbench.protocol.results import TOO_DEEP, read_stamps
from mcp_workbench.wire.message import ABSENT, END, decode_members, decode_text, encode
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.protocol.results import Stamps
    from mcp_workbench.wire.message import Body


_TYPE: Final = b'"resultType":"complete"'
_SERVER: Final = b'"%b":%b' % (META_SERVER.encode(), IMPLEMENTATION)
_META: Final = b'"_meta":{%b}' % _SERVER

WRONG_CALLS: Final = (InvalidCall, ToolboxNotFound, ServerNotFound, ToolNotFound, ToolsNotFound)
"""Errors of calls that nothing was sent for, because what they name or how they name it is wrong."""

PIECE_BYTES: Final = 4096
"""Bytes of a result that are copied at once."""
QUOTE: Final = 0x22
"""The first byte of a member of a JSON object."""

CACHEABLE: Final = b'"ttlMs":60000,"cacheScope":"private"'
"""Cache hints for results that depend on the configuration alone: one minute, because it may be reloaded.

Private, because other users may see other toolboxes.
"""
_STALE: Final = b'"ttlMs":0'
_PRIVATE: Final = b'"cacheScope":"private"'
UNCACHED: Final = b"%b,%b" % (_STALE, _PRIVATE)
"""Cache hints for results that may change at any time."""


class _Hints(msgspec.Struct):
    ttl: msgspec.Raw = msgspec.field(default=ABSENT, name="ttlMs")
    scope: msgspec.Raw = msgspec.field(default=ABSENT, name="cacheScope")


_decode_hints = msgspec.json.Decoder(_Hints).decode


def own_result(result: tuple[Body, ...], caller: Caller) -> tuple[Body, ...]:
    """Return a result of the workbench itself, with the members that a modern client expects."""
    if not caller.is_modern:
        return result
    first, *others = result
    return (*_stamped(first, [_TYPE, _META]), *others)


def question_result(questions: bytes) -> tuple[Body, ...]:
    """Return a result that asks a modern client questions. They are given without a `resultType`."""
    return _stamped(questions, [b'"resultType":"input_required"', _META])


def modern_result(
    result: Body, stamps: Stamps | None = None, *, is_cacheable: bool = False
) -> tuple[Body, ...]:
    """Return a server's result with the members that a modern client expects and the result lacks.

    A cacheable result gets cache hints as well. A result without stamps comes from a legacy server, where
    `resultType` has no meaning. Raises BadAnswer.
    """
    is_legacy = stamps is None
    if stamps is None:
        stamps = read_stamps(result)
    missing: list[bytes] = []
    replaced: dict[str, bytes] = {}
    if not stamps.result_type:
        missing.append(_TYPE)
    elif is_legacy and decode_text(stamps.result_type) != "complete":
        replaced["resultType"] = b'"complete"'
    if not stamps.meta:
        missing.append(_META)
    elif (completed := _with_server(stamps.meta)) is not None:
        replaced["_meta"] = completed
    if is_cacheable:
        missing += _missing_hints(result)
    if replaced:
        return _rebuilt(result, missing, replaced)
    return _stamped(result, missing) if missing else (result,)


def _missing_hints(result: Body) -> list[bytes]:
    try:
        hints = _decode_hints(result)
    except RecursionError:
        raise BadAnswer(TOO_DEEP) from None
    return [member for member, has in ((_STALE, hints.ttl), (_PRIVATE, hints.scope)) if not has]


def _stamped(result: Body, stamps: list[bytes]) -> tuple[Body, ...]:
    head = b"{%b" % b",".join(stamps)
    rest = memoryview(result)[1:]
    return (head, rest) if _is_end(rest) else (head, b",", rest)


def _with_server(meta: msgspec.Raw) -> bytes | None:
    """Return `_meta` with the name of the workbench as the server; None if it names a server already."""
    try:
        members = decode_members(meta)
    except (msgspec.DecodeError, RecursionError):
        return None  # malformed or too deep to decode: the client gets it as it is
    if META_SERVER in members:
        return None
    return b"{%b}" % b",".join([*_pairs(members), _SERVER])


def _rebuilt(result: Body, missing: list[bytes], replaced: dict[str, bytes]) -> tuple[Body, ...]:
    try:
        members = decode_members(result)
    except RecursionError:
        raise BadAnswer(TOO_DEEP) from None
    members |= {key: msgspec.Raw(value) for key, value in replaced.items()}
    parts: list[Body] = [b"{", *(b"%b," % stamp for stamp in missing)]
    for key, value in members.items():
        parts += encode(key), b":", value, b","
    parts[-1] = b"}"
    return tuple(parts)


def _pairs(members: dict[str, msgspec.Raw]) -> list[bytes]:
    return [b"%b:%b" % (encode(key), value) for key, value in members.items()]


def _is_end(rest: memoryview) -> bool:
    """Whether a JSON object has no members, given what follows its opening brace."""
    if rest[0] == QUOTE:
        return False  # nearly always
    # In pieces, because the rest may be long.
    pieces = (bytes(rest[at : at + PIECE_BYTES]).lstrip() for at in range(0, len(rest), PIECE_BYTES))
    return next(filter(None, pieces))[0] == END


def program_error(error: CallError) -> RemoteError:
    """Return the JSON-RPC error that tells a program why a call failed, and whether the call was wrong."""
    code = INVALID_PARAMS if isinstance(error, WRONG_CALLS) else CALL_FAILED
    data = {"error": type(error).__name__, **retry_after(error)}
    return RemoteError(code, clean_text(str(error)), encode(data))


def retry_after(error: CallError) -> dict[str, int]:
    """Return in how many seconds a call may be made again, as data of a JSON-RPC error; empty if unknown."""
    if isinstance(error, LimitReached) and error.seconds is not None:
        return {"retryAfter": error.seconds}
    return {}


def error_result(error: CallError, advice: str = "") -> tuple[bytes, ...]:
    """Return a result with `isError` that tells the model why a call failed, with advice if there is any."""
    text = clean_text(str(error)) + (f"\n{advice}" if advice else "")
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)
