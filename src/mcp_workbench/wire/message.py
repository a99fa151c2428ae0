"""The JSON-RPC envelope: decoded without its body, encoded around a body that is already JSON.

Bodies (`params`, `result`, `error`) stay the bytes that were received. msgspec skips them without looking
at their text, so whether a line is UTF-8 is checked before it is decoded: long lines in `lines` while they
arrive, all others here.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer, RemoteError, Undecodable
from mcp_workbench.wire.lines import EDGE_BYTES
from mcp_workbench.wire.salvage import find_id

if TYPE_CHECKING:
    from mcp_workbench.wire.lines import Line

Id = int | str

Body = bytes | memoryview | msgspec.Raw
"""Complete JSON text, made here or received."""

Outgoing = bytes | list[Body]
"""A line to send, with its newline. A long one is a list of parts, so that its body is not copied."""

MAX_COPIED_BYTES = 16 * 1024
"""Size up to which a body is copied into its line: writing one piece is faster than writing several."""

ABSENT: Final = msgspec.Raw(b"")
"""The value of a body that the message does not have. No JSON text is empty."""

NULL: Final = msgspec.Raw(b"null")

BOM: Final = b"\xef\xbb\xbf"
QUOTED_LIMIT: Final = 80
PIECE_BYTES: Final = 1024 * 1024

_JSON_STARTS: Final = BOM[:1] + b' \t\r\n\v\f{["-0123456789tfn'
_ANY_SURROGATE: Final = rb"\\u[dD][89a-fA-F]"

# An escaped backslash, a surrogate pair, or a surrogate that stands alone.
_SURROGATES: Final = (
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class Message(msgspec.Struct, gc=False):
    """Any JSON-RPC message: a request, a notification or a response, depending on its members."""

    jsonrpc: str = ""
    id: Id | msgspec.UnsetType | None = msgspec.UNSET
    method: str | None = None
    params: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class _Identified(msgspec.Struct):
    id: Id | None = None


class ErrorBody(msgspec.Struct):
    """The `error` member of a response."""

    code: int
    message: str
    data: msgspec.Raw = ABSENT


_decode_message = msgspec.json.Decoder(Message).decode
_decode_id = msgspec.json.Decoder(_Identified).decode
decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""Decode the members of a JSON object, each left as JSON. Raises msgspec.DecodeError or RecursionError."""
_decode_text = msgspec.json.Decoder(str).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode
_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_error = msgspec.json.Decoder(ErrorBody).decode
encode: Final = msgspec.json.Encoder().encode


