"""The `WWW-Authenticate` header: what a server says about the token that it requires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import httpx2

_FIELD = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')


class Challenge(msgspec.Struct, frozen=True):
    """The parts of a `WWW-Authenticate` header that matter here."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""

    def header(self) -> str:
        """Return the challenge as a server would write it."""
        named = (("resource_metadata", self.resource_metadata), ("scope", self.scope))
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in named if value)


def challenge_of(response: httpx2.Response) -> Challenge:
    """Return the challenge in a response, as far as it can be parsed."""
    fields: dict[str, str] = {}
    for name, quoted, bare in _FIELD.findall(response.headers.get("WWW-Authenticate", "")):
        fields.setdefault(name.lower(), quoted or bare)
    return Challenge(
        fields.get("error", ""), _scope(fields.get("scope", "")), fields.get("resource_metadata", "")
    )


def wants_more_scope(response: httpx2.Response) -> bool:
    """Whether the server accepts the token, but requires more scope for this request."""
    return response.status_code == 403 and challenge_of(response).error == "insufficient_scope"


def union(*scopes: str) -> str:
    """Return all scopes, each of them once, in order."""
    return " ".join(dict.fromkeys(word for scope in scopes for word in scope.split()))


def _scope(text: str) -> str:
    """Return only valid scope words: people are shown them in a command to copy."""
    return " ".join(word for word in text.split() if re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", word))
