"""A peer with both ends of its wire in the test's hands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_workbench.wire.peer import Peer

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.errors import Undecodable
    from mcp_workbench.wire.message import Id, Outgoing


def whole(line: Outgoing) -> bytes:
    """A line as it arrives, however it was sent."""
    return line if isinstance(line, bytes) else b"".join(line)


class Wire:
    """What the peer wrote, and all that it handed on because it was no answer."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.handled: list[tuple[Any, ...]] = []
        self.peer = Peer(lambda line: self.lines.append(whole(line)), self)

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        self.handled.append(("request", request_id, method, bytes(params)))

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        self.handled.append(("notification", method, bytes(params)))

    def on_garbage(self, problem: Undecodable) -> None:
        self.handled.append(("garbage", str(problem)))

    @property
    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def answer(self, request_id: object, result: object) -> None:
        self.peer.receive(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode())
