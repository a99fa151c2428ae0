"""Loads what HTTP needs where nobody has to wait for it: in a thread."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.downstream.remote.client import HttpClient


def warm_up() -> None:
    """Begins to load it, for whoever will want it later."""
    threading.Thread(target=_load, daemon=True).start()


async def load() -> type[HttpClient]:
    """What it takes to talk HTTP."""
    return await asyncio.to_thread(_load)


def _load() -> type[HttpClient]:
    import mcp_workbench.downstream.oauth  # noqa: F401, PLC0415 - it is wanted next
    from mcp_workbench.downstream.remote import client  # noqa: PLC0415 - a third of a second, the first time

    client.tls_context()
    return client.HttpClient
