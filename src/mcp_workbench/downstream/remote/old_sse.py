"""The HTTP+SSE transport of before: one stream of events for all that the server says, and an address that it
names for all that is said to it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.remote.events import EventParser
from mcp_workbench.downstream.remote.http_flow import ACCEPT, ACCEPT_EVENTS, EVENTS, drain
from mcp_workbench.errors import BadAnswer, BadStatus, BrokenOff, WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from mcp_workbench.downstream.remote.client import HttpResponse
    from mcp_workbench.downstream.remote.http_flow import HttpFlow
    from mcp_workbench.wire.message import Message

ENDPOINT_TIMEOUT_SECONDS: Final = 10.0
"""Seconds from the beginning of the stream to the address."""


class HttpSse:
    """What is known of a server that talks so. Its session lasts for as long as its stream."""

    def __init__(self, flow: HttpFlow, on_lost: Callable[[str], None]) -> None:
        self._flow = flow
        self._on_lost = on_lost
        self._address: asyncio.Future[httpx2.URL] = asyncio.get_running_loop().create_future()

    async def opened(self) -> None:
        """Returns when the server has named the address. Raises WireError."""
        try:
            async with asyncio.timeout(ENDPOINT_TIMEOUT_SECONDS):
                await asyncio.shield(self._address)
        except TimeoutError:
            raise BadAnswer(
                f"it did not say within {ENDPOINT_TIMEOUT_SECONDS:g} s where to send requests"
            ) from None

    async def listen(self) -> None:
        """Hands over what the server says, to the end of its stream."""
        try:
            async with self._flow.client.stream("GET", [ACCEPT_EVENTS]) as response:
                await self._take(response)
        except WireError as error:
            if self._address.done():
                self._on_lost(str(error))
            else:
                self._address.set_exception(error)
                self._address.exception()  # seen: whoever waited may have given up

    async def _take(self, response: HttpResponse) -> None:
        if not 200 <= response.status < 300:
            raise (await self._flow.refusal(None, response, has_session=False)).error()
        if response.content_type != EVENTS:
            kind = response.content_type or "something of no known type"
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
            raise BadAnswer("it wants requests to be sent to another server than itself, which is not done")
        return url

    async def send(self, message: Message, body: bytes) -> None:
        """Sends a message; what is said to it comes on the stream. Raises WireError."""
        async with self._flow.post([ACCEPT], body, self._address.result()) as response:
            if not 200 <= response.status < 300:
                raise (await self._flow.refusal(message, response, has_session=False)).error()
            await drain(response)

    async def end(self) -> None:
        """The end of the stream is the end of the session."""
