"""Servers of a toolbox without a connection: the common part, and servers with mistakes in their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.downstream.conversation.watches import ResourceWatches
from mcp_workbench.errors import ExecutionFailed, StartError
from mcp_workbench.workbench.toolbox_server import ToolboxServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.config.model.policy import Action, ToolHint
    from mcp_workbench.downstream.connection import Connection
    from mcp_workbench.downstream.conversation.offer import Capability
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import Cause, Problem, RemoteError, WireError
    from mcp_workbench.protocol.lists import Entries, Kind
    from mcp_workbench.storage.trust.pin_records import HeldTool
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index, KnownTools


class UnconnectedServer(ToolboxServer):
    """A server that has no connection. Subclasses say what happens to calls, and why nothing can connect."""

    reason: str
    """Why there is nothing to connect to."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._watches = ResourceWatches()

    @property
    def notes(self) -> list[str]:
        """Return no notes: no list of a server had to be repaired."""
        return []

    @property
    def instructions(self) -> str:
        """Return nothing: there was no handshake."""
        return ""

    @property
    def serves_modern(self) -> bool:
        """Return False: there is no connection."""
        return False

    @property
    def sessions(self) -> tuple[()]:
        """Return none: there is no conversation."""
        return ()

    @property
    def watches(self) -> ResourceWatches:
        """The resources that clients are subscribed to, of which there are none."""
        return self._watches

    @property
    def flows(self) -> Mapping[str, Action]:
        """Return no rules: nothing that it is handed leaves the workbench."""
        return {}

    def offers(self, capability: Capability) -> bool:  # noqa: ARG002 - it has none of them
        """Return False: without a connection there are no capabilities."""
        return False

    def held(self) -> Mapping[str, HeldTool]:
        """Return nothing: no tool of it was ever listed, or all are built in."""
        return {}

    @property
    def withholds_instructions(self) -> bool:
        """Return False: it has none."""
        return False

    def tool_hint(self, tool: str) -> ToolHint | None:  # noqa: ARG002 - it has none
        """Return None: nothing was ever listed."""
        return None

    def ready(self, tool: str | None, modern: bool, principal: str = "") -> None:
        """Return None: calls are handled by `take`, without a connection."""

    async def connect(self, tool: str | None, size: int, principal: str = "", *, modern: bool) -> Connection:  # noqa: ARG002 - see below
        """Raise ExecutionFailed: there is nothing to connect to."""
        raise self.failure(tool)

    async def entries(self, kind: Kind, deadline: float, *, modern: bool) -> Entries:  # noqa: ARG002 - it has none
        """Return nothing: without a connection there is nothing to list."""
        return ()

    def explain(self, tool: str | None, error: WireError, session: Session) -> ExecutionFailed:  # noqa: ARG002
        """The error for a call that failed on a connection, of which this server has none."""
        return self.failure(tool, str(error))

    def masked(self, error: RemoteError) -> RemoteError:
        """Return the error as it is: there are no secrets."""
        return error

    def mask(self, text: str) -> str:
        """Return the text unchanged: the server has no secrets."""
        return text

    def holds_secret(self, data: bytes) -> bool:  # noqa: ARG002 - it has none
        """Return False: the server has no secrets."""
        return False

    def close_if_unused(self) -> None:
        """Do nothing: there is no process."""

    def failure(self, tool: str | None, reason: str = "") -> ExecutionFailed:
        """Return the error for a call, with the reason why there is no connection or with another one."""
        toolbox, server = self.origin
        return ExecutionFailed(tool, server, toolbox, reason or self.reason)


class UnusableServer(UnconnectedServer):
    """A server whose entry in the configuration has mistakes. It fails to start until they are corrected."""

    def __init__(self, origin: Origin, path: str, problems: Sequence[Problem], *, is_required: bool) -> None:
        super().__init__(origin)
        self.is_required = is_required
        what = "; ".join(f"{path}:{problem.line}: {problem.brief}" for problem in problems)
        self.reason = f"its configuration cannot be used: {what}"
        self.hint = "\n".join(dict.fromkeys(problem.remedy for problem in problems if problem.remedy))
        """How to correct the entry."""
        causes = (problem.cause for problem in problems if problem.cause is not msgspec.UNSET)
        self._cause: Cause = next(causes, "failed")

    @property
    def is_up(self) -> bool:
        """Return False: the server cannot be started."""
        return False

    async def tools(self, *, modern: bool) -> Index:  # noqa: ARG002 - the same for both
        """Raise StartError with the mistakes and how to correct them."""
        raise self._not_started()

    def known(self) -> KnownTools | None:
        """Return None: nothing about the server is certain."""
        return None

    def definition(self, tool: str) -> msgspec.Raw | None:  # noqa: ARG002 - it has none
        """Return None: nothing about the server is certain."""
        return None

    async def take(self, call: ServerCall) -> None:
        """Raise ExecutionFailed with the mistakes and how to correct them."""
        raise self.failure(call.tool, self._not_started().explained())

    def _not_started(self) -> StartError:
        return StartError(self.name, self.reason, hint=self.hint, cause=self._cause)
