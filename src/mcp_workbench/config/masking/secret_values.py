"""Decides what in a configuration is secret: whole values, and the credentials inside of a value.

Logs and errors hide every value of `env`, `headers` and `${VAR}`, because a hidden word too many does no harm
there. The definitions of tools hide fewer: a model has to know a path that a tool may read, or `production`
among the values of an argument.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SENSITIVE_NAME: Final = (
    r"(?i:KEY|TOKEN|SECRET|PASS|PWD|PW\b|CRED|AUTH|COOKIE|SESSION|BEARER|JWT|SIGNING|PRIVATE|SALT|DSN|PIN\b)"
)
"""Pattern in the names of variables, headers and parameters whose values are always secret."""
MAX_PLAIN_CHARACTERS: Final = 200
"""Length of the longest value that can be a plain setting."""

_SCHEME: Final = r"(?i:(Basic)|Bearer|Token|ApiKey|Digest) +(\S+)\s*"
_PASSWORD: Final = r"[A-Za-z][A-Za-z0-9+.-]*://([^:/?#\s]*):([^/?#\s]+)@"  # noqa: S105 - a pattern
_SCHEMA_WORDS: Final = frozenset(
    (
        *(
            "string",
            "number",
            "integer",
            "boolean",
            "object",
            "default",
            "description",
            "properties",
            "required",
        ),
        *("examples", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "annotations"),
        *("inputSchema", "outputSchema", "additionalProperties", "password", "secret", "username", "api_key"),
        *("apiKey", "access_token", "accessToken"),
    )
)
"""Words that tool definitions are made of. A definition without them is useless, and they are no secret."""
_NAMED_LABELS: Final = ("<env ", "<header ", "${")
"""How the labels of values begin that stand under a name. Values with other labels are always secret."""
_STORED_LABELS: Final = ("${keyring:", "${file:")
"""How the labels of values begin that were stored as a secret, and are one whatever they look like."""
_WORD: Final = r"(?:[A-Za-z]{1,20}|\d{1,9}|v\d{1,3})"
_SEPARATOR: Final = r"[ ._:/@,;=+~*-]{1,3}"
_WORDS: Final = rf"(?:{_SEPARATOR})?{_WORD}(?:{_SEPARATOR}{_WORD})*(?:{_SEPARATOR})?"
"""Pattern of words and short numbers: `production`, `eu-central-1`, `https://api.example.com/v1`."""
_PATH: Final = r"(?:~|\.{1,2})?/[\w. ~/+-]*|[A-Za-z]:[\\/][\w. ~\\/+-]*"
_LIKE_A_KEY: Final = r"(?=[A-Za-z+_-]*\d)(?=[\d+_-]*[A-Za-z])[A-Za-z0-9+_-]{20,}"
"""Pattern of letters and digits mixed, longer than the names of most directories."""
_USER_IN_ADDRESS: Final = r"://[^/?#]*@"


def is_plain(label: str, value: str) -> bool:
    """Whether a value is a plain setting that definitions of tools may show: words, numbers, a path, a URL.

    The value of a variable with a name like a secret's is not, nor is an address with a password. In doubt a
    value is secret.
    """
    if value in _SCHEMA_WORDS:
        return True
    if not label.startswith(_NAMED_LABELS) or label.startswith(_STORED_LABELS):
        return False
    if re.search(SENSITIVE_NAME, label):
        return False
    if len(value) > MAX_PLAIN_CHARACTERS or re.search(_USER_IN_ADDRESS, value):
        return False
    if re.fullmatch(_PATH, value):
        return re.search(_LIKE_A_KEY, value) is None
    return re.fullmatch(_WORDS, value) is not None


def credentials_inside(value: str) -> Iterator[str]:
    """Yield the credentials in a longer value, which a server may quote alone: a token, a password.

    A token stands after its scheme (`Bearer …`), a password in an address. A password that repeats the name
    of its user is not secret.
    """
    if " " in value and (found := re.fullmatch(_SCHEME, value)):
        yield found[2]
        if found[1]:
            yield from _basic_password(found[2])
    if "://" in value and (found := re.match(_PASSWORD, value)) and found[1] != found[2]:
        from urllib.parse import unquote  # noqa: PLC0415 - takes a while to load, and few need it

        yield found[2]
        yield unquote(found[2])


def credentials_in_url(url: str) -> Iterator[str]:
    """Yield what is secret in the `url` of a server: the password, and parameters named like a secret.

    The password is also yielded as the `Authorization` header spells it, together with the user.
    """
    if found := re.match(r"[a-z]+://([^/?#@]*:([^/?#@]*))@", url, re.IGNORECASE):
        yield found[2]
        yield b2a_base64(found[1].encode(), newline=False).decode()
    for name, value in re.findall(r"[?&]([^=&#]+)=([^&#]*)", url):
        if re.search(SENSITIVE_NAME, name):
            yield value


def _basic_password(encoded: str) -> Iterator[str]:
    from binascii import Error, a2b_base64  # noqa: PLC0415 - few values need it

    try:
        pair = a2b_base64(encoded).decode()
    except (Error, UnicodeDecodeError):
        return
    user, _, password = pair.partition(":")
    if password and password != user:
        yield password
