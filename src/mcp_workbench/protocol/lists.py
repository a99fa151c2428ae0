"""The lists of an MCP server: how each is requested, and which entries can be passed on."""

from __future__ import annotations

import re
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

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./:-]{1,128}")
"""A name as the specification wants it, and not more than a name."""


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


def is_plain_name(name: str) -> bool:
    """Whether the name of a tool is not more than a name.

    A model may read such a name even if nobody has approved the tool. Any other may be a text that tells the
    model what to do.
    """
    return _PLAIN_NAME.fullmatch(name) is not None


def unused_tool(name: str, shown: str | None = None) -> str:
    """Return the words for a tool that is left out of the list, for a note that a model reads.

    `shown` is the name as it is to be shown, if that is another.
    """
    return f"the tool '{shown or name}'" if is_plain_name(name) else "a tool whose name is not shown"


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
