"""A server of a toolbox as clients see it, whether it is configured or built into the workbench."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.policy import Action, ToolHint
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.downstream.conversation.watches import ResourceWatches
    from mcp_workbench.errors import ExecutionFailed, RemoteError, WireError
    from mcp_workbench.protocol.lists import Entries, Kind
    from mcp_workbench.storage.trust.pin_records import HeldTool
    from mcp_workbench.workbench.server_call import ServerCall

    Index = Mapping[str, msgspec.Raw]
    """The definitions of tools, as the server listed them, by name."""

NO_LIMIT = 2**63
"""Stands for no limit: no result is that large."""


class KnownTools(msgspec.Struct, frozen=True):
    """The tools that a server has, as far as that is known without starting it."""

    index: Index
    """The definitions by name: the same object for as long as they are the same."""
    listed_at: float | None
    """When the tools were listed, in seconds since the epoch. None: the server is up and has them now."""


class ToolboxServer(ABC):
    """One server of one toolbox: its tools, and how it is called."""

    origin: Origin
    """The names of the toolbox and of the server."""
    inline_limit: int = NO_LIMIT
    """Bytes above which a result is kept and shown in short."""
    is_required: bool = False
    """Whether the toolbox cannot be opened without this server."""

    @property
    def name(self) -> str:
        """The name of the server in its toolbox."""
        return self.origin[1]

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """What had to be changed in the lists of its tools to make them usable."""

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What the server's author tells models about its tools, as far as it is known; without secrets."""

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Whether a connection to the server is open."""

    @property
    @abstractmethod
    def serves_modern(self) -> bool:
        """Whether a connection for modern clients is open."""

    @property
    @abstractmethod
    def sessions(self) -> Sequence[Session]:
        """The open conversations with the server."""

    @property
    @abstractmethod
    def watches(self) -> ResourceWatches:
        """The resources of the server that clients are subscribed to."""

    @property
    @abstractmethod
    def flows(self) -> Mapping[str, Action]:
        """Which other servers' results may be handed to this one, by patterns of `toolbox/server`."""

    @abstractmethod
    def offers(self, capability: Capability) -> bool:
        """Whether the server is open and has this capability."""

    @abstractmethod
    async def tools(self, *, modern: bool) -> Index:
        """The tools that a modern or a legacy client can use now; connects first. Raises StartError."""

    @abstractmethod
    def known(self) -> KnownTools | None:
        """The tools as far as they are known without starting the server; None if it was never listed."""

    @abstractmethod
    def definition(self, tool: str) -> msgspec.Raw | None:
        """The definition of a tool that the server is known to have."""

    @abstractmethod
    def held(self) -> Mapping[str, HeldTool]:
        """The tools that are not shown or callable until a person releases them, by name."""

    @property
    @abstractmethod
    def withholds_instructions(self) -> bool:
        """Whether instructions of the server are not shown until a person releases them."""

    @abstractmethod
    def tool_hint(self, tool: str) -> ToolHint | None:
        """What the locked annotations of a tool claim that it does; None if the server was never listed."""

    @abstractmethod
    def ready(self, tool: str | None, modern: bool, principal: str = "") -> Connection | None:
        """The connection that takes a call at once, for a tool or for another request (None).

        None if the call has to wait, or the server is not known to have the tool.
        """

    @abstractmethod
    async def take(self, call: ServerCall) -> None:
        """Send a call, or answer it, as soon as that is possible. Raises CallError."""

    @abstractmethod
    async def connect(self, tool: str | None, size: int, principal: str = "", *, modern: bool) -> Connection:
        """A connection that takes a call now, with arguments of that size; it has to be sent at once.

        Connects first if need be, and waits for the call's turn. Raises CallError.
        """

    @abstractmethod
    async def entries(self, kind: Kind, deadline: float, *, modern: bool) -> Entries:
        """What the server lists of some kind; nothing if that cannot be had before the deadline."""

    @abstractmethod
    def explain(self, tool: str | None, error: WireError, session: Session) -> ExecutionFailed:
        """The error for a call that failed on a connection, with what can be done about it."""

    @abstractmethod
    def mask(self, text: str) -> str:
        """The text without secret values of the configuration."""

    @abstractmethod
    def masked(self, error: RemoteError) -> RemoteError:
        """The server's own error without secret values."""

    @abstractmethod
    def holds_secret(self, data: bytes) -> bool:
        """Whether a secret value of the server's configuration is in this."""

    @abstractmethod
    def close_if_unused(self) -> None:
        """End the server's processes unless a client uses them."""
