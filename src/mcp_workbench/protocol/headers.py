"""The HTTP headers in which a modern request repeats parts of its body, so that proxies need not parse it.

Owns which parameter goes into `Mcp-Name`, and how a header carries text that is not plain ASCII. Clients
write these headers (`downstream.remote.headers`), and servers check them (`surface.http.headers`).
"""

from __future__ import annotations

import re
from typing import Final

NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that a request repeats in its `Mcp-Name` header, by method."""

ENCODED_START: Final = "=?base64?"
"""Prefix of a header value that is encoded in Base64."""
ENCODED_END: Final = "?="
"""Suffix of a header value that is encoded in Base64."""

_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def encode_value(value: str) -> bytes:
    """Return a header value that carries the text: plain if possible, else in Base64."""
    if not value or (_PLAIN.fullmatch(value) and not _is_encoded(value)):
        return value.encode()
    from binascii import b2a_base64  # noqa: PLC0415 - few values need it

    return f"{ENCODED_START}{b2a_base64(value.encode(), newline=False).decode()}{ENCODED_END}".encode()


def decode_value(value: str) -> str | None:
    """Return the text that a header value carries; None if it is Base64 that cannot be decoded."""
    if not _is_encoded(value):
        return value
    from base64 import b64decode  # noqa: PLC0415 - few values need it

    try:
        return b64decode(value[len(ENCODED_START) : -len(ENCODED_END)], validate=True).decode()
    except ValueError:
        return None


def _is_encoded(value: str) -> bool:
    return (
        value.startswith(ENCODED_START)
        and value.endswith(ENCODED_END)
        and len(value) >= len(ENCODED_START) + len(ENCODED_END)
    )
