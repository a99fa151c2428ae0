"""Our names for the resources and prompts of servers: each contains its toolbox and server.

A resource is `workbench:<toolbox>/<server>/<its own URI>`, a prompt `<toolbox>/<server>/<its own name>`. The
names of toolbox and server are percent-encoded, so that they contain no slash. The server's own part is not
encoded, so that a wrapped URI template expands to the wrapped form of its expansion.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

SCHEME: Final = "workbench:"

_RESERVED: Final = r"[^A-Za-z0-9._~-]"
_URI: Final = r"[A-Za-z][A-Za-z0-9+.-]*:"
_ENCODED: Final = rb"%([0-9A-Fa-f]{2})"
_PARTS: Final = 3


class QualifiedName(msgspec.Struct, frozen=True):
    """The toolbox and server of a resource or prompt, and its name or URI there."""

    toolbox: str
    server: str
    name: str


def wrap_uri(qualified: QualifiedName) -> str:
    """Return our URI, or URI template, for a server's own."""
    return f"{SCHEME}{wrap_name(qualified)}"


def wrap_name(qualified: QualifiedName) -> str:
    """Return our name for a server's own."""
    return f"{_encode(qualified.toolbox)}/{_encode(qualified.server)}/{qualified.name}"


def unwrap_uri(uri: str) -> QualifiedName | None:
    """Split a URI of ours; None if it does not have the form."""
    return unwrap_name(uri[len(SCHEME) :]) if is_wrapped(uri) else None


def unwrap_name(name: str) -> QualifiedName | None:
    """Split a name of ours; None if it does not have the form."""
    parts = name.split("/", _PARTS - 1)
    if len(parts) < _PARTS or not all(parts):
        return None
    toolbox, server, own = parts
    try:
        return QualifiedName(_decode(toolbox), _decode(server), own)
    except UnicodeDecodeError:
        return None


def is_wrapped(uri: str) -> bool:
    """Whether a URI has our scheme. Schemes ignore case."""
    return uri[: len(SCHEME)].lower() == SCHEME


def is_uri(text: str) -> bool:
    """Whether a text may be a URI: it begins with a scheme."""
    return re.match(_URI, text) is not None


def _encode(name: str) -> str:
    return re.sub(_RESERVED, lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def _decode(name: str) -> str:
    return re.sub(_ENCODED, lambda found: bytes.fromhex(found[1].decode()), name.encode()).decode()
