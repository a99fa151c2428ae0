"""Parses addresses as HTTP writes them: the `host:port` of a `Host` header, the URL of an issuer.

Owns which addresses are loopback addresses. Resolves no names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/?#@\s]+)(?P<path>/[^?#\s]*)?")
_LOOPBACK_V4 = re.compile(r"127(?:\.[0-9]{1,3}){3}")
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


class Host(NamedTuple):
    """A host name or IP address in lower case (IPv6 in brackets), and the port if there is one."""

    name: str
    port: int | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether the host is `localhost` or a loopback address."""
        return self.name in ("localhost", "[::1]") or _LOOPBACK_V4.fullmatch(self.name) is not None

    @property
    def is_address(self) -> bool:
        """Whether the host is an IP address, which is not resolved by a name server."""
        return self.name.startswith("[") or _IPV4.fullmatch(self.name) is not None


class Url(NamedTuple):
    """An absolute URL without a user, a query and a fragment."""

    scheme: str
    host: Host
    path: str = ""

    @property
    def is_private(self) -> bool:
        """Whether nothing on the way can read or change requests: https, or http to a loopback address."""
        return self.scheme == "https" or (self.scheme == "http" and self.host.is_loopback)


def host_of(text: str) -> Host | None:
    """Return the parts of a `Host` header, or None if it is malformed."""
    found = _HOST.fullmatch(text.lower())
    if found is None:
        return None
    return Host(found["name"], None if found["port"] is None else int(found["port"]))


def url_of(text: str) -> Url | None:
    """Return the parts of a URL, or None if it is malformed or has a user, a query or a fragment."""
    found = _URL.fullmatch(text.lower())
    host = host_of(found["host"]) if found else None
    if found is None or host is None:
        return None
    return Url(found["scheme"], host, text[found.start("path") :] if found["path"] else "")


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address (IPv6 with or without brackets) is a loopback address."""
    named = host_of(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    return named is not None and named.is_loopback
