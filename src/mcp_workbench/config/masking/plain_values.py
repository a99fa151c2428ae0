"""Which values of a configuration are plain settings, and no secrets.

Logs and errors hide every value of `env`, `headers` and `${VAR}`: a word too many is hidden there without
harm. The definitions of tools hide fewer, because a model has to use them: a path that a tool may read, or
`production` among the values that an argument may have, is of no use as `<env MODE>`.
"""

from __future__ import annotations

import re
from typing import Final

LIKELY_PRIVATE: Final = (
    r"(?i:KEY|TOKEN|SECRET|PASS|PWD|PW\b|CRED|AUTH|COOKIE|SESSION|BEARER|JWT|SIGNING|PRIVATE|SALT|DSN|PIN\b)"
)
"""Stands in the names of variables and headers whose values are secret, whatever they look like."""
LONGEST_PLAIN: Final = 200
"""Characters of a value that may be plain."""

_EVERYWHERE: Final = frozenset(
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
"""Words that definitions are made of. Without them no tool can be called, and everybody knows them."""
_NAMED: Final = ("<env ", "<header ", "${")
"""How the labels begin of values that were given under a name. All others are secret by what they are."""
_WORD: Final = r"(?:[A-Za-z]{1,20}|\d{1,9}|v\d{1,3})"
_SEPARATOR: Final = r"[ ._:/@,;=+~*-]{1,3}"
_WORDS: Final = rf"(?:{_SEPARATOR})?{_WORD}(?:{_SEPARATOR}{_WORD})*(?:{_SEPARATOR})?"
"""Words and short numbers: `production`, `eu-central-1`, `en_US.UTF-8`, `https://api.example.com/v1`."""
_PATH: Final = r"(?:~|\.{1,2})?/[\w. ~/+-]*|[A-Za-z]:[\\/][\w. ~\\/+-]*"
_LIKE_A_KEY: Final = r"(?=[A-Za-z+_-]*\d)(?=[\d+_-]*[A-Za-z])[A-Za-z0-9+_-]{20,}"
"""Letters and digits mixed, and more of them than the names of most directories have."""
_USER_IN_ADDRESS: Final = r"://[^/?#]*@"


def is_plain(label: str, value: str) -> bool:
    """Whether a value is a word, a number, a path or an address without a password, and its name not that of
    a secret. In doubt it is not.
    """
    if value in _EVERYWHERE:
        return True
    if not label.startswith(_NAMED) or re.search(LIKELY_PRIVATE, label):
        return False
    if len(value) > LONGEST_PLAIN or re.search(_USER_IN_ADDRESS, value):
        return False
    if re.fullmatch(_PATH, value):
        return re.search(_LIKE_A_KEY, value) is None
    return re.fullmatch(_WORDS, value) is not None
