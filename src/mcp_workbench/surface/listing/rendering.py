"""Writes lists of many tools or resources beside the event loop, so that no other request waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mcp_workbench.errors import InvalidCall
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.surface.requests import Backpressure
    from mcp_workbench.workbench.client_view import ClientView

T = TypeVar("T")

FEW_ENTRIES: Final = 100
"""Entries that are written in less than 10 ms."""
LIMIT_SECONDS: Final = 60.0


async def rendered(view: ClientView, backpressure: Backpressure, entries: int, make: Callable[[], T]) -> T:
    """What `make` returns, once the client takes what it is sent. With many entries it runs in a thread, one
    at a time, and principals take turns: each such thread takes the interpreter from the event loop for 5 ms
    at a time. Raises CallError.
    """
    # A list may have megabytes, and a client that does not read may ask for it again and again.
    await backpressure.wait()
    if entries <= FEW_ENTRIES:
        return make()
    try:
        async with view.rendering.place(view.principal.name):
            await backpressure.wait()  # which the list before may have filled
            return await in_thread(make, LIMIT_SECONDS)
    except TimeoutError:
        reason = f"the list could not be written within {LIMIT_SECONDS:g} s"
        raise InvalidCall(f"{reason}. Ask for less of it, with query or tools") from None
