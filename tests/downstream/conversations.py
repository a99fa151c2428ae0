"""A server in memory that answers by a script, and the whole of what it was told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.downstream.conversation.listeners import Listeners
from mcp_workbench.downstream.conversation.negotiation import open_conversation
from mcp_workbench.downstream.conversation.session import Session
from mcp_workbench.wire.lines import MAX_LINE_BYTES
from tests.wire.loops import now
from tests.wire.wires import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.downstream.conversation.negotiation import Agreed, Approach
    from mcp_workbench.storage.protocol_versions import SpokenProtocol
    from mcp_workbench.wire.message import Outgoing

LIMIT = 30.0
"""Seconds that a server has to come to an agreement."""

MODERN: Final = "2026-07-28"
DISCOVERED = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}'
INITIALIZED = '{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}'

PROBE = (0.0, "server/discover")
AT_ONCE = (0.0, "initialize")


@dataclass(frozen=True)
class Say:
    """An answer: its body as raw JSON text (`"result":…`), and how many seconds it takes."""

    body: str
    after: float = 0.0


@dataclass(frozen=True)
class HangUp:
    """The connection ends in place of an answer."""

    after: float = 0.0


def result(text: str, after: float = 0.0) -> Say:
    return Say(f'"result":{text}', after)


def error(code: int, data: object = None, after: float = 0.0) -> Say:
    body = {"code": code, "message": "no", **({} if data is None else {"data": data})}
    return Say(f'"error":{json.dumps(body)}', after)


@dataclass
class Conversation:
    """One conversation with a server that answers each method as the script says, or not at all."""

    script: Mapping[str, Say | HangUp]
    heard: list[tuple[float, str]] = field(default_factory=list)
    """When each message came, and its method."""
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = Session(
            ("dev", "scripted"),
            self._take,
            Listeners(),
            on_tools_changed=lambda: None,
            on_silence=lambda: None,
            line_limit=MAX_LINE_BYTES,
        )

    async def open(self, approach: Approach = "probe") -> SpokenProtocol:
        return (await self.agree(approach)).protocol

    async def agree(self, approach: Approach) -> Agreed:
        return await open_conversation(self.session, approach, limit=LIMIT)

    def _take(self, line: Outgoing) -> None:
        message = json.loads(whole(line))
        method = message["method"]
        self.heard.append((now(), method))
        self.messages.append(message)
        answer = self.script.get(method)
        loop = asyncio.get_running_loop()
        if isinstance(answer, HangUp):
            loop.call_later(answer.after, self.session.peer.close, "the server exited with code 1")
        elif answer is not None:
            text = f'{{"jsonrpc":"2.0","id":{message["id"]},{answer.body}}}'
            loop.call_later(answer.after, self.session.peer.receive, text.encode())
