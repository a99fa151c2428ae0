"""Checks by `Host` and `Origin` whether a request was meant for this workbench.

A web page can make a browser send requests to any address. It cannot hide its origin, but it may point its
own host name to this machine (DNS rebinding) and then use its own origin. So the `Host` has to be a known
one, and an `Origin`, which only browsers send, an allowed one.
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
MAX_SHOWN_BYTES: Final = 200
"""How much of a refused header is quoted in the refusal."""
MAX_REMEMBERED: Final = 256
"""Pairs of `Host` and `Origin` that are remembered as accepted."""
PREFLIGHT_SECONDS: Final = b"600"
METHODS: Final = b"GET, POST, DELETE"
EXPOSED_HEADERS: Final = b"Mcp-Session-Id, WWW-Authenticate"


class Origins:
    """Accepts requests that are meant for us, and refuses those of foreign web pages."""

    def __init__(self, listens_on: str, config: HttpConfig) -> None:
        self._on_loopback = is_loopback(listens_on)
        hosts = [host_of(host) for host in (*config.allowed_hosts, listens_on)]
        resource = url_of(config.oauth.resource) if config.oauth else None
        self._hosts = {host for host in (*hosts, resource and resource.host) if host is not None}
        self._listed = frozenset(origin.lower().encode() for origin in config.allowed_origins)
        self._accepted: set[tuple[bytes | None, bytes | None]] = set()

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Check the `Host` and `Origin` of a request. Raises Denied."""
        if (host, origin) in self._accepted:
            return
        named = None if host is None else host_of(host.decode("latin-1"))
        if named is None or not self._is_ours(named):
            raise _denied(MISDIRECTED, "Host", host, "allowedHosts")
        if origin is not None and not self._is_allowed(origin.lower(), named):
            raise _denied(FORBIDDEN, "Origin", origin, "allowedOrigins")
        if len(self._accepted) < MAX_REMEMBERED:
            self._accepted.add((host, origin))

    def cors(self, origin: bytes | None) -> list[tuple[bytes, bytes]]:
        """Return the response headers that allow a listed web page to read the response."""
        if origin is None or origin.lower() not in self._listed:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", EXPOSED_HEADERS),
            (b"vary", b"Origin"),
        ]

    def preflight(self, origin: bytes | None, requested_headers: bytes) -> list[tuple[bytes, bytes]]:
        """Return the headers of the response to a CORS preflight; empty if the page is not listed."""
        allowed = self.cors(origin)
        if not allowed:
            return []
        return [
            *allowed,
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", requested_headers),
            (b"access-control-max-age", PREFLIGHT_SECONDS),
        ]

    def _is_ours(self, host: Host) -> bool:
        if host in self._hosts or host._replace(port=None) in self._hosts:
            return True
        # Any port: tunnels and containers change it. Beyond loopback, any IP address: unlike a name, it
        # cannot be pointed to another machine.
        return host.is_loopback or (host.is_address and not self._on_loopback)

    def _is_allowed(self, origin: bytes, host: Host) -> bool:
        if origin in self._listed:
            return True
        page = url_of(origin.decode("latin-1"))
        if page is None or page.path or page.scheme not in ("http", "https"):
            return False
        return page.host == host or (self._on_loopback and page.host.is_loopback)


def _denied(status: int, header: str, value: bytes | None, key: str) -> Denied:
    text = "" if value is None else value[:MAX_SHOWN_BYTES].decode("latin-1")
    shown = "is missing" if value is None else f"'{text}' is not known here"
    remedy = f'If it is right, add it to "{key}" under "http" in the configuration of the workbench'
    return Denied(status, f"{header} {shown}. {remedy}")
