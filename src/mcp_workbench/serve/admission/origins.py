"""Whether a request was meant for this workbench: what its `Host` and `Origin` say.

A web page can make a browser send requests to any address. It cannot hide its origin; but it may give its own
name this machine's address (DNS rebinding), and then it asks for its own origin. So a `Host` has to be one
that we know, and an `Origin`, which only browsers send, one that was allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.config.hosts import host_of, is_loopback, url_of
from mcp_workbench.errors import Denied

if TYPE_CHECKING:
    from mcp_workbench.config import HttpConfig
    from mcp_workbench.config.hosts import Host

MISDIRECTED: Final = 421
FORBIDDEN: Final = 403
LONGEST_SHOWN: Final = 200
MOST_REMEMBERED: Final = 256
"""Pairs of Host and Origin that are known to be right."""
PREFLIGHT_SECONDS: Final = b"600"
METHODS: Final = b"GET, POST, DELETE"
EXPOSED: Final = b"Mcp-Session-Id, WWW-Authenticate"


class Origins:
    """Tells requests that were meant for us from those that a stranger's web page made."""

    def __init__(self, listens_on: str, config: HttpConfig) -> None:
        self._on_loopback = is_loopback(listens_on)
        hosts = [host_of(host) for host in (*config.allowed_hosts, listens_on)]
        resource = url_of(config.oauth.resource) if config.oauth else None
        self._hosts = {host for host in (*hosts, resource and resource.host) if host is not None}
        self._listed = frozenset(origin.lower().encode() for origin in config.allowed_origins)
        self._right: set[tuple[bytes | None, bytes | None]] = set()

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Raises Denied for what was not meant for us."""
        if (host, origin) in self._right:
            return
        named = None if host is None else host_of(host.decode("latin-1"))
        if named is None or not self._is_ours(named):
            raise _denied(MISDIRECTED, "Host", host, "allowedHosts")
        if origin is not None and not self._may_come(origin.lower(), named):
            raise _denied(FORBIDDEN, "Origin", origin, "allowedOrigins")
        if len(self._right) < MOST_REMEMBERED:
            self._right.add((host, origin))

    def cors(self, origin: bytes | None) -> list[tuple[bytes, bytes]]:
        """The headers of an answer by which a browser lets a listed page read it."""
        if origin is None or origin.lower() not in self._listed:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", EXPOSED),
            (b"vary", b"Origin"),
        ]

    def preflight(self, origin: bytes | None, asked_headers: bytes) -> list[tuple[bytes, bytes]]:
        """The headers of the answer to a browser that asks what a listed page may send. None: nothing."""
        allowed = self.cors(origin)
        if not allowed:
            return []
        return [
            *allowed,
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", asked_headers),
            (b"access-control-max-age", PREFLIGHT_SECONDS),
        ]

    def _is_ours(self, host: Host) -> bool:
        if host in self._hosts or host._replace(port=None) in self._hosts:
            return True
        # Tunnels and containers change the port, and nothing depends on it. Nor, beyond loopback, on which
        # number it is: a number is no name that could be given another address.
        return host.is_loopback or (host.is_address and not self._on_loopback)

    def _may_come(self, origin: bytes, host: Host) -> bool:
        if origin in self._listed:
            return True
        page = url_of(origin.decode("latin-1"))
        if page is None or page.path or page.scheme not in ("http", "https"):
            return False
        return page.host == host or (self._on_loopback and page.host.is_loopback)


def _denied(status: int, header: str, value: bytes | None, key: str) -> Denied:
    text = "" if value is None else value[:LONGEST_SHOWN].decode("latin-1")
    shown = "is missing" if value is None else f"'{text}' is not known here"
    remedy = f'If it is right, add it to "{key}" under "http" in the configuration of the workbench'
    return Denied(status, f"{header} {shown}. {remedy}")
