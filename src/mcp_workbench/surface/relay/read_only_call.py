"""A call of `use_tool_read_only`: it is sent only to a tool that is pinned as read-only.

What counts is what the lock says at the moment of sending, and never what a server has just listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from mcp_workbench.errors import CallRefused
from mcp_workbench.surface.metatools import USE_TOOL, USE_TOOL_READ_ONLY
from mcp_workbench.surface.relay.relayed import ToolCall

if TYPE_CHECKING:
    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.downstream.connection import Connection

_UNKNOWN: Final = (
    "What this one does is not known: its annotations do not say it, "
    'or "pin" is "off" and it is not in the lock'
)


class ReadOnlyCall(ToolCall):
    """A client's call of a tool that may only read."""

    # A state of `use_tool` must not resume its call through a tool that the client may always allow.
    binding: ClassVar[str] = USE_TOOL_READ_ONLY

    def begin(self) -> None:
        """Begin the call. One that is bound to be refused is refused before a person is asked about it.

        A tool that the client does not see is not found, whatever its hint is.
        """
        hint, known = self._hint, self.toolbox_server.known()
        if hint is None or hint == "read-only" or (known is not None and self.name not in known.index):
            super().begin()
            return
        if self.view.door.is_watched:
            self.record = self.view.door.begin(self)
        self.refuse(self._refusal(hint))

    def send(self, connection: Connection) -> None:
        """Send the call, unless the tool is not pinned as read-only at this moment."""
        hint = self._hint
        if hint == "read-only":
            super().send(connection)
        else:
            self.refuse(self._refusal(hint))

    @property
    def _hint(self) -> ToolHint | None:
        return self.toolbox_server.tool_hint(self.name)

    def _refusal(self, hint: ToolHint | None) -> CallRefused:
        toolbox, server = self.origin
        claimed = _UNKNOWN if hint in (None, "unknown") else f"This one is pinned as {hint}"
        rule = f"{USE_TOOL_READ_ONLY} calls only tools that are pinned as read-only"
        return CallRefused(self.name, server, toolbox, f"{rule}. {claimed}. Call it with {USE_TOOL} instead")
