"""Reads the address to listen on, as people write it, and opens its sockets."""

from __future__ import annotations

import errno
import socket
from typing import Final, NamedTuple

from mcp_workbench.errors import CannotListen

PATH: Final = "/mcp"
"""Path of the MCP endpoint in its URL."""
BACKLOG: Final = 2048
"""Connections that may wait to be accepted; uvicorn's default."""


class Address(NamedTuple):
    """The host and port that the HTTP server listens on."""

    host: str
    port: int

    @property
    def for_this_machine(self) -> Address:
        """The address at which this machine reaches the server, if it listens on all addresses."""
        return Address({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host), self.port)  # noqa: S104 - compared

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """Read `host:port`, `[host]:port`, or a port alone, which stands for 127.0.0.1. Raises ValueError.

    The URL of the endpoint, `http://host:port/mcp`, is understood too.
    """
    text = _without_url(text)
    host, colon, port = text.rpartition(":")
    if not colon:
        host = "127.0.0.1"
    elif host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} has several colons: write an IPv6 address in brackets, as in [::1]:8000")
    if not host:
        raise ValueError(
            f"{text!r} names no host: write 127.0.0.1:{port}, or 0.0.0.0:{port} for all networks"
        )
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        is_host = not colon and text.isascii() and text.isprintable() and not text.isdecimal()
        example = f"{text}:8000" if is_host else "127.0.0.1:8000"
        raise ValueError(f"{text!r} has no port from 0 to 65535: write for example {example}")
    return Address(host, int(port))


def _without_url(text: str) -> str:
    """Return the host and port of a URL, or the text itself if it is none. Raises ValueError."""
    scheme, is_url, rest = text.partition("://")
    if not is_url:
        return text
    address, _, path = rest.partition("/")
    if scheme.lower() != "http":
        raise ValueError(f"the workbench serves plain HTTP (a reverse proxy adds TLS): write {address}")
    if path.rstrip("/") not in ("", PATH.strip("/")):
        raise ValueError(f"the path is always {PATH}: write {address}")
    return address


def listen(address: Address) -> list[socket.socket]:
    """Open the sockets of an address: several if its name has several addresses. Raises CannotListen."""
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise CannotListen(str(address), f"'{host}' is not a name of this machine ({error})") from None
    sockets: list[socket.socket] = []
    problem: OSError | None = None
    for family, _, _, _, (name, _, *_) in dict.fromkeys(found):
        try:
            sockets.append(_bind(family, str(name), sockets[0].getsockname()[1] if sockets else port))
        except OSError as error:
            problem = error
            if error.errno == errno.EADDRINUSE:
                break
    if problem is None or (sockets and problem.errno != errno.EADDRINUSE):
        return sockets
    for listener in sockets:
        listener.close()
    raise CannotListen(str(address), _explain(problem, address))


def _bind(family: int, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        # At once, so that from the log line "serving at" on connections are accepted and the port is taken.
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _explain(error: OSError, address: Address) -> str:
    if error.errno == errno.EADDRINUSE:
        other = Address(address.host, address.port + 1 if address.port < 65535 else 8000)
        return f"something listens there already. End it, or choose another port: --http {other}"
    if error.errno == errno.EACCES:
        return "ports below 1024 are reserved for the system. Choose another: --http 127.0.0.1:8000"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address"
    return error.strerror or str(error)
