"""Addresses as HTTP writes them, taken apart: the `host:port` of a `Host`, the address of an issuer.

Owns what is an address of this machine itself. Asks no name server.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/?#@\s]+)(?P<path>/[^?#\s]*)?")
_LOOPBACK_V4 = re.compile(r"127(?:\.[0-9]{1,3}){3}")
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


class Host(NamedTuple):
    """A name or an address, in lower case and with the brackets that IPv6 has here, and the port if any."""

    name: str
    port: int | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine answers to it."""
        return self.name in ("localhost", "[::1]") or _LOOPBACK_V4.fullmatch(self.name) is not None

    @property
    def is_address(self) -> bool:
        """Whether it is a number, which no name server has anything to do with."""
        return self.name.startswith("[") or _IPV4.fullmatch(self.name) is not None


class Url(NamedTuple):
    """An absolute address without anything behind its path."""

    scheme: str
    host: Host
    path: str = ""

    @property
    def is_private(self) -> bool:
        """Whether what goes there can be read by nobody on the way."""
        return self.scheme == "https" or (self.scheme == "http" and self.host.is_loopback)


def host_of(text: str) -> Host | None:
    """What a `Host` names, or None if it names nothing."""
    found = _HOST.fullmatch(text.lower())
    if found is None:
        return None
    return Host(found["name"], None if found["port"] is None else int(found["port"]))


def url_of(text: str) -> Url | None:
    """The parts of an address, or None if it is none, or has a query, a fragment or a user."""
    found = _URL.fullmatch(text.lower())
    host = host_of(found["host"]) if found else None
    if found is None or host is None:
        return None
    return Url(found["scheme"], host, text[found.start("path") :] if found["path"] else "")


def is_loopback(host: str) -> bool:
    """Whether a name or a number, with the brackets that IPv6 has or without, is of this machine only."""
    named = host_of(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    return named is not None and named.is_loopback
