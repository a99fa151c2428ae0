"""A message that a client has posted, decoded once as far as the endpoint needs it.

Nearly all are plain tool calls: one decoding reads everything about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.headers import NAMED_BY
from mcp_workbench.protocol.names import INVALID_REQUEST, META_VERSION
from mcp_workbench.surface.http.exchange import Rejected
from mcp_workbench.surface.metatools import USE_TOOL
from mcp_workbench.surface.use_request import read_plain_use
from mcp_workbench.wire.message import ABSENT, decode, encode

if TYPE_CHECKING:
    from mcp_workbench.surface.use_request import PlainUse
    from mcp_workbench.wire.message import Id, Message

_USE_TOOL: Final = msgspec.Raw(encode(USE_TOOL))


class PostedMessage(msgspec.Struct):
    """A message that a client has posted over HTTP."""

    line: bytes
    method: str | None
    """The JSON-RPC method; None for a response."""
    request_id: Id | None
    """The id of a request; None for a notification or a response."""
    version: msgspec.Raw
    """The protocol version in the metadata of a modern message."""
    subject: msgspec.Raw
    """The value of the parameter that `NAMED_BY` names for the method."""
    plain: PlainUse | None = None
    """The decoded call, if this is a plain tool call."""


class _Meta(msgspec.Struct, frozen=True):
    version: msgspec.Raw = msgspec.field(default=ABSENT, name=META_VERSION)


class _Params(msgspec.Struct):
    meta: _Meta = msgspec.field(default=_Meta(), name="_meta")
    name: msgspec.Raw = ABSENT
    uri: msgspec.Raw = ABSENT


_decode_params = msgspec.json.Decoder(_Params).decode


def read(line: bytes) -> PostedMessage:
    """Decode a posted message. Raises Undecodable, or Rejected for a message that clients must not send."""
    if (plain := read_plain_use(line)) is not None:
        version = plain.params.meta.get(META_VERSION, ABSENT)
        return PostedMessage(line, plain.method, plain.id, version, _USE_TOOL, plain)
    message = decode(line)
    if message.method is None and not (message.result or message.error):
        raise Rejected(400, INVALID_REQUEST, "Invalid Request: `method` is missing")
    if message.method is not None and message.id is None:
        raise Rejected(400, INVALID_REQUEST, "Invalid Request: `id` must not be null")
    request_id = request_id_of(message)
    if message.method is not None and message.jsonrpc != "2.0":
        another = 'Invalid Request: `jsonrpc` must be "2.0"'
        raise Rejected(400, INVALID_REQUEST, another, request_id=request_id)
    params = _read_params(message)
    key = NAMED_BY.get(message.method or "")
    subject = ABSENT if key is None else getattr(params, key)
    return PostedMessage(line, message.method, request_id, params.meta.version, subject)


def request_id_of(message: Message) -> Id | None:
    """Return the id of a request; None for a notification or a response."""
    return None if message.method is None or message.id is msgspec.UNSET else message.id


def _read_params(message: Message) -> _Params:
    try:
        return _decode_params(message.params or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return _Params()
