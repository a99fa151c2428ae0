"""Finishing a result for the era of whoever asked. Legacy results go out as they are."""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_workbench.protocol import IMPLEMENTATION, META_SERVER
from mcp_workbench.wire.message import decode_members, encode

_SERVER_INFO: Final = b'"%b":%b' % (META_SERVER.encode(), IMPLEMENTATION)
_HEAD: Final = b'{"resultType":"complete","_meta":{%b}' % _SERVER_INFO

CACHEABLE: Final = b'"ttlMs":300000,"cacheScope":"private"'
"""For what depends on the configuration alone. Private: another user's workbench is another one."""


def modern(result: bytes | msgspec.Raw) -> bytes:
    """`result` with the members that every modern result has; what it brings of its own stays as it is."""
    body = bytes(result)
    if b'"resultType"' not in body and b'"_meta"' not in body:
        # By far the most common case, and the one that must not read the body.
        inner = body[1:].lstrip()
        return b"%b%b%b" % (_HEAD, b"" if inner.startswith(b"}") else b",", inner)
    members = decode_members(body)
    meta = members.pop("_meta", None)
    own = _own_meta(meta)
    parts = [b"%b:%b" % (encode(key), value) for key, value in members.items()]
    if "resultType" not in members:
        parts.insert(0, b'"resultType":"complete"')
    parts.append(b'"_meta":%b' % own)
    return b"{%b}" % b",".join(parts)


def _own_meta(meta: msgspec.Raw | None) -> bytes:
    if meta is None:
        return b"{%b}" % _SERVER_INFO
    try:
        members = decode_members(meta)
    except msgspec.DecodeError:
        return bytes(meta)  # not an object: the server's to answer for
    members.setdefault(META_SERVER, msgspec.Raw(IMPLEMENTATION))
    return b"{%b}" % b",".join(b"%b:%b" % (encode(key), value) for key, value in members.items())
