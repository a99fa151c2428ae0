"""The deprecated HTTP+SSE transport: one event stream from the server, and an address for requests to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.remote.events import EventParser
from mcp_workbench.downstream.remote.http_flow import ACCEPT, ACCEPT_EVENTS, EVENTS, drain
from mcp_workbench.errors import BadAnswer, BadStatus, BrokenOff, WireError
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from mcp_workbench.downstream.remote.client import HttpResponse
    from mcp_workbench.downstream.remote.http_flow import HttpFlow
    from mcp_workbench.wire.message import Message

ENDPOINT_TIMEOUT_SECONDS: Final = 10.0
"""Seconds from the start of the stream until the server names the address for requests."""


class HttpSse:
    """One session over HTTP+SSE. It lasts for as long as its event stream."""

    def __init__(self, flow: HttpFlow, on_lost: Callable[[str], None]) -> None:
        self._flow = flow
        self._on_lost = on_lost
        self._address: asyncio.Future[httpx2.URL] = asyncio.get_running_loop().create_future()

    async def opened(self) -> None:
        """Wait until the server has named the address for requests. Raises WireError."""
        try:
            async with asyncio.timeout(ENDPOINT_TIMEOUT_SECONDS):
                await outcome_of(self._address)
        except TimeoutError:
            raise BadAnswer(
                f"it did not say within {ENDPOINT_TIMEOUT_SECONDS:g} s where to send requests"
            ) from None

    async def listen(self) -> None:
        """Deliver what the server sends, until the event stream ends."""
        try:
            async with self._flow.client.stream("GET", [ACCEPT_EVENTS]) as response:
                await self._take(response)
        except WireError as error:
            if self._address.done():
                self._on_lost(str(error))
            else:
                self._address.set_exception(error)
                self._address.exception()  # retrieved: the caller may have been cancelled

    async def _take(self, response: HttpResponse) -> None:
        if not 200 <= response.status < 300:
            raise (await self._flow.refusal(None, response, has_session=False)).error()
        if response.content_type != EVENTS:
            kind = response.content_type or "an unknown content type"
            raise BadStatus(response.status, f"it answered with {kind}, and not with a stream of events")
        parser = EventParser(self._flow.limit)
        while (events := await self._flow.events(response, parser)) is not None:
            for event in events:
                if event.name == "endpoint" and not self._address.done():
                    self._address.set_result(self._read_address(bytes(event.data).decode(errors="replace")))
                elif event.name == "message" and event.data:
                    self._flow.receive(event.data)
        raise BrokenOff("the server closed its stream of events")

    def _read_address(self, text: str) -> httpx2.URL:
        if (url := self._flow.client.join(text.strip())) is None:
            raise BadAnswer("it asks for requests to be sent to another server, which is refused")
        return url

    async def send(self, message: Message, body: bytes) -> None:
        """Send a message. The response arrives on the event stream. Raises WireError."""
        async with self._flow.post([ACCEPT], body, self._address.result()) as response:
            if not 200 <= response.status < 300:
                raise (await self._flow.refusal(message, response, has_session=False)).error()
            await drain(response)

    async def end(self) -> None:
        """Do nothing: the session ends with its event stream."""
