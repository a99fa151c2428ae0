"""One configured server: which connections there are to it, and which of them serves whom.

A server that speaks both protocol versions is spoken to in its client's: on a modern connection it could not
ask a legacy client anything by a request of its own, nor on a legacy one tell a modern client's calls apart.
So clients of either version have a connection each to it. A server that speaks one version has one
connection, and so has every server whose clients all speak the same. `supervisor` keeps a connection.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config import Secrets
from mcp_workbench.downstream.conversation.watches import ResourceWatches
from mcp_workbench.downstream.limits.waiting_calls import WaitingCalls
from mcp_workbench.downstream.recorder import Recorder
from mcp_workbench.downstream.start import configured_versions, identity_of
from mcp_workbench.downstream.supervisor import ServerContext, Supervisor, VersionMismatch
from mcp_workbench.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.downstream.conversation.negotiation import Agreed
    from mcp_workbench.downstream.conversation.offer import Offer
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.storage.catalogue import Record
    from mcp_workbench.storage.protocol_versions import Versions

State = Literal["idle", "starting", "ready", "failed", "stopping"]

MAX_ATTEMPTS: Final = 3
"""How often a connection is made for one caller, if what the server speaks turns out to be something else."""


class Server:
    """A server of a toolbox, whether there is a connection to it at the moment or not."""

    def __init__(
        self, toolbox: str, name: str, config: ServerConfig, secrets: Secrets, context: ServerContext
    ) -> None:
        self.name = name
        self.config = config
        self._origin = (toolbox, name)
        self.label = "/".join(self._origin)
        self.secrets = secrets
        self._tokens = Secrets({})
        self._context = context
        self._recorder = Recorder(self._origin, config, secrets, context.catalogue, self.mask_definition)
        self._versions: Versions | None = None
        self._supervisors: dict[bool, Supervisor] = {}
        """Who keeps the connection for legacy clients, and for modern ones: the same one, or two."""
        self._surplus: set[Supervisor] = set()
        """Those that are kept no longer, until what they have is ended."""
        self._users = 0
        self.waiting_calls = WaitingCalls(context.shares)
        """Where calls wait for it."""
        self.connections: list[Connection | None] = [None, None]
        """The connection that serves legacy clients, and the one that serves modern ones, while it is up."""
        self.before_start: Callable[[Server], None] = lambda _: None
        """Told before a process is started. May raise StartError."""
        self.watches = ResourceWatches()
        """Its resources that somebody wants to hear about."""
        self.offer: Offer | None = None
        """What it has, from when it was first up: then it is open, even if its process has ended since."""

    @property
    def up(self) -> list[Connection]:
        """The connections that are up, each once."""
        legacy, modern = self.connections
        found = (legacy, None if modern is legacy else modern)
        return [connection for connection in found if connection is not None]

    @property
    def state(self) -> State:
        """Where it is in its life."""
        supervisors = self._supervisors.values()
        if any(supervisor.connection is not None for supervisor in supervisors):
            return "ready"
        if any(supervisor.is_starting for supervisor in supervisors):
            return "starting"
        if any(supervisor.last_failure is not None for supervisor in supervisors):
            return "failed"
        return "stopping" if any(supervisor.has_remains for supervisor in supervisors) else "idle"

    @property
    def in_use(self) -> bool:
        """Whether somebody waits for it, or for an answer from it."""
        is_busy = any(supervisor.is_busy for supervisor in self._supervisors.values())
        return is_busy or self._users > 0 or self.waiting_calls.calls > 0

    @property
    def runs(self) -> bool:
        """Whether it is up or about to be."""
        return any(supervisor.is_needed for supervisor in self._supervisors.values())

    @property
    def versions(self) -> Versions:
        """Which protocol versions it is known to speak."""
        if self._versions is None:
            forced = configured_versions(self.config)
            self._versions = forced or self._context.memory.recall(self._identity)
        return self._versions

    def adopt(self, config: ServerConfig, secrets: Secrets) -> None:
        """Takes over what has changed in a configuration for the same program."""
        self.config = config
        self.secrets = secrets
        self._recorder.adopt(config, secrets)
        for connection in self.up:
            connection.adopt(config)

    def another(self, listeners: Listeners) -> Server:
        """A server of the same configuration, for this audience alone."""
        context = msgspec.structs.replace(self._context, listeners=listeners)
        return Server(*self._origin, self.config, self.secrets, context)

    async def connect(self, *, modern: bool) -> Connection:
        """The connection for modern clients or for legacy ones, with the list of tools after any change that
        the server has announced. Connects first if need be. Raises StartError.
        """
        self._users += 1
        try:
            connection = await self._connection(modern=modern)
            await connection.tools()
            return connection
        finally:
            self._users -= 1

    async def _connection(self, *, modern: bool) -> Connection:
        for _ in range(MAX_ATTEMPTS):
            supervisor = self._supervisor(modern=modern)
            other = self._supervisors.get(not modern)
            if supervisor.start_failed and other not in (None, supervisor) and other.connection is not None:
                # Some programs cannot run twice. Nobody waits while that is found out again.
                with suppress(StartError):
                    supervisor.begin_to_connect()
                return other.connection
            try:
                return await supervisor.connect()
            except VersionMismatch:
                continue  # by now it is known what the server speaks
            except StartError:
                other = self._supervisors.get(not modern)
                if other is None or other is supervisor or not other.is_needed:
                    raise
            with suppress(VersionMismatch):
                return await other.connect()
        raise StartError(self.name, "it did not keep to the protocol versions that it had agreed to")

    def _supervisor(self, *, modern: bool) -> Supervisor:
        found = self._supervisors.get(modern)
        if found is None:
            other = self._supervisors.get(not modern)
            if other is not None and self.versions.speaks(modern=modern) is False:
                found = other
                self.connections[modern] = other.connection
            else:
                found = Supervisor(self._origin, self._context, self, for_modern=modern)
            self._supervisors[modern] = found
        return found

    def on_up(self, supervisor: Supervisor, connection: Connection, agreed: Agreed) -> bool:
        """Has a new connection serve those whom it can, and keeps what was learned by it."""
        self._learn(agreed.learned)
        if not self._takes(supervisor, is_modern=connection.session.is_modern):
            return False
        self._review()
        self.offer = connection.session.offer
        connection.on_listed = lambda: self._recorder.take(connection, agreed.protocol)
        connection.on_listed()
        others = [other.session for other in self.up if other is not connection]
        self.watches.ask_again(connection.session, others)
        self._announce(self.offer)
        return True

    def _takes(self, supervisor: Supervisor, *, is_modern: bool) -> bool:
        """Whether a connection in this version is kept, and for whom."""
        kept = self._supervisors.get(is_modern)
        if kept is supervisor:
            return True
        if kept is None or not kept.is_needed:
            # No other connection is there for those who speak what the server speaks, so this one serves all.
            self._supervisors[is_modern] = supervisor
            if kept is not None:
                self._drop(kept)
            return True
        if not self.versions.speaks(modern=supervisor.for_modern):
            self._supervisors[supervisor.for_modern] = kept
            self._drop(supervisor)
        return False

    def _drop(self, supervisor: Supervisor) -> None:
        """Keeps the connection no longer. What there is of it ends by itself, or with the server."""
        self._surplus = {ending for ending in (*self._surplus, supervisor) if ending.has_remains}

    def on_start(self) -> None:
        """Lets whoever counts processes refuse one more. Raises StartError."""
        self.before_start(self)

    def on_down(self, supervisor: Supervisor) -> None:
        """Takes a connection out of use. If the server speaks the version that it was made for, the next one
        will be in that, and then not serve all.
        """
        own, others = supervisor.for_modern, not supervisor.for_modern
        if self._supervisors.get(others) is supervisor and self.versions.speaks(modern=own) is not False:
            del self._supervisors[others]
        self._review()

    def on_failed_start(self) -> None:
        """Forgets which versions it speaks, unless the configuration tells: that may be why."""
        if configured_versions(self.config) is None:
            self._versions = None
            self._context.memory.forget(self._identity)

    def _learn(self, learned: Versions) -> None:
        known = self.versions
        self._versions = known.with_learned(learned)
        if self._versions != known and configured_versions(self.config) is None:
            self._context.memory.remember(self._identity, self._versions)

    def _review(self) -> None:
        self.connections = [
            None if (supervisor := self._supervisors.get(modern)) is None else supervisor.connection
            for modern in (False, True)
        ]

    @property
    def _identity(self) -> str:
        return identity_of(self.config, self.mask)

    def recalled(self) -> Record | None:
        """What it offered when it was last listed, by this process or another, if that is known."""
        return self._recorder.recall()

    async def close(self) -> None:
        """Ends the processes, if there are any, and everything that hangs on them."""
        ends = self.begin_to_close()
        if ends:
            await asyncio.wait(ends)

    def begin_to_close(self) -> tuple[asyncio.Task[None], ...]:
        """The same, without waiting for the end."""
        self.leave()
        supervisors = {*self._supervisors.values(), *self._surplus}
        ends = [end for supervisor in supervisors for end in supervisor.begin_to_close()]
        return *ends, *self._recorder.hasten()

    def leave(self) -> None:
        """It is not open any more, and what it has is not listed."""
        offer, self.offer = self.offer, None
        if offer is not None:
            self._announce(offer)

    def kill(self) -> None:
        """Ends all processes this instant."""
        for supervisor in (*self._supervisors.values(), *self._surplus):
            supervisor.kill()

    def explain(self, error: WireError, session: Session) -> str:
        """What went wrong in a call on a connection, and what to do about it."""
        supervisors = (*self._supervisors.values(), *self._surplus)
        of_session = (supervisor for supervisor in supervisors if supervisor.last_session is session)
        return next(of_session, self._supervisor(modern=session.is_modern)).explain(error)

    def mask(self, text: str) -> str:
        """`text` without the secret values of the configuration, nor those that logins have brought."""
        return self._tokens.mask(self.secrets.mask(text))

    def mask_definition(self, text: str) -> str:
        """The definition of a tool without secrets. Plain words and paths stay: a model has to use them."""
        return self._tokens.mask(self.secrets.certain.mask(text))

    def holds_secret(self, data: bytes) -> bool:
        """Whether such a value stands in it."""
        return self.secrets.occur_in(data) or self._tokens.occur_in(data)

    def hide(self, secrets: Secrets) -> None:
        """Masks what a login has brought from now on."""
        self._tokens |= secrets
        self._context.hide(secrets)

    def _announce(self, offer: Offer) -> None:
        """What is listed together is listed from when a server is open."""
        if offer.prompts:
            self._context.listeners.list_changed(self._origin[0], "prompts")
        if offer.resources:
            self._context.listeners.list_changed(self._origin[0], "resources")
