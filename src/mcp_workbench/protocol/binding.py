"""Identifies a request by what it asks for, so that an answer or an approval can be tied to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def bind(*names: str, arguments: Body) -> bytes:
    """Return a digest of a request: its method, target and arguments, regardless of their JSON formatting."""
    from hashlib import sha256  # noqa: PLC0415 - takes a while, and only some calls need it

    try:
        canonical = _encode_sorted(msgspec.json.decode(arguments))
    except (msgspec.DecodeError, RecursionError):
        canonical = bytes(arguments)
    return sha256(b"%b%b" % (encode(names), canonical)).digest()
