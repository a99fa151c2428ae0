"""The levels of detail of a tool: all of its definition, its input schema, a signature, or its name.

Owns what a tool looks like at each level. `fitting` chooses the level.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.protocol.lists import UNREAD_MEMBERS
from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode
from mcp_workbench.workbench.text.sanitise import clean_definition, clean_text
from mcp_workbench.workbench.text.shortening import MORE, shorten
from mcp_workbench.workbench.text.signatures import (
    TOOL_TEXT_CHARACTERS,
    display_name,
    leading,
    signature,
    summary,
)

if TYPE_CHECKING:
    from mcp_workbench.config import Origin

    Key = tuple[Origin, str]

LevelName = Literal["full", "schemas", "signatures", "names"]

NAMES_SHOWN: Final = 10
OUR_MEMBERS: Final = ("name", "toolbox_name", "source_server", "description")

SUMMARY_CHARACTERS: Final = 100
"""Length of the summary of a tool, if it is not shortened to fit into the budget."""
SHORTER_SUMMARIES: Final = (80, 60, 50, 40, 30, 20, 0)
"""Lengths of summaries that are tried, one after another, if a list does not fit."""

log = logging.getLogger(__name__)


class DetailLevel(msgspec.Struct, frozen=True):
    """How much is shown of a tool."""

    name: LevelName
    width: int = SUMMARY_CHARACTERS
    """Characters of a summary; no summary for 0."""


FULL: Final = DetailLevel("full")
"""What the server has sent about a tool, but for its icons, and where the tool is."""
SCHEMAS: Final = DetailLevel("schemas")
"""What a client shows a model without a workbench: description and input schema. And where the tool is."""
SIGNATURES: Final = DetailLevel("signatures")
NAMES: Final = tuple(DetailLevel("names", width) for width in (SUMMARY_CHARACTERS, *SHORTER_SUMMARIES))
"""Names with summaries, the longest first."""


class ListedTool(msgspec.Struct, frozen=True, eq=False):
    """A tool to be shown, with its origin."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    """The tool's definition, as its server lists it."""

    @property
    def key(self) -> Key:
        """The origin and name, which identify the tool."""
        return self.origin, self.name


class DefinitionReader:
    """Writes tools at each level without hidden characters, and remembers which tools had some."""

    def __init__(self) -> None:
        self._cleaned: dict[Origin, dict[str, None]] = {}
        self._summaries: dict[Key, str] = {}

    def definition(self, tool: ListedTool) -> bytes:
        """Return the tool's definition without hidden characters."""
        definition, removed = clean_definition(bytes(tool.definition))
        if removed:
            self._cleaned.setdefault(tool.origin, {})[tool.name] = None
        return definition

    def item(self, level: DetailLevel, tool: ListedTool) -> bytes:
        """Return the tool as a JSON object with the names that `use_tool` takes.

        A tool whose signature could not say what its schema says is shown with its input schema instead.
        """
        definition = self.definition(tool)
        if level.name == "full":
            return whole(tool, definition)
        if level.name == "names":
            return identified(tool, summary=self.summary(level, tool))
        line = signature(tool.name, definition) if level.name == "signatures" else None
        return _with_schema(tool, definition) if line is None else identified(tool, signature=line)

    def line(self, level: DetailLevel, tool: ListedTool) -> bytes:
        """Return the tool as a line in the list of its server: a JSON string.

        A tool whose signature could not say what its schema says is a JSON object with its input schema.
        """
        if level.name == "names":
            return encode(_line(display_name(tool.name), self.summary(level, tool)))
        definition = self.definition(tool)
        line = signature(tool.name, definition)
        return _entry(tool, definition) if line is None else encode(line)

    def line_without_parameters(self, tool: ListedTool) -> bytes:
        """Return the tool as a line that says that its parameters are not shown."""
        return encode(_line(f"{display_name(tool.name)}({MORE})", self.summary(NAMES[0], tool)))

    def summary(self, level: DetailLevel, tool: ListedTool) -> str:
        """Return the first words of the tool's description."""
        if not level.width:
            return ""
        if tool.key not in self._summaries:
            # Remembered: a long list is tried at one width after the other.
            description = _description(decode_members(self.definition(tool)))
            self._summaries[tool.key] = summary(description, SUMMARY_CHARACTERS)
        return shorten(self._summaries[tool.key], level.width)

    def notes(self) -> list[dict[str, str]]:
        """Return notes on removed characters, with the server of each."""
        notes = []
        for origin, names in self._cleaned.items():
            shown = ", ".join(clean_text(name) for name in list(names)[:NAMES_SHOWN])
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            note = f"hidden characters were removed from the definitions of these tools: {shown}{more}"
            log.warning("%s", note, extra={"server": "/".join(origin)})
            notes.append({"server": origin[1], "note": note})
        return notes


def whole(tool: ListedTool, definition: bytes) -> bytes:
    """Return a definition as the server wrote it, with our members, and the origin before its description.

    Icons are left out: they are for people, and pins do not cover them.
    """
    members = decode_members(definition)
    left_out = (*OUR_MEMBERS, *UNREAD_MEMBERS)
    rest = [b",%b:%b" % (encode(key), value) for key, value in members.items() if key not in left_out]
    return b"".join([_head(tool, members), *rest, b"}"])


def identified(tool: ListedTool, **more: str) -> bytes:
    """Return an object with the names that identify a tool, and more members that are not empty."""
    toolbox, server = tool.origin
    given = {key: text for key, text in more.items() if text}
    return encode({"name": tool.name, "toolbox_name": toolbox, "source_server": server, **given})


def _with_schema(tool: ListedTool, definition: bytes) -> bytes:
    members = decode_members(definition)
    return b"%b%b}" % (_head(tool, members), _input_schema(members))


def _head(tool: ListedTool, members: dict[str, msgspec.Raw]) -> bytes:
    origin, description = f"[{'/'.join(tool.origin)}]", _description(members)
    named = identified(tool, description=f"{origin} {description}" if description else origin)
    return named[:-1]


def _entry(tool: ListedTool, definition: bytes) -> bytes:
    """Return what stands in the place of a signature: its server and toolbox are said by the list."""
    members = decode_members(definition)
    about = leading(_description(members), TOOL_TEXT_CHARACTERS)
    described = b',"description":%b' % encode(about) if about else b""
    return b'{"name":%b%b%b}' % (encode(tool.name), described, _input_schema(members))


def _input_schema(members: dict[str, msgspec.Raw]) -> bytes:
    schema = members.get("inputSchema", ABSENT)
    return b',"inputSchema":%b' % compact(bytes(schema)) if schema else b""


def _description(members: dict[str, msgspec.Raw]) -> str:
    return decode_text(members.get("description", ABSENT)) or ""


def _line(name: str, words: str) -> str:
    return f"{name} — {words}" if words else name
