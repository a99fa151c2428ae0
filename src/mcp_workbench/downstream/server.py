"""One configured server: the connections to it, and which clients each of them serves.

A server that speaks both the legacy and the modern protocol is spoken to in the client's version: on a
modern connection it could not send a legacy client a request, and on a legacy connection its questions
could not be attributed to a modern client's call. So there may be two connections to it, one for legacy
and one for modern clients. A server that speaks one version has one connection, and so has every server
whose clients all speak the same. `supervisor` keeps one connection.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config import Secrets
from mcp_workbench.downstream.connection import admit_all
from mcp_workbench.downstream.conversation.watches import ResourceWatches
from mcp_workbench.downstream.limits.waiting_calls import WaitingCalls
from mcp_workbench.downstream.recorder import Recorder
from mcp_workbench.downstream.start import configured_versions, identity_of
from mcp_workbench.downstream.supervisor import ServerContext, Supervisor, VersionMismatch
from mcp_workbench.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.downstream.connection import Admit, Connection
    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.downstream.conversation.negotiation import Agreed
    from mcp_workbench.downstream.conversation.offer import Offer
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.storage.catalogue import Record
    from mcp_workbench.storage.protocol_versions import Versions

ServerState = Literal["idle", "starting", "ready", "failed", "stopping"]

MAX_ATTEMPTS: Final = 3
"""How often a connection is made for one caller, if the server turns out to speak another version."""


class Server:
    """A server of a toolbox, connected or not."""

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
        """The supervisors of the connections for legacy and for modern clients: the same one, or two."""
        self._surplus: set[Supervisor] = set()
        """Supervisors that are no longer used, until their connections have ended."""
        self._users = 0
        self.waiting_calls = WaitingCalls(context.shares)
        """The calls that wait for this server."""
        self.connections: list[Connection | None] = [None, None]
        """The connections for legacy and for modern clients; None if there is none now."""
        self.before_start: Callable[[Server], None] = lambda _: None
        """Called before a process is started. May raise StartError."""
        self.admit: Admit = admit_all
        """Called with each list of tools before any of them is used, see `Connection.admit`."""
        self.watches = ResourceWatches()
        """The resources of the server that clients subscribe to."""
        self.offer: Offer | None = None
        """What the server offers, from its first connection until `leave`, even while it is not connected."""

    @property
    def up(self) -> list[Connection]:
        """The connections that are up, each of them once."""
        legacy, modern = self.connections
        found = (legacy, None if modern is legacy else modern)
        return [connection for connection in found if connection is not None]

    @property
    def state(self) -> ServerState:
        """ServerState of the server, as `check` and the log show it."""
        supervisors = self._supervisors.values()
        if any(supervisor.connection is not None for supervisor in supervisors):
            return "ready"
        if any(supervisor.is_starting for supervisor in supervisors):
            return "starting"
        if any(supervisor.last_failure is not None for supervisor in supervisors):
            return "failed"
        return "stopping" if any(supervisor.has_tasks for supervisor in supervisors) else "idle"

    @property
    def in_use(self) -> bool:
        """Whether any task waits for the server, or for a response from it."""
        is_busy = any(supervisor.is_busy for supervisor in self._supervisors.values())
        return is_busy or self._users > 0 or self.waiting_calls.calls > 0

    @property
    def runs(self) -> bool:
        """Whether the server is connected or being connected."""
        return any(supervisor.is_needed for supervisor in self._supervisors.values())

    @property
    def versions(self) -> Versions:
        """The protocol versions that the server is known to speak."""
        if self._versions is None:
            forced = configured_versions(self.config)
            self._versions = forced or self._context.memory.recall(self._identity)
        return self._versions

    def adopt(self, config: ServerConfig, secrets: Secrets) -> None:
        """Apply a changed configuration for the same program."""
        self.config = config
        self.secrets = secrets
        self._recorder.adopt(config, secrets)
        for connection in self.up:
            connection.adopt(config)

    def another(self, listeners: Listeners) -> Server:
        """Return a server of the same configuration with its own connections, for these listeners alone."""
        context = msgspec.structs.replace(self._context, listeners=listeners)
        return Server(*self._origin, self.config, self.secrets, context)

    async def connect(self, *, modern: bool) -> Connection:
        """Return the connection for modern or for legacy clients, with a current list of tools. Connects
        if necessary. Raises StartError.
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
                # Some programs cannot run twice. No caller waits while that is tried again.
                with suppress(StartError):
                    supervisor.begin_to_connect()
                return other.connection
            try:
                return await supervisor.connect()
            except VersionMismatch:
                continue  # by now the server's versions are known
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
        """Use a new connection for the clients that it can serve. Return whether it is used."""
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
        """Whether a connection of this version is used; decide which clients it serves."""
        kept = self._supervisors.get(is_modern)
        if kept is supervisor:
            return True
        if kept is None or not kept.is_needed:
            # There is no other connection in the server's version, so this one serves all clients.
            self._supervisors[is_modern] = supervisor
            if kept is not None:
                self._drop(kept)
            return True
        if not self.versions.speaks(modern=supervisor.for_modern):
            self._supervisors[supervisor.for_modern] = kept
            self._drop(supervisor)
        return False

    def _drop(self, supervisor: Supervisor) -> None:
        """Stop using a supervisor. Its connection ends by itself, or with the server."""
        self._surplus = {ending for ending in (*self._surplus, supervisor) if ending.has_tasks}

    def on_start(self) -> None:
        """Call `before_start`, which may refuse the start. Raises StartError."""
        self.before_start(self)

    def on_down(self, supervisor: Supervisor) -> None:
        """Take a connection out of use.

        The next connection is made in the version of its clients, if the server speaks that, and then
        serves only clients of that version.
        """
        own, others = supervisor.for_modern, not supervisor.for_modern
        if self._supervisors.get(others) is supervisor and self.versions.speaks(modern=own) is not False:
            del self._supervisors[others]
        self._review()

    def on_failed_start(self) -> None:
        """Forget which versions the server speaks, unless configured: they may have been wrong."""
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
        """Return what the server offered when it was last listed, by any process; None if not known."""
        return self._recorder.recall()

    async def close(self) -> None:
        """End all connections and processes."""
        ends = self.begin_to_close()
        if ends:
            await asyncio.wait(ends)

    def begin_to_close(self) -> tuple[asyncio.Task[None], ...]:
        """Begin to end all connections and processes, and return the tasks to wait for."""
        self.leave()
        supervisors = {*self._supervisors.values(), *self._surplus}
        ends = [end for supervisor in supervisors for end in supervisor.begin_to_close()]
        return *ends, *self._recorder.hasten()

    def leave(self) -> None:
        """Stop offering the server's prompts and resources to clients."""
        offer, self.offer = self.offer, None
        if offer is not None:
            self._announce(offer)

    def kill(self) -> None:
        """Kill all processes at once."""
        for supervisor in (*self._supervisors.values(), *self._surplus):
            supervisor.kill()

    def explain(self, error: WireError, session: Session) -> str:
        """Return why a call on a connection failed, and what to do about it."""
        supervisors = (*self._supervisors.values(), *self._surplus)
        of_session = (supervisor for supervisor in supervisors if supervisor.last_session is session)
        return next(of_session, self._supervisor(modern=session.is_modern)).explain(error)

    def mask(self, text: str) -> str:
        """Return the text with configured secrets and the tokens of logins masked."""
        return self._tokens.mask(self.secrets.mask(text))

    def mask_definition(self, text: str) -> str:
        """Return a tool's definition with secrets masked. Plain words stay: a model needs them."""
        return self._tokens.mask(self.secrets.certain.mask(text))

    def holds_secret(self, data: bytes) -> bool:
        """Whether the data contains a configured secret or a token of a login."""
        return self.secrets.occur_in(data) or self._tokens.occur_in(data)

    def hide(self, secrets: Secrets) -> None:
        """Mask the tokens of a login from now on."""
        self._tokens |= secrets
        self._context.hide(secrets)

    def _announce(self, offer: Offer) -> None:
        """Tell clients that the lists of prompts and resources have changed, if the server has any."""
        if offer.prompts:
            self._context.listeners.list_changed(self._origin[0], "prompts")
        if offer.resources:
            self._context.listeners.list_changed(self._origin[0], "resources")
