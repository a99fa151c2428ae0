"""Bringing a server up: the way to it, the era that it speaks, its tools; and why not, in words.

Owns the steps from a configuration to a conversation. What becomes of them afterwards is `server`'s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_workbench.downstream import diagnosis
from mcp_workbench.downstream.eras import PATIENCE, REMOTE_PATIENCE, open_conversation
from mcp_workbench.errors import ConnectionClosed, LoginRequired, RequestTimeout, StartError, WireError
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.era_memory import Era, EraMemory
    from mcp_workbench.downstream.link import Link


class DiedOnProbe(Exception):
    """It went away after the probe, before anything was agreed: worth another attempt, without one."""


class Start:
    """One start of a server, in one attempt or two."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        mask: Callable[[str], str],
        memory: EraMemory,
        *,
        has_failed: bool,
    ) -> None:
        self._name = name
        self._config = config
        self._mask = mask
        self._memory = memory
        self._forced = _forced_era(config)
        self._recalled = memory.recall(self._identity) if self._forced is None else None
        # One that has just failed is not probed: it may have ended because of that, and if not, to find that
        # out would take two starts each time. A modern one says so when it is greeted as a legacy one; one
        # that speaks both does not, so what comes of it is not remembered.
        self._is_guessing = has_failed and self._recalled is None and config.url is None
        self._expected: Era | None = "legacy" if self._is_guessing else self._recalled

    async def attempt(self, link: Link, connection: Connection) -> Era:
        """Opens the link, and returns when the server can be used. Raises StartError or DiedOnProbe."""
        try:
            await link.open(connection)
            era = await self._get_ready(link, connection)
        except StartError:
            self._memory.forget(self._identity)
            raise
        if self._forced is None and era != self._recalled and not self._is_guessing:
            self._memory.remember(self._identity, era)
        return era

    async def _get_ready(self, link: Link, connection: Connection) -> Era:
        session, limit = connection.session, self._config.startup_timeout
        era: Era | None = None
        wants_login = False
        try:
            async with asyncio.timeout(limit):
                era = await open_conversation(
                    session,
                    forced=self._forced,
                    remembered=self._expected,
                    limit=limit,
                    patience=PATIENCE if self._config.url is None else REMOTE_PATIENCE,
                )
                await connection.list_tools(limit)
        except ConnectionClosed as error:
            if self._forced is None and self._expected != "legacy" and era is None:
                # Servers on some SDKs end themselves when the first message is not `initialize`.
                self._expected = "legacy"
                raise DiedOnProbe from None
            reason, hint = f"{error} before it could be used", diagnosis.hint_on_exit(self._config)
        except (RequestTimeout, TimeoutError):
            reason, hint = f"it was not ready within {limit:g} s", diagnosis.hint_on_silence(self._config)
        except WireError as error:
            reason, hint = self._mask(str(error)), error.hint
            wants_login = isinstance(error, LoginRequired)
        else:
            return era
        last_words = diagnosis.tail(link.last_words)
        raise StartError(self._name, reason, stderr=last_words, hint=hint, wants_login=wants_login)

    @property
    def _identity(self) -> str:
        """What makes this configuration this one, with secrets left out: the key of its remembered era."""
        config = self._config
        if config.url is not None:
            words = [config.url, config.transport, *sorted(config.headers)]
        else:
            words = [config.command or "", *config.args, config.cwd or ""]
        return encode([self._mask(word) for word in words]).decode()


def _forced_era(config: ServerConfig) -> Era | None:
    """The era that the configuration leaves no choice about."""
    if config.protocol == "auto":
        # The transport of before is one of legacy servers.
        return "legacy" if config.transport == "sse" else None
    return config.protocol
