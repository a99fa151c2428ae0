"""Writes what a server offers to the catalogue, in the background and with secrets masked."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.storage.catalogue import Record, identity_of
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import Origin, Secrets, ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.storage.catalogue import Catalogue
    from mcp_workbench.storage.protocol_versions import SpokenProtocol

DELAY_SECONDS: Final = 1.0
"""Seconds before a record is written: the caller that opened the server goes first, and of a server that
changes its list all the time only some lists are written."""
WRITE_TIMEOUT_SECONDS: Final = 1.0
"""Seconds that closing a server waits for its record to be written."""


class Recorder:
    """Reads and writes the record of one server in the catalogue."""

    def __init__(
        self,
        origin: Origin,
        config: ServerConfig,
        secrets: Secrets,
        memory: Catalogue,
        mask: Callable[[str], str],
    ) -> None:
        self._origin = origin
        self._memory = memory
        self._mask = mask
        self._latest: Record | None = None
        self._writing: asyncio.Task[None] | None = None
        self._is_urgent = asyncio.Event()
        self.adopt(config, secrets)

    def adopt(self, config: ServerConfig, secrets: Secrets) -> None:
        """Apply a changed configuration."""
        self._config = config
        self._secrets = secrets
        self._identity = ""

    def recall(self) -> Record | None:
        """Return what the server offered when it was last listed, by any process; None if not known."""
        return self._memory.recall(self._key)

    def take(self, connection: Connection, protocol: SpokenProtocol) -> None:
        """Schedule a record of what the server has just listed. A later list may replace it."""
        offer = connection.session.offer
        self._latest = Record(connection.listed, offer.server_info, protocol, time.time(), offer.instructions)
        if self._writing is None:
            self._is_urgent.clear()
            self._writing = asyncio.create_task(self._write())

    def hasten(self) -> tuple[asyncio.Task[None], ...]:
        """Write without delay, and return the task to wait for, if any."""
        self._is_urgent.set()
        return () if self._writing is None else (self._writing,)

    @property
    def _key(self) -> str:
        if not self._identity:
            self._identity = identity_of(self._origin, self._config, self._secrets.mask)
        return self._identity

    async def _write(self) -> None:
        try:
            while self._latest is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(DELAY_SECONDS):
                        await self._is_urgent.wait()
                record, self._latest = self._latest, None
                with suppress(TimeoutError):  # the thread goes on
                    await in_thread(partial(self._keep, self._key, record), WRITE_TIMEOUT_SECONDS)
        finally:
            self._writing = None

    def _keep(self, identity: str, record: Record) -> None:
        self._memory.keep(identity, masked(record, self._mask))


def masked(record: Record, mask: Callable[[str], str]) -> Record:
    """Return the record with secrets masked. Tools that could not be called then are left out."""
    from mcp_workbench.downstream.definitions import (  # noqa: PLC0415 - the start does without it
        masked_json,
        masked_tools,
        objects_of,
    )

    tools, _ = masked_tools(objects_of(record.tools), mask)
    return msgspec.structs.replace(
        record,
        tools=tools,
        server_info=masked_json(record.server_info, mask),
        instructions=mask(record.instructions),
    )
