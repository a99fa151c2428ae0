"""A live connection to a server: the list of its tools, and whether a call can be sent."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from mcp_workbench.downstream.conversation.lists import list_all
from mcp_workbench.downstream.conversation.session import Session
from mcp_workbench.downstream.limits.call_queue import CallQueue
from mcp_workbench.errors import RequestTimeout, WireError
from mcp_workbench.fairness import Shares
from mcp_workbench.protocol.lists import TOOLS
from mcp_workbench.wire.shared import outcome_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import msgspec

    from mcp_workbench.config import Origin, ServerConfig
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.downstream.conversation.server_rights import ServerRights
    from mcp_workbench.wire.message import Outgoing

    Tools = tuple[msgspec.Raw, ...]
    Admit = Callable[["Connection", Tools, float], Awaitable[None]]

log = logging.getLogger(__name__)


RELIST_SECONDS = 1.0
"""Minimum seconds between two listings in the background: a server may announce changes without end."""
PROBE_SECONDS = 2.0
"""Seconds for a server that left a request unanswered to respond to a probe."""


def _rights_of(config: ServerConfig) -> ServerRights:
    from mcp_workbench.downstream.conversation.server_rights import rights_of  # noqa: PLC0415 - few are limited

    return rights_of(config)


class Channel(Protocol):
    """Carries the lines of a conversation to and from a server."""

    @property
    def waiting(self) -> int:
        """Number of bytes that wait for the server to read them."""

    def write(self, line: Outgoing) -> None:
        """Send a line to the server."""

    def pause(self) -> None:
        """Stop reading what the server sends."""

    def resume(self) -> None:
        """Read again what the server sends."""

    def give_up(self, reason: str) -> None:
        """Declare that the server can no longer be used, and why."""


class Connection:
    """One connection to a server: a supervisor keeps it alive, and callers send calls on it."""

    def __init__(
        self,
        origin: Origin,
        channel: Channel,
        mask: Callable[[str], str],
        config: ServerConfig,
        listeners: Listeners,
        *,
        shares: Shares | None = None,
    ) -> None:
        self._log = logging.LoggerAdapter(log, {"server": "/".join(origin)})
        self._channel = channel
        self._mask = mask
        self._refresh: asyncio.Task[None] | None = None
        self._refreshed_at = -RELIST_SECONDS
        self._changed = False
        self._is_stale = False
        """Whether the server has announced a change that `listed` does not show yet."""
        self._probe: asyncio.Task[None] | None = None
        self._is_ended = False
        self.turns = CallQueue(shares or Shares(), self._review)
        """The queue of calls that wait for their turn."""
        self.up_since: float | None = None
        """Time since when the connection is ready; None if it is not."""
        self.listed: Tools = ()
        self.notes: list[str] = []
        """Why some of the server's tools are left out of `listed`."""
        self.on_listed: Callable[[], None] = lambda: None
        """Called after the tools were listed again."""
        self.screen: Callable[[Tools], tuple[Tools, list[str]]] = lambda tools: (tools, [])
        """Returns the tools that can be called over this transport, and why others cannot."""
        self.mask_definition: Callable[[str], str] = lambda text: text
        """Masks the configured secrets in the definition of a tool."""
        self.admit: Admit = admit_all
        """Judges a list of tools, within a time in seconds, before any of them is used."""
        self.is_clear = True
        """Whether a call can be sent at once: current list, no other call next, capacity left."""
        self.session = Session(
            origin,
            channel.write,
            listeners,
            on_tools_changed=self.expect_changes,
            on_silence=self.suspect,
            line_limit=config.message_limit,
            rights=None if config.may_ask_anything else _rights_of(config),
        )
        self._peer = self.session.peer
        self._peer.on_capacity = self._review
        self.adopt(config)
        # Called by the reader directly, to save a call for each line.
        self.receive = self._peer.receive
        self.receive_rest = self._peer.receive_rest
        self.receive_overlong = self._peer.receive_overlong

    @property
    def waiting(self) -> int:
        """Number of bytes that wait for the server to read them."""
        return self._channel.waiting

    def adopt(self, config: ServerConfig) -> None:
        """Apply the limits of a changed configuration."""
        self.timeout = config.timeout
        self.session.input_timeout = config.input_timeout
        self.turns.call_limit = config.call_limit
        self._peer.limit_to(config.call_limit)
        self._review()

    async def list_tools(self, limit: float) -> None:
        """Request the list of tools, with a timeout in seconds for each page. Raises WireError."""
        from mcp_workbench.downstream.definitions import masked_in_time  # noqa: PLC0415 - the start does without

        tools, notes = self.screen(await list_all(self.session, TOOLS, limit))
        listed, left_out = await masked_in_time(tools, self.mask_definition, limit)
        await self.admit(self, listed, limit)
        self.listed = listed
        self.notes = [*notes, *left_out]

    async def tools(self) -> Tools:
        """Return the tools, listed again if the server has announced a change."""
        # At most two: the listing in progress may have been requested before the change, the next one not.
        for _ in range(2):
            if self._is_stale:
                await outcome_of(self._refreshing())
        return self.listed

    async def turn(self, principal: str = "") -> bool:
        """Wait until a call can be sent, which has to be done at once. False if the connection has ended."""
        may_pass = self._free_slots > 0 and self.turns.may_pass(principal)
        while not (may_pass or self._is_ended):
            await self.turns.wait(principal)
            may_pass = self._free_slots > 0
        return not self._is_ended

    def suspect(self) -> None:
        """Probe the server after a request timed out. A server that does not respond to that is given up."""
        if self._probe is None and not self._is_ended:
            self._probe = asyncio.create_task(self._probe_server())
            self._review()

    def expect_changes(self) -> None:
        """Have the tools listed again before they are used, because they may have changed."""
        self._changed = self._is_stale = True
        self._review()
        is_due = asyncio.get_running_loop().time() - self._refreshed_at >= RELIST_SECONDS
        if self.listed and is_due:
            self._refreshing()

    def on_full(self, is_full: bool) -> None:
        """Note whether much waits for the server to read it."""
        self.session.is_backed_up = is_full
        self._review()

    def on_unwritten(self, lines: bytes) -> None:
        """Fail the calls in these lines, which the server did not get because it had ended."""
        self._peer.take_back(lines)

    def pause(self) -> None:
        """Stop reading what the server sends, and stop the timeouts of all requests."""
        self._peer.pause()
        self._channel.pause()

    def resume(self) -> None:
        """Read again what the server sends, and continue the timeouts."""
        self._peer.resume()
        self._channel.resume()

    def close(self, reason: str) -> None:
        """Fail everything in flight."""
        self._is_ended = True
        self._peer.close(reason)
        self._review()

    @property
    def _free_slots(self) -> int:
        """Number of calls that can be sent now."""
        if self._probe or self.session.is_backed_up:
            return 0
        return self._peer.free_slots - self.turns.granted

    def _review(self) -> None:
        """Give turns to waiting calls, and update `is_clear`."""
        if self._is_ended:
            self.turns.release()
        else:
            self.turns.grant(self._free_slots)
        self.is_clear = self._free_slots > 0 and not (self._is_stale or self.turns.has_next)

    async def _probe_server(self) -> None:
        try:
            await self.session.probe(limit=PROBE_SECONDS)
        except RequestTimeout:
            reason = f"the server no longer answers anything, not even a ping within {PROBE_SECONDS:g} s"
            self._channel.give_up(reason)
        except WireError:
            pass  # the connection has ended, which is reported elsewhere
        finally:
            self._probe = None
            self._review()

    def _refreshing(self) -> asyncio.Task[None]:
        """Return the listing in progress, which all callers share; start one if there is none."""
        if self._refresh is None:
            self._changed = False
            self._refresh = asyncio.create_task(self._list_anew())
        return self._refresh

    async def _list_anew(self) -> None:
        try:
            async with asyncio.timeout(self.timeout):
                await self.list_tools(self.timeout)
            self.on_listed()
        except (WireError, TimeoutError) as error:
            reason = self._mask(str(error)) or f"not complete within {self.timeout:g} s"
            self._log.warning("its changed tools could not be listed: %s", reason)
            if isinstance(error, (RequestTimeout, TimeoutError)):
                self.suspect()
        finally:
            self._refreshed_at = asyncio.get_running_loop().time()
            self._refresh = None
            self._is_stale = self._changed
            self._review()


async def admit_all(_connection: Connection, _tools: Tools, _limit: float) -> None:
    """Use all tools: nobody judges them."""
