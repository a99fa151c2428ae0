"""Writes long lists of tools or resources in a thread, so that no other request waits for them."""

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
TIMEOUT_SECONDS: Final = 60.0
"""Time for writing a list in a thread."""


async def rendered(view: ClientView, backpressure: Backpressure, entries: int, make: Callable[[], T]) -> T:
    """Return what `make` returns, once the client's output has space. Raises CallError.

    With many entries `make` runs in a thread, one at a time, and principals take turns: each such thread
    holds the interpreter for up to 5 ms at a time.
    """
    # A client that does not read may ask again and again for a list of megabytes.
    await backpressure.wait()
    if entries <= FEW_ENTRIES:
        return make()
    try:
        async with view.rendering.place(view.principal.name):
            await backpressure.wait()  # the list before may have filled the output
            return await in_thread(make, TIMEOUT_SECONDS)
    except TimeoutError:
        reason = f"the list could not be written within {TIMEOUT_SECONDS:g} s"
        raise InvalidCall(f"{reason}. Ask for less of it, with query or tools") from None
