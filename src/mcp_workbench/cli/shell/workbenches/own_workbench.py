"""A workbench in the process of the command, which ends with the command."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import OpeningFailed, StartError
from mcp_workbench.library.log_masking import masking_handler
from mcp_workbench.serve.running import Service
from mcp_workbench.surface.client_connection import ClientConnection
from mcp_workbench.surface.client_session import ClientSession
from mcp_workbench.surface.output import SingleOutput
from mcp_workbench.surface.questions.parking import ParkedCalls
from mcp_workbench.surface.questions.sealing import Seal
from mcp_workbench.wire.message import encode, notification_line, request_line
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.toolbox import Opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp_workbench.cli.shell.workbenches.connection import OnMessage
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.wire.message import Body, Outgoing
    from mcp_workbench.workbench.client_view import SearchFindings
    from mcp_workbench.workbench.toolbox import Toolbox
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

INTERRUPTED: Final = "the user interrupted the command"


class _NoBackpressure:
    """The output of a client that takes every message at once, because it is in the same process."""

    async def wait(self) -> None:
        """Return at once: there is always space."""


class _Envelope(msgspec.Struct):
    id: int | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


class OwnWorkbench:
    """The toolboxes of a configuration, served to one client in the same process."""

    def __init__(self, view: ClientView, parking: ParkedCalls) -> None:
        self._view = view
        self._parking = parking
        self._waiting: dict[int, tuple[asyncio.Future[bytes], OnMessage]] = {}
        session = ClientSession(view, parking, Seal(os.environ))
        self._connection = ClientConnection(session, SingleOutput(self._take), _NoBackpressure())

    @property
    def toolboxes(self) -> Mapping[str, Toolbox]:
        """The toolboxes of the configuration."""
        return self._view.toolboxes

    async def exchange(self, request_id: int, method: str, params: Body, on_message: OnMessage) -> bytes:
        """Send a request and return the line of its response. A cancelled one is cancelled downstream."""
        response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = response, on_message
        self._connection.receive(request_line(request_id, method, bytes(params)))
        try:
            return await response
        except asyncio.CancelledError:
            cancelled = encode({"requestId": request_id, "reason": INTERRUPTED})
            self._connection.receive(notification_line("notifications/cancelled", cancelled))
            raise
        finally:
            del self._waiting[request_id]

    async def open(self, toolbox: Toolbox, server: ToolboxServer | None) -> Opening:
        """Connect the servers of a toolbox, or one of them, and list their tools. Raises CallError."""
        if server is None:
            try:
                return await self._view.open(toolbox.name, modern=True)
            except OpeningFailed as error:
                return Opening(toolbox, [], [], list(error.failures))
        try:
            return Opening(toolbox, [(server, await server.tools(modern=True))], [], [])
        except StartError as error:
            return Opening(toolbox, [], [], [error])

    async def find(self, query: str, limit: int, toolbox: str | None) -> SearchFindings:
        """Search the known tools of a toolbox, or of all. Starts nothing. Raises CallError."""
        return await self._view.find((query,), limit, toolbox)

    def close(self) -> None:
        """End what is still in flight. The servers are ended by whoever made the workbench."""
        self._connection.close()
        self._parking.close()

    def _take(self, message: Outgoing) -> None:
        line = message if isinstance(message, bytes) else b"".join(map(bytes, message))
        number = _decode_envelope(line).id
        if number is None:
            for _, on_message in list(self._waiting.values()):
                on_message(line)
        elif number in self._waiting and not (response := self._waiting[number][0]).done():
            response.set_result(line)


@asynccontextmanager
async def own_workbench(loaded: LoadedConfig, *, has_policy: bool = True) -> AsyncIterator[OwnWorkbench]:
    """Make a workbench of a configuration. No server starts before it is used, and all end with it.

    Without the policy all tools can be seen, those that are hidden from clients too.
    """
    log_handler = masking_handler()
    log_handler.hide(loaded.secrets)
    service = Service(loaded, os.environ, log_handler, has_policy=has_policy)
    try:
        workbench = OwnWorkbench(ClientView(service.workbench, takes_whole_results=True), ParkedCalls())
        try:
            yield workbench
        finally:
            workbench.close()
    finally:
        await service.close()
