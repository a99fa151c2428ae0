"""What the demo reads of the workbench's answers; the rest of each is left alone."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Discovery", "FoundTools", "OpenedTool", "OpenedToolbox", "ToolList", "ToolResult"]


class Discovery(msgspec.Struct, frozen=True):
    """Of `server/discover`."""

    instructions: str


class ToolList(msgspec.Struct, frozen=True):
    """Of `tools/list`."""

    tools: list[msgspec.Raw]


class _Text(msgspec.Struct, frozen=True):
    text: str


class ToolResult(msgspec.Struct, frozen=True):
    """Of `tools/call`."""

    content: list[_Text]
    is_error: bool = msgspec.field(name="isError", default=False)
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)

    @property
    def text(self) -> str:
        """All that a model reads of it."""
        return "\n".join(block.text for block in self.content)


class OpenedTool(msgspec.Struct, frozen=True):
    """One tool in what `open_toolbox` answers."""

    name: str
    toolbox_name: str
    source_server: str
    title: str


class OpenedToolbox(msgspec.Struct, frozen=True):
    """The text that `open_toolbox` answers."""

    servers_connected: int
    tools: list[OpenedTool]


class FoundTools(msgspec.Struct, frozen=True):
    """The text that it answers to a query."""

    tools: list[OpenedTool]
