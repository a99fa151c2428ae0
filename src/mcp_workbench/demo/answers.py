"""The members of the workbench's results that the demo reads; all others are ignored."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["DemoMatch", "Discovery", "FoundTools", "OpenedToolbox", "ToolList", "ToolResult"]


class Discovery(msgspec.Struct, frozen=True):
    """The result of `server/discover`."""

    instructions: str


class ToolList(msgspec.Struct, frozen=True):
    """The result of `tools/list`."""

    tools: list[msgspec.Raw]


class _Text(msgspec.Struct, frozen=True):
    text: str


class ToolResult(msgspec.Struct, frozen=True):
    """The result of `tools/call`."""

    content: list[_Text]
    is_error: bool = msgspec.field(name="isError", default=False)
    meta: dict[str, Any] = msgspec.field(name="_meta", default_factory=dict)

    @property
    def text(self) -> str:
        """The text of the result, which is what a model reads."""
        return "\n".join(block.text for block in self.content)


class OpenedToolbox(msgspec.Struct, frozen=True):
    """The text of the result of `open_toolbox`, for a toolbox that is opened."""

    servers_connected: int
    tools: dict[str, list[str]]
    """The signatures of the tools, by server."""


class DemoMatch(msgspec.Struct, frozen=True):
    """A tool that was searched for: the best have a signature, the others a summary."""

    name: str
    toolbox_name: str
    source_server: str
    signature: str = ""
    summary: str = ""


class FoundTools(msgspec.Struct, frozen=True):
    """The text of the result of `open_toolbox`, for a query."""

    tools: list[DemoMatch]
