"""A server of the configuration in its toolbox: the tools that its filters allow, and calls to it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.downstream.connection import PROBE_SECONDS
from mcp_workbench.downstream.conversation.lists import list_all
from mcp_workbench.errors import (
    CallError,
    ExecutionFailed,
    Overloaded,
    RemoteError,
    RequestTimeout,
    StartError,
    ToolHeld,
    ToolNotFound,
    WireError,
)
from mcp_workbench.protocol.lists import MAX_DEPTH, decode_named, is_deep, unused_tool
from mcp_workbench.wire.message import is_json
from mcp_workbench.workbench.filters import compile_filters
from mcp_workbench.workbench.toolbox_server import NO_LIMIT, KnownTools, ToolboxServer
from mcp_workbench.workbench.trust.judgement import NOTHING_HELD, Judgement

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from mcp_workbench.config import Secrets, ServerConfig
    from mcp_workbench.config.model.policy import Action, ToolHint
    from mcp_workbench.downstream.connection import Connection, Tools
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.downstream.server import Server
    from mcp_workbench.protocol.lists import Entries, Kind
    from mcp_workbench.storage.catalogue import Record
    from mcp_workbench.storage.trust.pin_records import HeldTool
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index
    from mcp_workbench.workbench.trust.pinning import ServerTrust
    from mcp_workbench.workbench.trust.trust_context import TrustContext


MAX_SHOWN_HIDDEN = 5
"""Hidden tools that an error names."""
MAX_NOTES = 10
"""Notes on one tool list that are logged one by one."""
MAX_CONNECT_ATTEMPTS = 3
"""How often a server is connected for one call, if it ends before the call is sent."""

log = logging.getLogger(__name__)


class _Listing(msgspec.Struct, frozen=True, eq=False):
    """The tools that a server lists on one connection, and those that clients can see."""

    listed: Tools
    """The list of tools as the server sent it."""
    index: Index
    """The tools that clients can see, by name."""
    notes: list[str]
    """What had to be repaired in the list to make it usable."""
    judgement: Judgement = NOTHING_HELD
    """What is held of the list."""


class _Recalled(msgspec.Struct, frozen=True, eq=False):
    """The tools of a server that is not connected, as the catalogue has them."""

    record: Record | None
    known: KnownTools | None
    judgement: Judgement = NOTHING_HELD
    """What is held of the tools in the record."""


NO_LISTING = _Listing((), {}, [])
NOT_RECALLED = _Recalled(None, None)


class ConfiguredServer(ToolboxServer):
    """A configured server of one toolbox, with its tools by name."""

    def __init__(self, toolbox: str, server: Server, trusts: TrustContext | None = None) -> None:
        self._toolbox = toolbox
        self.trusts = trusts
        """What was approved of servers; None if nothing is pinned or held."""
        self._known_trust: ServerTrust | None = None
        self._log = logging.LoggerAdapter(log, {"server": f"{toolbox}/{server.name}"})
        self._is_shown = compile_filters(server.config.tool_filters)
        self._listings = [NO_LISTING, NO_LISTING]
        """The tools for legacy clients, and those for modern clients."""
        self._recalled = NOT_RECALLED
        """What was read last in the catalogue."""
        self.server = server
        if trusts is not None:
            server.admit = self._admit
        self.origin = toolbox, server.name
        self.is_required = server.config.required
        self.inline_limit = _inline_limit(server.config)
        """Bytes of a result above which it is kept, and shortened for the client."""

    def adopt(self, config: ServerConfig, secrets: Secrets) -> None:
        """Adopt the changed configuration of a server whose program is the same."""
        before = self.server.config
        if config.tool_filters != before.tool_filters:
            self._is_shown = compile_filters(config.tool_filters)
            self.forget_listings()
        self.inline_limit = _inline_limit(config)
        self.is_required = config.required
        self.server.adopt(config, secrets)
        if self._known_trust is not None:
            self._known_trust.config = config
        if config.pin != before.pin:
            self.forget_listings()
            for connection in self.server.up:
                connection.expect_changes()  # so that the list is judged again, and pinned

    def forget_listings(self) -> None:
        """Read the lists of tools again at their next use: others are shown or held now."""
        self._listings = [NO_LISTING, NO_LISTING]
        self._recalled = NOT_RECALLED

    @property
    def notes(self) -> list[str]:
        """What had to be repaired in the server's tool lists to make them usable."""
        legacy, modern = (listing.notes for listing in self._listings)
        return legacy if modern is legacy else [*legacy, *(note for note in modern if note not in legacy)]

    @property
    def instructions(self) -> str:
        """What the server told models in its last handshake, now or as the catalogue has it."""
        said = self.server.offer or self.server.recalled()
        if said is None or not said.instructions:
            return ""
        text = self.server.mask_definition(said.instructions)
        withheld = (judgement.withheld for judgement in self._judgements())
        return "" if any(one is not None and one.text == text for one in withheld) else text

    @property
    def is_up(self) -> bool:
        """Whether a connection to the server is open."""
        return bool(self.server.up)

    @property
    def serves_modern(self) -> bool:
        """Whether a connection for modern clients is open."""
        return self.server.connections[True] is not None

    @property
    def sessions(self) -> list[Session]:
        """The open MCP sessions with the server."""
        return [connection.session for connection in self.server.up]

    @property
    def watches(self) -> ResourceWatches:
        """The resources of the server that clients are subscribed to."""
        return self.server.watches

    @property
    def flows(self) -> Mapping[str, Action]:
        """Which other servers' results may be handed to this one, by the configuration of now."""
        return self.server.config.flows

    def offers(self, capability: Capability) -> bool:
        """Whether the server is connected and has this capability."""
        offer = self.server.offer
        return offer is not None and offer.has(capability)

    async def tools(self, *, modern: bool) -> Index:
        """Return the tools for a modern or a legacy client, by name. Connects first if needed.

        Raises StartError.
        """
        return self._listing(await self.server.connect(modern=modern), modern=modern).index

    def all_hidden(self) -> StartError | None:
        """Return why a connected server shows no tool although it has some; None if it shows one."""
        for modern in (True, False):
            connection = self.server.connections[modern]
            if connection is not None and connection.listed:
                listing = self._listing(connection, modern=modern)
                if listing.index or listing.notes or listing.judgement.held:
                    return None
                names = [decode_named(tool).name for tool in listing.listed]
                more = ", …" if len(names) > MAX_SHOWN_HIDDEN else ""
                shown = ", ".join(names[:MAX_SHOWN_HIDDEN])
                reason = f'"toolFilters" hides all of its tools ({len(names)}: {shown}{more})'
                hint = 'Correct "toolFilters", or write ["*"] to show all tools.'
                return StartError(self.server.name, reason, hint=hint, cause="all-tools-hidden")
        return None

    def held(self) -> Mapping[str, HeldTool]:
        """Return the tools that are held, by name."""
        return {
            name: tool
            for judgement in self._judgements()
            for name, tool in judgement.held.items()
            if self._is_shown(name)
        }

    @property
    def withholds_instructions(self) -> bool:
        """Whether instructions of the server are withheld."""
        return any(judgement.withheld is not None for judgement in self._judgements())

    def tool_hint(self, tool: str) -> ToolHint | None:
        """Return what the approved hints of a tool claim; None if the server was never listed."""
        if self.trusts is None:
            return "unknown"
        for listing in self._listings:
            if (hint := listing.judgement.hints.get(tool)) is not None:
                return hint
        if (trust := self._trust) is None or trust.is_off:
            return "unknown"
        return trust.hint(tool) or ("unknown" if self.server.up else None)

    def known(self) -> KnownTools | None:
        """Return the server's tools without starting it; None if they were never listed.

        If the server is not connected, they are those of the catalogue, which all workbench processes share.
        """
        for modern in (True, False):
            if (connection := self.server.connections[modern]) is not None:
                return KnownTools(self._listing(connection, modern=modern).index, None)
        record = self.server.recalled()
        if record is not self._recalled.record:
            self._recalled = NOT_RECALLED if record is None else self._read_record(record)
        return self._recalled.known

    def _judgements(self) -> list[Judgement]:
        """Return what is held of the lists that clients can see now."""
        self.known()  # reads the lists that were not read yet
        if self.server.up:
            return [listing.judgement for listing in self._listings]
        return [self._recalled.judgement]

    def ready(self, tool: str | None, modern: bool, principal: str = "") -> Connection | None:
        """Return the connection that takes a call of a modern or a legacy client at once, or None.

        There is one if the server is connected and has the tool, and the principal need not wait for its
        turn. `tool` is None for a request that is not for a tool.
        """
        connection = self.server.connections[modern]
        if connection is None or not connection.is_clear:
            return None
        if principal and not connection.turns.may_pass(principal):
            return None
        listing = self._listings[modern]
        if connection.listed is not listing.listed:
            listing = self._listing(connection, modern=modern)
        return connection if tool is None or tool in listing.index else None

    def definition(self, tool: str) -> msgspec.Raw | None:
        """Return the server's definition of a tool; None if it is unknown."""
        found = (listing.index.get(tool) for listing in self._listings)
        return next((definition for definition in found if definition is not None), None)

    async def take(self, call: ServerCall) -> None:
        """Send a call as soon as the server is up and the call's turn has come. Raises CallError."""
        size, modern = len(call.arguments), call.caller.is_modern
        try:
            connection = await self.connect(call.tool, size, call.principal, modern=modern)
        except ToolNotFound as error:
            from mcp_workbench.workbench.whereabouts import tool_not_found  # noqa: PLC0415 - only for a mistaken call

            raise tool_not_found(call.view, self.origin, error.tool, error.similar) from None
        call.send(connection)

    async def connect(self, tool: str | None, size: int, principal: str = "", *, modern: bool) -> Connection:
        """Return the connection for a call of a modern or a legacy client, which must be sent at once.

        Connects first if needed, and waits for the principal's turn. `tool` is None for a request that is
        not for a tool. `size` is the size of the arguments in bytes. Raises CallError.
        """
        try:
            with self.server.waiting_calls.place(size, principal):
                return await self._connect(tool, principal, modern=modern)
        except StartError as error:
            raise self._failure(tool, error.explained()) from error
        except Overloaded as error:
            raise self._failure(tool, f"{error}.") from error

    async def _connect(self, tool: str | None, principal: str, *, modern: bool) -> Connection:
        for _ in range(MAX_CONNECT_ATTEMPTS):
            connection = await self.server.connect(modern=modern)
            listing = self._listing(connection, modern=modern)
            index = listing.index
            if tool is not None and tool not in index:
                self._refuse_held(tool, listing.judgement)
                from mcp_workbench.workbench.text.similar_names import similar_names  # noqa: PLC0415 - only for a mistaken call

                raise ToolNotFound(tool, self.server.name, self._toolbox, similar_names(tool, index))
            if await self._wait_for_turn(tool, connection, principal):
                return connection
        raise self._failure(tool, "the server ended, again and again, as soon as it had listed its tools")

    def _refuse_held(self, tool: str, judgement: Judgement) -> None:
        """Raise ToolHeld if the tool is held."""
        held = judgement.held.get(tool)
        if held is None or not self._is_shown(tool):
            return
        from mcp_workbench.workbench.text.sanitise import show_name  # noqa: PLC0415 - only for such a call
        from mcp_workbench.workbench.trust.judging.approved import why_held  # noqa: PLC0415 - only for such a call

        raise ToolHeld(show_name(tool), self.server.name, self._toolbox, why_held(held))

    async def _wait_for_turn(self, tool: str | None, connection: Connection, principal: str) -> bool:
        try:
            # The probe whether the server is still alive does not count.
            async with asyncio.timeout(connection.timeout + PROBE_SECONDS):
                return await connection.turn(principal)
        except TimeoutError as error:
            config = self.server.config
            waited = f"the call has waited {connection.timeout:g} s for its turn, and was not sent"
            share = ' or on your share of them ("http.shares.calls")' if principal else ""
            busy = (
                f'the server works on {config.call_limit} calls ("callLimit"){share}, or does not read more'
            )
            raise self._failure(tool, f"{waited}: {busy}. Try again when there are fewer.") from error

    async def entries(self, kind: Kind, deadline: float, *, modern: bool) -> Entries:
        """Return the server's resources, templates or prompts, for a modern or a legacy client.

        Return nothing if they cannot be listed in time, and log the reason.
        """
        limit = self.server.config.timeout
        wait = min(limit, deadline)
        connection: Connection | None = None
        try:
            async with asyncio.timeout(limit):
                async with asyncio.timeout(wait):
                    connection = await self.connect(None, 0, modern=modern)
                # Time in which servers wait for a client that does not read does not count.
                return await list_all(connection.session, kind, wait)
        except (CallError, WireError, TimeoutError) as error:
            reason = self.server.mask(str(error)) or f"not complete within {limit:g} s"
            self._log.warning("its %s could not be listed: %s", kind.noun, reason)
            # Before the server's own timeout it may just be busy.
            is_late = isinstance(error, (RequestTimeout, TimeoutError)) and wait == limit
            if connection is not None and is_late:
                connection.suspect()
            return ()

    def explain(self, tool: str | None, error: WireError, session: Session) -> ExecutionFailed:
        """Return the error that tells the client why a call failed on a connection."""
        return self._failure(tool, self.server.explain(error, session))

    def mask(self, text: str) -> str:
        """Return the text with configured secrets and the tokens of logins masked."""
        return self.server.mask(text)

    def masked(self, error: RemoteError) -> RemoteError:
        """Return the server's own error for the client, with secrets masked."""
        mask = self.server.mask
        data = None if error.data is None else mask(error.data.decode()).encode()
        if data is not None and not is_json(data):
            data = None  # a masked value was not a string
        return RemoteError(error.code, mask(error.message), data)

    def holds_secret(self, data: bytes) -> bool:
        """Whether the data contains a secret value of the server's configuration."""
        return self.server.holds_secret(data)

    def close_if_unused(self) -> None:
        """End the server's processes unless a client uses them."""
        if not self.server.in_use:
            self.server.begin_to_close()

    def _failure(self, tool: str | None, reason: str) -> ExecutionFailed:
        return ExecutionFailed(tool, self.server.name, self._toolbox, reason)

    def _listing(self, connection: Connection, *, modern: bool) -> _Listing:
        """Return the tools of a connection for modern or legacy clients."""
        listed = connection.listed
        # Skip NO_LISTING: all empty tuples are the same object.
        read = (listing for listing in self._listings if listing is not NO_LISTING)
        known = next((listing for listing in read if listing.listed is listed), None)
        if known is None:
            instructions = self.server.mask_definition(connection.session.offer.instructions)
            known = self._read(listed, instructions, [*connection.notes])
        self._listings[modern] = known
        return known

    def _read(self, listed: Tools, instructions: str, notes: list[str]) -> _Listing:
        judgement = self._judgement(listed, instructions)
        index = self._index_tools(listed, judgement.held, notes)
        if len(notes) > MAX_NOTES:
            notes[MAX_NOTES:] = [f"and {len(notes) - MAX_NOTES} more like these"]
        for note in notes:
            self._log.warning("%s", note)
        return _Listing(listed, index, notes, judgement)

    def _read_record(self, record: Record) -> _Recalled:
        judgement = self._judgement(record.tools, self.server.mask_definition(record.instructions))
        index = self._index_tools(record.tools, judgement.held, [])
        return _Recalled(record, KnownTools(index, record.listed_at), judgement)

    @property
    def _trust(self) -> ServerTrust | None:
        """What was approved of the server; None if nothing is pinned or held."""
        if self._known_trust is None and self.trusts is not None:
            self._known_trust = self.trusts.trust(self.origin, self.server.config, self.server.mask)
            self._known_trust.add_user(self)
        return self._known_trust

    async def _admit(self, connection: Connection, listed: Tools, limit: float) -> None:
        """Judge a list of tools that the server has just sent, before any of them is used."""
        if (trust := self._trust) is not None:
            session = connection.session
            instructions = self.server.mask_definition(session.offer.instructions)
            await trust.admit(listed, instructions, limit, user=self, modern=session.is_modern)

    def _judgement(self, listed: Tools, instructions: str) -> Judgement:
        trust = self._trust
        return NOTHING_HELD if trust is None else trust.judgement(listed, instructions)

    def _index_tools(self, listed: Tools, held: Container[str], notes: list[str]) -> Index:
        """Return the usable tools by name, and add a note for each that cannot be used."""
        index: dict[str, msgspec.Raw] = {}
        for tool in listed:
            try:
                name = decode_named(tool).name
            except (msgspec.DecodeError, RecursionError) as error:
                notes.append(f"left out a tool without a usable name: {error}")
                continue
            if is_deep(tool):
                what = f"it is nested more than {MAX_DEPTH} levels deep"
                notes.append(f"left out {unused_tool(name)}: {what}")
            elif not name:
                notes.append("left out a tool whose name is empty")
            elif name in index:
                notes.append(f"the server lists '{name}' twice; the first counts")
            elif self._is_shown(name) and name not in held:
                index[name] = tool
        return index


def _inline_limit(config: ServerConfig) -> int:
    limit = config.results.inline_limit
    return NO_LIMIT if limit == "off" else limit
