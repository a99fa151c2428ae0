"""Checks the headers of an HTTP request that the protocol has rules for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.protocol.headers import ENCODED_START, NAMED_BY, decode_value
from mcp_workbench.protocol.names import HEADER_MISMATCH, INVALID_REQUEST, LEGACY_VERSIONS
from mcp_workbench.surface.http.exchange import Rejected
from mcp_workbench.wire.message import decode_text

if TYPE_CHECKING:
    from mcp_workbench.surface.http.exchange import HttpExchange
    from mcp_workbench.surface.http.posted import PostedMessage
    from mcp_workbench.wire.message import Id

VERSION: Final = b"mcp-protocol-version"
METHOD: Final = b"mcp-method"
NAME: Final = b"mcp-name"
SESSION: Final = b"mcp-session-id"
LAST_EVENT: Final = b"last-event-id"


def require_json(exchange: HttpExchange) -> None:
    """Require JSON as content type, and both JSON and events as accepted. Raises Rejected."""
    kind = exchange.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Rejected(415, INVALID_REQUEST, "Unsupported Media Type: send application/json")
    if not (_accepts(exchange, b"application/json") and _accepts(exchange, b"text/event-stream")):
        both = "Not Acceptable: accept both application/json and text/event-stream"
        raise Rejected(406, INVALID_REQUEST, both)


def require_events(exchange: HttpExchange) -> None:
    """Require that the client accepts events. Raises Rejected."""
    if not _accepts(exchange, b"text/event-stream"):
        raise Rejected(406, INVALID_REQUEST, "Not Acceptable: accept text/event-stream")


def is_modern(exchange: HttpExchange, posted: PostedMessage) -> bool:
    """Whether a message uses the modern protocol, by its headers or by its metadata."""
    if posted.method != "initialize":
        version = exchange.text(VERSION)
        if version is not None and version not in LEGACY_VERSIONS:
            return True
    return bool(posted.version)


def require_match(exchange: HttpExchange, posted: PostedMessage) -> None:
    """Require that the headers of a modern request repeat its body. Raises Rejected.

    Proxies may have relied on the headers.
    """
    method, request_id = posted.method or "", posted.request_id
    if posted.version:
        # A request without a version is refused later, over stdio too.
        _compare(exchange, VERSION, decode_text(posted.version), "protocol version", request_id)
    _compare(exchange, METHOD, method, "method", request_id)
    if posted.subject:
        _compare(exchange, NAME, decode_text(posted.subject), NAMED_BY[method], request_id)


def _compare(
    exchange: HttpExchange, header: bytes, value: str | None, what: str, request_id: Id | None
) -> None:
    given = exchange.text(header)
    is_bare = given is not None and not given.startswith(ENCODED_START)
    if is_bare and given == value and len(exchange.pairs) == len(exchange.headers):
        return  # nearly always
    name = {VERSION: "MCP-Protocol-Version", METHOD: "Mcp-Method", NAME: "Mcp-Name"}[header]
    if given is None:
        problem = f"the {name} header is missing"
    elif (
        len(exchange.pairs) != len(exchange.headers) and sum(pair[0] == header for pair in exchange.pairs) > 1
    ):
        problem = f"the {name} header was sent more than once"
    elif (decode_value(given) if header == NAME else given) != value:
        problem = f"the {name} header does not match the {what} in the body"
    else:
        return
    raise Rejected(400, HEADER_MISMATCH, f"Header mismatch: {problem}", request_id=request_id)


def _accepts(exchange: HttpExchange, kind: bytes) -> bool:
    accepted = exchange.headers.get(b"accept")
    if accepted is None or kind in accepted:
        return True
    # Several `Accept` headers count as one list.
    accepted = b",".join(value for name, value in exchange.pairs if name == b"accept")
    ranges = {part.partition(b";")[0].strip().lower() for part in accepted.split(b",")}
    return not ranges.isdisjoint({kind, b"*/*", kind.partition(b"/")[0] + b"/*"})
