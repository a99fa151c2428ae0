"""The credentials of a request, and the challenge that is sent if they are not accepted.

Owns the headers `Authorization` and `WWW-Authenticate`, and the metadata document that tells clients where to
get a token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.hosts import url_of
from mcp_workbench.errors import Denied

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.config import IssuerConfig

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
MAX_TOKEN_BYTES: Final = 16 * 1024
"""A longer token is refused without reading it."""
BEARER: Final = b"bearer "


def bearer_token(values: list[bytes], challenge: BearerChallenge) -> bytes:
    """Return the token in the only `Authorization` header. Raises Denied."""
    if not values:
        raise challenge.unknown("A token is needed: send the header Authorization: Bearer <token>")
    if len(values) > 1:
        raise Denied(400, "The Authorization header was sent more than once")
    scheme, token = values[0][: len(BEARER)], values[0][len(BEARER) :].strip()
    if scheme.lower() != BEARER or not token:
        raise challenge.unknown("A token is needed: send the header Authorization: Bearer <token>")
    if len(token) > MAX_TOKEN_BYTES:
        raise challenge.invalid("The token is too long")
    return token


class BearerChallenge:
    """Builds refusals whose `WWW-Authenticate` header tells the client how to get a token."""

    def __init__(self, config: IssuerConfig | None) -> None:
        self._config = config
        self._where: list[str] = []
        if config is not None:
            scopes = " ".join(config.scopes)
            self._where = [f'resource_metadata="{metadata_url(config)}"', f'scope="{scopes}"']

    def unknown(self, reason: str) -> Denied:
        """Return the refusal of a request that has no token."""
        return self._denied(401, reason)

    def invalid(self, reason: str) -> Denied:
        """Return the refusal of a token that is not valid, or not valid any more."""
        return self._denied(401, reason, "invalid_token")

    def insufficient(self, reason: str) -> Denied:
        """Return the refusal of a valid token that has none of the required scopes."""
        return self._denied(403, reason, "insufficient_scope")

    def _denied(self, status: int, reason: str, error: str = "") -> Denied:
        details = [f'error="{error}"', f'error_description="{reason}"'] if error else []
        value = "Bearer " + ", ".join(['realm="mcp-workbench"', *details, *self._where])
        return Denied(status, reason, [(b"www-authenticate", value.encode())])


def metadata_url(config: IssuerConfig) -> str:
    """Return the URL of the metadata: the well-known path goes before the path of the endpoint."""
    path = _path(config)
    return config.resource[: len(config.resource) - len(path)] + WELL_KNOWN + path.rstrip("/")


def metadata_paths(config: IssuerConfig) -> Iterable[str]:
    """Return the paths at which the metadata is served."""
    return dict.fromkeys((WELL_KNOWN, f"{WELL_KNOWN}/mcp", WELL_KNOWN + _path(config).rstrip("/")))


def metadata(config: IssuerConfig) -> bytes:
    """Return the metadata of this workbench as a protected resource (RFC 9728), in JSON."""
    return msgspec.json.encode(
        {
            "resource": config.resource,
            "authorization_servers": [config.issuer],
            "scopes_supported": list(config.scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": "MCP Workbench",
        }
    )


def _path(config: IssuerConfig) -> str:
    url = url_of(config.resource)
    return url.path if url else ""
