"""The credentials inside of a longer value: a token after its scheme, a password in an address.

Whoever uses such a value may quote the credentials alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEME: Final = r"(?i:(Basic)|Bearer|Token|ApiKey|Digest) +(\S+)\s*"
_PASSWORD: Final = r"[A-Za-z][A-Za-z0-9+.-]*://([^:/?#\s]*):([^/?#\s]+)@"  # noqa: S105 - a pattern


def credentials_inside(value: str) -> Iterator[str]:
    """What is secret of a value by itself. A password that is the user's name again is not."""
    if " " in value and (found := re.fullmatch(_SCHEME, value)):
        yield found[2]
        if found[1]:
            yield from _basic(found[2])
    if "://" in value and (found := re.match(_PASSWORD, value)) and found[1] != found[2]:
        from urllib.parse import unquote  # noqa: PLC0415 - takes a while to load, and few need it

        yield found[2]
        yield unquote(found[2])


def _basic(encoded: str) -> Iterator[str]:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - few values need it

    try:
        pair = a2b_base64(encoded).decode()
    except (Error, UnicodeDecodeError):
        return
    user, _, password = pair.partition(":")
    if password and password != user:
        yield password
