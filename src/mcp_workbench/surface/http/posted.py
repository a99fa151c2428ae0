"""A message that a client has posted: what has to be known of it before it is handed on, decoded once.

Nearly all are calls with nothing about them to be looked into, of which one decoding tells everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.headers import NAMED_BY
from mcp_workbench.protocol.names import INVALID_REQUEST, META_VERSION
from mcp_workbench.surface.http.exchange import Rejected
from mcp_workbench.surface.metatools import USE_TOOL, read_plain_use
from mcp_workbench.wire.message import ABSENT, decode, encode

if TYPE_CHECKING:
    from mcp_workbench.surface.metatools import PlainUse
    from mcp_workbench.wire.message import Id, Message

_USE_TOOL: Final = msgspec.Raw(encode(USE_TOOL))


class PostedMessage(msgspec.Struct):
    """One message."""

    line: bytes
    method: str | None
    """None if it is an answer."""
    request_id: Id | None
    """None if it is no request."""
    version: msgspec.Raw
    """Of the protocol, as a modern one has it."""
    subject: msgspec.Raw
    """What it is about, if its method has such a parameter."""
    plain: PlainUse | None = None
    """All of it, if it is a plain call."""


class _Meta(msgspec.Struct, frozen=True):
    version: msgspec.Raw = msgspec.field(default=ABSENT, name=META_VERSION)


class _Params(msgspec.Struct):
    meta: _Meta = msgspec.field(default=_Meta(), name="_meta")
    name: msgspec.Raw = ABSENT
    uri: msgspec.Raw = ABSENT


_decode_params = msgspec.json.Decoder(_Params).decode


def read(line: bytes) -> PostedMessage:
    """Looks at a message. Raises Undecodable, or Rejected for what is no message of a client's."""
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
    """The id of a request; None if it is something else."""
    return None if message.method is None or message.id is msgspec.UNSET else message.id


def _read_params(message: Message) -> _Params:
    try:
        return _decode_params(message.params or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return _Params()
