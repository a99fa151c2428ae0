"""The lists of an MCP server: how each is requested, and which entries can be passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.wire.salvage import depth_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    Entries = tuple[msgspec.Raw, ...]

MAX_DEPTH: Final = 200
"""Maximum levels of nesting in one entry of a list."""
UNREAD_MEMBERS: Final = frozenset(("icons",))
"""Members of a tool's definition that are for people only: no model is shown them, and no pin covers them."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of list, such as the list of tools."""

    noun: str
    method: str
    member: str
    """Name of the member of the result that has the entries."""


TOOLS: Final = Kind("tools", "tools/list", "tools")
RESOURCES: Final = Kind("resources", "resources/list", "resources")
TEMPLATES: Final = Kind("resource templates", "resources/templates/list", "resourceTemplates")
PROMPTS: Final = Kind("prompts", "prompts/list", "prompts")


class NamedEntry(msgspec.Struct):
    """The name in an entry of a list, such as the definition of a tool."""

    name: str


decode_named: Final = msgspec.json.Decoder(NamedEntry).decode
"""Decode the name of an entry. Raises msgspec.DecodeError or RecursionError."""


def is_deep(entry: msgspec.Raw) -> bool:
    """Whether an entry is nested too deeply to be passed on."""
    raw = bytes(entry)
    # Counting brackets takes no time, and few entries have that many.
    return raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and depth_of(raw) > MAX_DEPTH


def usable_tools(listed: Iterable[msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Return the tools that can be called, by name. The first of several with one name counts."""
    found: dict[str, msgspec.Raw] = {}
    for tool in listed:
        try:
            name = decode_named(tool).name
        except (msgspec.DecodeError, RecursionError):
            continue
        if name and name not in found and not is_deep(tool):
            found[name] = tool
    return found
