"""A client's use of a tool, from its arrival to its answer.

This is the hot path: where the server is up and has the tool, as nearly always, a call is a callback when it
comes and a callback when it is answered, without a task between them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from mcp_workbench.errors import BadAnswer, CallError
from mcp_workbench.protocol import META_PROGRESS
from mcp_workbench.surface.requests import progress_token
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.session import Call, Stamps
    from mcp_workbench.errors import WireError
    from mcp_workbench.surface.requests import Meta
    from mcp_workbench.wire.message import Body, Id
    from mcp_workbench.workbench.shelf import Shelf

log = logging.getLogger(__name__)


class Client(Protocol):
    """Where a call comes from."""

    def answer(self, request_id: Id, result: Body, stamps: Stamps | None, *, modern: bool) -> None:
        """Ends the call with a server's result, whose stamps may have been read already."""

    def refuse(self, request_id: Id, error: CallError, *, modern: bool) -> None:
        """Ends the call with a result that says why it failed."""

    def answer_fault(self, request_id: Id) -> None:
        """Ends the call where the workbench itself has failed."""

    def report(self, progress: bytes) -> None:
        """Passes on the parameters of a progress notification."""


class Use:
    """One call in flight."""

    __slots__ = ("_client", "_id", "_meta", "_modern", "_shelf", "_tool", "_work")

    def __init__(
        self, client: Client, request_id: Id, shelf: Shelf, tool: str, meta: Meta, *, modern: bool
    ) -> None:
        self._client = client
        self._id = request_id
        self._shelf = shelf
        self._tool = tool
        self._meta = meta
        self._modern = modern
        self._work: Call | asyncio.Task[None] | None = None

    def start(self, arguments: Body) -> None:
        """Calls the tool, at once if it can be; else when its server is ready."""
        self._work = self._shelf.call_now(self._tool, arguments, self._meta, self)
        if self._work is None:
            self._work = asyncio.create_task(self._start_later(arguments))

    def cancel(self) -> None:
        """The client does not want it any more, and gets no answer."""
        if self._work is not None:
            self._work.cancel()

    def on_result(self, result: msgspec.Raw, stamps: Stamps | None) -> None:
        """Passes the result on as it came."""
        try:
            self._client.answer(self._id, result, stamps, modern=self._modern)
        except BadAnswer as error:
            self.on_failure(error)
        except Exception:
            log.exception("request %r failed inside the workbench", self._id)
            self._client.answer_fault(self._id)

    def on_failure(self, error: WireError) -> None:
        """Says what went wrong."""
        try:
            self._client.refuse(self._id, self._shelf.explain(self._tool, error), modern=self._modern)
        except Exception:
            log.exception("request %r failed inside the workbench", self._id)
            self._client.answer_fault(self._id)

    def on_progress(self, members: dict[str, msgspec.Raw]) -> None:
        """Passes progress on under the caller's own token, or nowhere if the caller gave none."""
        if (token := progress_token(self._meta)) is not None:
            members[META_PROGRESS] = token
            fields = b",".join(b"%b:%b" % (encode(key), value) for key, value in members.items())
            self._client.report(b"{%b}" % fields)

    async def _start_later(self, arguments: Body) -> None:
        try:
            self._work = await self._shelf.call(self._tool, arguments, self._meta, self)
        except CallError as error:
            self._client.refuse(self._id, error, modern=self._modern)
        except Exception:
            log.exception("request %r failed inside the workbench", self._id)
            self._client.answer_fault(self._id)
