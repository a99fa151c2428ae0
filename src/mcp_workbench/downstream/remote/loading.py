"""Loads the HTTP library in a thread, because the import takes a third of a second."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.downstream.remote.client import HttpClient


def warm_up() -> None:
    """Begin to load the HTTP library in the background."""
    threading.Thread(target=_load, daemon=True).start()


async def load() -> type[HttpClient]:
    """Return the class of HTTP clients, after loading the library."""
    return await asyncio.to_thread(_load)


def _load() -> type[HttpClient]:
    import mcp_workbench.downstream.oauth  # noqa: F401, PLC0415 - it is wanted next
    from mcp_workbench.downstream.remote import client  # noqa: PLC0415 - a third of a second, the first time

    client.tls_context()
    return client.HttpClient
