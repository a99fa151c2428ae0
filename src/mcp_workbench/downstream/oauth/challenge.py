"""What a server says about the token that it wants: the header `WWW-Authenticate`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import httpx2

_FIELD = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')


class Challenge(msgspec.Struct, frozen=True):
    """The parts of it that count."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""

    def header(self) -> str:
        """As a server would write it."""
        named = (("resource_metadata", self.resource_metadata), ("scope", self.scope))
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in named if value)


def challenge_of(response: httpx2.Response) -> Challenge:
    """What is said, as far as it can be understood."""
    fields: dict[str, str] = {}
    for name, quoted, bare in _FIELD.findall(response.headers.get("WWW-Authenticate", "")):
        fields.setdefault(name.lower(), quoted or bare)
    return Challenge(
        fields.get("error", ""), _scope(fields.get("scope", "")), fields.get("resource_metadata", "")
    )


def wants_more_scope(response: httpx2.Response) -> bool:
    """Whether the token is good, and not for this."""
    return response.status_code == 403 and challenge_of(response).error == "insufficient_scope"


def union(*scopes: str) -> str:
    """All of them, each once, in order."""
    return " ".join(dict.fromkeys(word for scope in scopes for word in scope.split()))


def _scope(text: str) -> str:
    """Only what a scope may consist of: it is shown to people, in a command to copy."""
    return " ".join(word for word in text.split() if re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", word))
