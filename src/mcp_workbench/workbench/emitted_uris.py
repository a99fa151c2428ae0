"""Remembers which server has sent which resource URIs to a client, so that each is read from its server."""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_workbench.config import Origin


MAX_URIS_PER_SERVER: Final = 4000
"""URIs that are remembered of one server. With one limit for all, a server could displace another's URIs."""
DIGEST_BYTES: Final = 16


class EmittedUris:
    """The URIs that servers have sent to one client in results, by server.

    Kept as digests: a URI can have kilobytes, and is only ever compared as a whole. Spellings of one URI that
    clients treat as equal have the same digest.
    """

    def __init__(self) -> None:
        self._seen: dict[Origin, OrderedDict[bytes, None]] = {}
        self.incomplete: set[Origin] = set()
        """The servers that have sent more URIs than are remembered, so that any URI could be theirs."""

    def note(self, origin: Origin, uri: str) -> None:
        """Remember that a server has sent this URI. The URI that was not sent for longest is forgotten."""
        seen = self._seen.setdefault(origin, OrderedDict())
        key = _digest(uri)
        seen[key] = None
        seen.move_to_end(key)
        if len(seen) > MAX_URIS_PER_SERVER:
            seen.popitem(last=False)
            self.incomplete.add(origin)

    def origins(self, uri: str) -> list[Origin]:
        """Return the servers that have sent this URI, as far as that is remembered."""
        if not self._seen:
            return []
        key = _digest(uri)
        return [origin for origin, seen in self._seen.items() if key in seen]


def _digest(uri: str) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 - it loads OpenSSL, and the start does without it

    return blake2b(same_for_all(uri).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


_PORTS: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}
"""The schemes that URL parsers know, with the port that they omit."""
_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""Characters that parsers remove at both ends."""
_PLAIN: Final = (
    r"(?:file://|https?://[a-z][a-z0-9-]*+(?:\.[a-z][a-z0-9-]*+)++)"
    r"(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*+)++"
)
"""Matches nearly all URIs of files and pages, which need no normalisation."""
_URI: Final = r"([A-Za-z][A-Za-z0-9+.-]*):([^?#]*)(.*)"


def same_for_all(uri: str) -> str:
    """Return the spelling that stands for a URI. Different URIs share one if a client could confuse them."""
    if re.fullmatch(_PLAIN, uri):
        return uri
    found = re.fullmatch(_URI, re.sub(r"[\t\n\r]", "", uri).strip(_TRIMMED), re.DOTALL)
    if found is None:
        return uri
    scheme, place, rest = found[1].lower(), found[2], _unquoted(found[3])
    is_known = scheme in _PORTS
    if is_known:
        place = place.replace("\\", "/")
    has_host = place.startswith("//") if scheme != "file" else re.match("//[^/]", place) is not None
    if not (is_known or place.startswith("/")):
        return f"{scheme}:{_unquoted(place)}{rest}"
    host = ""
    if has_host or (is_known and scheme != "file"):
        host, _, place = (place.lstrip("/") if is_known else place[2:]).partition("/")
        host = _host(host, _PORTS[scheme]) if is_known else host
    if scheme == "file" and host == "localhost":
        host = ""
    return f"{scheme}://{host}/{_resolved(_unquoted(place))}{rest}"


def _host(text: str, port: str) -> str:
    user, at, host = text.rpartition("@")
    name, _, number = host.rpartition(":") if re.search(r":\d*$", host) else (host, "", "")
    name = _unquoted(name).lower()
    if not name.isascii():
        with suppress(UnicodeError):
            name = name.encode("idna").decode()
    if re.fullmatch(r"[0-9a-fx.]+", name):
        import socket  # noqa: PLC0415 - few hosts are numbers

        with suppress(OSError):
            name = socket.inet_ntoa(socket.inet_aton(name.rstrip(".")))
    return f"{user}{at}{name}{'' if number in ('', port) else f':{number}'}"


def _resolved(path: str) -> str:
    """Return a path without empty segments, `.` and `..`."""
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    data = text.encode(errors="surrogatepass")
    plain = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), data)
    return plain.decode(errors="surrogateescape")
