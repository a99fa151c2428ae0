"""Starts a server: opens the link, negotiates a protocol version and lists the tools, or explains why not.

Owns the steps from a configuration to a conversation. `supervisor` owns the connection afterwards.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.conversation.negotiation import (
    PATIENCE_SECONDS,
    REMOTE_PATIENCE_SECONDS,
    open_conversation,
)
from mcp_workbench.downstream.diagnosis import calls
from mcp_workbench.errors import ConnectionClosed, RequestTimeout, StartError, WireError
from mcp_workbench.protocol.names import MODERN
from mcp_workbench.storage.protocol_versions import Versions
from mcp_workbench.wire.message import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.negotiation import Agreed, Approach
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.link import Link


PROBING: Final = ("modern first", "probe")
"""The approaches whose first message is not `initialize`."""


class RetryStart(Exception):
    """The start is worth another attempt with another approach; the message says why."""


class Start:
    """One start of a server, in up to three attempts."""

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        mask: Callable[[str], str],
        known: Versions,
        environ: Mapping[str, str],
        *,
        for_modern: bool,
        has_failed: bool,
    ) -> None:
        self._name = name
        self._config = config
        self._mask = mask
        self._environ = environ
        self._may_be_modern = known.modern is not False
        self._dies_on_probe = False
        self._cannot_ask = False
        """Whether the server cannot send requests in a legacy session."""
        self._approach = approach(config, known, for_modern=for_modern, has_failed=has_failed)

    async def attempt(self, link: Link, connection: Connection) -> Agreed:
        """Open the link, and return when the server is ready. Raises StartError or RetryStart."""
        await link.open(connection)
        agreed = await self._get_ready(link, connection)
        if self._dies_on_probe:
            return msgspec.structs.replace(agreed, learned=Versions(legacy=True, modern=False))
        if self._cannot_ask and agreed.protocol == MODERN:
            return msgspec.structs.replace(agreed, learned=Versions(legacy=False, modern=True))
        return agreed

    async def _get_ready(self, link: Link, connection: Connection) -> Agreed:
        session, limit = connection.session, self._config.startup_timeout
        agreed: Agreed | None = None
        try:
            async with asyncio.timeout(limit):
                agreed = await open_conversation(
                    session,
                    self._approach,
                    limit=limit,
                    patience=PATIENCE_SECONDS if self._config.url is None else REMOTE_PATIENCE_SECONDS,
                )
                self._review(session, agreed)
                await connection.list_tools(limit)
        except (WireError, TimeoutError) as error:
            if isinstance(error, ConnectionClosed) and self._approach in PROBING and agreed is None:
                # Servers on some SDKs exit when the first message is not `initialize`.
                self._approach = "legacy first"
                self._dies_on_probe = True
                self._may_be_modern = False
                raise RetryStart("it ended when it was asked for its protocol version") from None
            raise self._failure(error, link, session, is_listing=agreed is not None) from None
        return agreed

    def _failure(
        self, error: WireError | TimeoutError, link: Link, session: Session, *, is_listing: bool
    ) -> StartError:
        """Return why the server is not ready, and what the user can do about it."""
        from mcp_workbench.downstream.diagnosis import starts  # noqa: PLC0415 - few starts fail

        last_lines = link.last_stderr_lines
        words = starts.LastWords([self._mask(line) for line in session.skipped_lines], last_lines)
        if isinstance(error, ConnectionClosed):
            failure = starts.on_exit(self._config, str(error), link.exit_code, words, self._environ)
        elif isinstance(error, (RequestTimeout, TimeoutError)):
            failure = starts.on_silence(self._config, words)
        else:
            failure = starts.on_wire_error(error, is_listing=is_listing)
        return StartError(
            self._name,
            self._mask(failure.reason),
            stderr=calls.tail(last_lines),
            hint=self._mask(failure.hint),
            cause=failure.cause,
        )

    def _review(self, session: Session, agreed: Agreed) -> None:
        """Raise RetryStart for a legacy session in which the server cannot send requests, if it may speak
        the modern protocol too: there it can ask questions.
        """
        is_best = session.can_push or not self._may_be_modern
        if self._approach == "legacy first" and agreed.protocol == "legacy" and not is_best:
            self._cannot_ask = True
            self._approach = "modern first"
            raise RetryStart("it cannot ask anything in this session, and may be able to in a modern one")


def approach(config: ServerConfig, known: Versions, *, for_modern: bool, has_failed: bool) -> Approach:
    """Return how to open the conversation for a legacy or modern client with what is known."""
    forced = configured_versions(config)
    if forced is not None:
        return "only modern" if forced.modern else "only legacy"
    if not for_modern:
        return "modern first" if known.legacy is False else "legacy first"
    if known.modern is not None:
        return "modern first" if known.modern else "legacy first"
    # A server that has just failed is not probed: the probe may be why it ended, and to find that out would
    # take two starts each time.
    return "legacy first" if has_failed and config.url is None else "probe"


def configured_versions(config: ServerConfig) -> Versions | None:
    """Return the versions that the server speaks according to the configuration; None if it does not say."""
    if config.protocol == MODERN:
        return Versions(legacy=False, modern=True)
    # Only legacy servers use the HTTP+SSE transport.
    if config.protocol == "legacy" or config.transport == "sse":
        return Versions(legacy=True, modern=False)
    return None


def identity_of(config: ServerConfig, mask: Callable[[str], str]) -> str:
    """Return the key for the known versions of a server: its configuration without secrets."""
    if config.url is not None:
        words = [config.url, config.transport, *sorted(config.headers)]
    else:
        words = [config.command or "", *config.args, config.cwd or ""]
    return encode([mask(word) for word in words]).decode()
