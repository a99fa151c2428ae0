"""Prepares what a server sends for the client: drops reserved metadata, names the server in log messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.protocol.names import META_PROGRESS, RESERVED_META
from mcp_workbench.wire.message import ABSENT, decode_text, encode, members_of, notification_line

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.wire.message import Outgoing

    Members = dict[str, msgspec.Raw]


def passed_on(params: Members, **stamps: object) -> dict[str, object]:
    """Return a server's parameters for the client: without reserved metadata, and with these stamps in it."""
    if "_meta" not in params:
        return {**params, "_meta": stamps} if stamps else {**params}
    meta = members_of(params["_meta"])
    kept = {key: meta[key] for key in meta if key != META_PROGRESS and not key.startswith(RESERVED_META)}
    return {**params, "_meta": {**kept, **stamps}}


def log_line(session: Session, members: Members) -> Outgoing:
    """Return a server's log message for the client, with `toolbox/server` in the name of its logger."""
    logger = decode_text(members.get("logger", ABSENT))
    name = f"{session.label}/{logger}" if logger else session.label
    return notification_line("notifications/message", encode({**passed_on(members), "logger": name}))