def members_of(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object; empty if the text is something else or cannot be decoded."""
    try:
        return decode_members(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}


def decode(line: Line) -> Message:
    """Return the message in a line. Raises Undecodable."""
    try:
        if isinstance(line, bytes) and not line.isascii():
            line.decode()
        return _decode_message(line)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        # Such lines may be many or very long, so most are rejected by their first byte.
        if line and line[0] not in _JSON_STARTS:
            raise Undecodable(_reason(error), len(line), is_json=False, is_hopeless=True) from None
        if not (bytes(line[:EDGE_BYTES]).strip() or bytes(line).strip()):
            raise Undecodable("it is blank", len(line), is_json=False, is_blank=True) from None
        return _decode_with_care(line[len(BOM) :] if line[: len(BOM)] == BOM else line)


def _decode_with_care(line: Line) -> Message:
    """Decode a line that a plain decoding failed for. Raises Undecodable."""
    try:
        if isinstance(line, bytes):
            line.decode()
        try:
            return _decode_message(line)
        except msgspec.DecodeError:
            # Half of a surrogate pair is JSON by the grammar, but no text. JavaScript writes it when it cuts
            # an emoji in two.
            if re.search(_ANY_SURROGATE, line) is None:
                raise
            return _decode_without_surrogates(line)
    except UnicodeDecodeError as error:
        raise Undecodable(_reason(error), len(line), is_json=False) from None
    except msgspec.ValidationError as error:
        if is_json(line):
            raise not_a_message(str(error), line) from None
        raise Undecodable(str(error), len(line), is_json=False) from None
    except msgspec.DecodeError as error:
        raise Undecodable(str(error), len(line), is_json=False) from None
    except RecursionError:
        raise Undecodable("nested too deeply", len(line), request_id=_read_id(line), is_deep=True) from None


def _reason(error: Exception) -> str:
    return f"invalid UTF-8 at byte {error.start}" if isinstance(error, UnicodeDecodeError) else str(error)


def _decode_without_surrogates(line: Line) -> Message:
    message = _decode_message(_without_lone_surrogates(line, rb"\ufffd"))
    if isinstance(message.id, str) and "\ufffd" in message.id:
        # A response with another id than the sender's would match no request.
        other = _decode_message(_without_lone_surrogates(line, rb"\ufffc"))
        if other.id != message.id:
            raise not_a_message("`id` is not valid text", line)
    return message


def _without_lone_surrogates(line: Line, replacement: bytes) -> bytes:
    return re.sub(_SURROGATES, lambda found: replacement if found[1] else found[0], line)


def decode_batch(line: Line) -> list[bytes]:
    """Return the messages in a line that is an array of messages; empty if it is not."""
    if not bytes(line[:EDGE_BYTES]).lstrip().startswith(b"["):
        return []
    try:
        return [bytes(part) for part in _decode_batch(line) if starts_with(part, b"{")]
    except (msgspec.DecodeError, RecursionError):
        return []


def repair_text(line: Line) -> bytes | None:
    """Return the line with invalid UTF-8 replaced; None if it is valid."""
    try:
        if isinstance(line, bytes):
            line.decode()
    except UnicodeDecodeError:
        # In pieces: as text it would take up to four times the memory.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        starts = range(0, len(line), PIECE_BYTES)
        pieces = [decoder.decode(line[at : at + PIECE_BYTES]).encode() for at in starts]
        return b"".join([*pieces, decoder.decode(b"", final=True).encode()])
    return None


def decode_text(raw: msgspec.Raw) -> str | None:
    """Return the string in a body; None if the body is something else."""
    try:
        return _decode_text(raw)
    except msgspec.DecodeError:
        return None


def is_json(text: Line) -> bool:
    """Whether a text is one JSON value."""
    try:
        _decode_any(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def not_a_message(reason: str, line: Line) -> Undecodable:
    """Return the error for a line that is JSON but not a JSON-RPC message."""
    return Undecodable(reason, len(line), request_id=_read_id(line))


def _read_id(line: Line) -> Id | None:
    try:
        found = _decode_id(line).id
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, RecursionError):
        return find_id(line)
    return found


def decode_error(body: bytes) -> RemoteError | BadAnswer:
    """Return the exception for the `error` member of a response."""
    try:
        error = _decode_error(body)
    except (msgspec.DecodeError, RecursionError):
        shown = body[:QUOTED_LIMIT].decode(errors="replace")
        return BadAnswer(f"its answer was an error of no known form: {shown}")
    return RemoteError(error.code, error.message, bytes(error.data) or None)


OBJECT: Final = 0x7B
"""The first byte of a body that is a JSON object."""
END: Final = 0x7D
"""The last byte of a body that is a JSON object."""


def starts_with(raw: msgspec.Raw, start: bytes) -> bool:
    """Whether the first byte of a body is the given one. Does not copy the body."""
    return bool(raw) and memoryview(raw)[0] == start[0]


def request_line(request_id: int, method: str, params: bytes) -> bytes:
    """Return the line of a request."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}\n' % (request_id, method.encode(), params)


def notification_line(method: str, params: bytes = b"") -> bytes:
    """Return the line of a notification."""
    if not params:
        return b'{"jsonrpc":"2.0","method":"%b"}\n' % method.encode()
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method.encode(), params)


def result_line(request_id: Id, *result: Body) -> Outgoing:
    """Return the line of a response with a result, which is JSON in one part or several."""
    parts = [b'{"jsonrpc":"2.0","id":', encode(request_id), b',"result":', *result, b"}\n"]
    for part in result:
        if len(part) > MAX_COPIED_BYTES:
            return parts
    return b"".join(parts)


def error_line(request_id: Id | None, code: int, message: str, data: object = msgspec.UNSET) -> bytes:
    """Return the line of an error response. Without an id the member is left out, as MCP requires."""
    body = encode({"code": code, "message": message} | ({} if data is msgspec.UNSET else {"data": data}))
    if request_id is None:
        return b'{"jsonrpc":"2.0","error":%b}\n' % body
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode(request_id), body)
