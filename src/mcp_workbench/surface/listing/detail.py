"""The levels of detail of a tool: its whole definition, a typed signature, or its name with a summary.

Owns what a tool looks like at each level, and which level fits into a budget.
"""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.surface.listing.listing_result import compact
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.text.sanitise import clean_definition, clean_text
from mcp_workbench.workbench.text.shortening import shorten
from mcp_workbench.workbench.text.signatures import display_name, signature, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.surface.listing.open_request import Detail

    Key = tuple[Origin, str]
    Show = Callable[["DetailLevel", "ListedTool"], bytes]

LevelName = Literal["full", "signatures", "names"]

NAMES_SHOWN: Final = 10
OUR_MEMBERS: Final = ("name", "toolbox_name", "source_server", "description")

SUMMARY_CHARACTERS: Final = 100
"""Length of the summary of a tool, if it is not shortened to fit into the budget."""
SHORTER_SUMMARIES: Final = (80, 60, 50, 40, 30, 20, 0)
"""Lengths of summaries that are tried, one after another, if a list does not fit."""
BRIEF_SHARE: Final = 0.8
"""Part of the budget for lists below whole definitions: the model reads some definitions next."""

MAX_TOOL_SHARE: Final = 0.1
"""Part of the budget for one tool if not all tools fit, so that one tool does not displace all others."""

HOW_TO_GET_DEFINITION: Final = (
    "Whole definition of a tool: open_toolbox with toolbox_name and tools: [its name]."
)

log = logging.getLogger(__name__)


class DetailLevel(msgspec.Struct, frozen=True):
    """How much is shown of a tool."""

    name: LevelName
    width: int = SUMMARY_CHARACTERS
    """Characters of a summary; no summary for 0."""

    @property
    def is_full(self) -> bool:
        """Whether the whole definition is shown."""
        return self.name == "full"

    @property
    def word(self) -> str:
        """The name of the member that holds what is shown: signature or summary."""
        return "signature" if self.name == "signatures" else "summary"

    @property
    def share(self) -> float:
        """The part of a budget that a list at this level may use."""
        return 1.0 if self.is_full else BRIEF_SHARE


FULL: Final = DetailLevel("full")
BRIEF: Final = (
    DetailLevel("signatures"),
    DetailLevel("names"),
    *(DetailLevel("names", width) for width in SHORTER_SUMMARIES),
)
"""The levels below whole definitions, the most detailed first."""
ALL: Final = (FULL, *BRIEF)


class ListedTool(msgspec.Struct, frozen=True, eq=False):
    """A tool to be shown, with its origin."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    """The tool's definition, as its server lists it."""
    listed: str = ""
    """How long ago the server listed the tool, if not just now."""

    @property
    def key(self) -> Key:
        """The origin and name, which identify the tool."""
        return self.origin, self.name


class DefinitionReader:
    """Reads tool definitions without hidden characters, and remembers which tools had some."""

    def __init__(self) -> None:
        self._cleaned: dict[Origin, dict[str, None]] = {}
        self._summaries: dict[Key, str] = {}

    def definition(self, tool: ListedTool) -> bytes:
        """Return the tool's definition without hidden characters."""
        definition, removed = clean_definition(bytes(tool.definition))
        if removed:
            self._cleaned.setdefault(tool.origin, {})[tool.name] = None
        return definition

    def whole(self, tool: ListedTool) -> bytes:
        """Return the tool's definition with our members, as `open_toolbox` shows it."""
        return whole(tool, self.definition(tool))

    def words(self, level: DetailLevel, tool: ListedTool) -> str:
        """Return the signature or the summary of a tool."""
        if level.name == "signatures":
            return signature(tool.name, self.definition(tool))
        if not level.width:
            return ""
        if tool.key not in self._summaries:
            # Remembered: a long list is tried at one width after the other.
            description = decode_members(self.definition(tool)).get("description", ABSENT)
            self._summaries[tool.key] = summary(decode_text(description) or "", SUMMARY_CHARACTERS)
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


class Fit(msgspec.Struct, frozen=True):
    """A list of tools at the level that fits into a budget."""

    level: DetailLevel
    shown: Iterable[tuple[ListedTool, bytes]]
    """The tools, and what is shown of each."""
    omitted: int = 0
    """How many tools did not fit at any level."""


def fit(
    tools: list[ListedTool], detail: Detail, budget: float, show: Show, among: Sequence[DetailLevel] = ALL
) -> Fit:
    """Show tools at the given level; for "auto" at the most detailed of `among` that fits into the budget."""
    if detail != "auto":
        level = DetailLevel(detail)
        # Not as a list: a requested list of whole definitions may be large.
        return Fit(level, ((tool, show(level, tool)) for tool in tools))
    for level in among:
        shown = list(_affordable(tools, partial(show, level), budget * level.share))
        if len(shown) == len(tools):
            return Fit(level, shown)
    poorest = among[-1]
    tokens_left = budget * poorest.share
    # In turns, so that no server takes the whole budget.
    pieces = dict(
        _affordable(_in_turns(tools), partial(show, poorest), tokens_left, tokens_left * MAX_TOOL_SHARE)
    )
    in_order = [(tool, pieces[tool]) for tool in tools if tool in pieces]
    return Fit(poorest, in_order, len(tools) - len(in_order))


def _affordable(
    tools: list[ListedTool], show: Callable[[ListedTool], bytes], tokens_left: float, max_cost: float = inf
) -> Iterator[tuple[ListedTool, bytes]]:
    """Return the first tools that fit, without those that cost more than `max_cost`."""
    for tool in tools:
        price = cost(piece := show(tool))
        if price <= max_cost:
            tokens_left -= price
            if tokens_left < 0:
                return
            yield tool, piece


def _in_turns(tools: Iterable[ListedTool]) -> list[ListedTool]:
    """Order tools in turns: the first of each server, then the second of each, and so on."""
    counts: dict[Origin, int] = {}
    positions = {}
    for tool in tools:
        positions[tool] = counts[tool.origin] = counts.get(tool.origin, 0) + 1
    return sorted(positions, key=positions.__getitem__)


def cost(piece: bytes) -> int:
    """Return the estimated tokens of one tool in a list."""
    return estimate_tokens(compact(piece)) + 1  # the comma


def whole(tool: ListedTool, definition: bytes) -> bytes:
    """Return a definition as the server wrote it, with our members, and the origin before its description."""
    toolbox, server = tool.origin
    members = decode_members(definition)
    origin = f"[{toolbox}/{server}]"
    description = decode_text(members.get("description", ABSENT))
    head = b'{"name":%b,"toolbox_name":%b,"source_server":%b,"description":%b' % (
        encode(tool.name),
        encode(toolbox),
        encode(server),
        encode(f"{origin} {description}" if description else origin),
    )
    rest = [b",%b:%b" % (encode(key), value) for key, value in members.items() if key not in OUR_MEMBERS]
    if tool.listed and "listed" not in members:
        rest.append(b',"listed":%b' % encode(tool.listed))
    return b"".join([head, *rest, b"}"])


def named(tool: ListedTool, words: str) -> str:
    """Return a line with a tool's name and some words about it."""
    name = display_name(tool.name)
    return f"{name} — {words}" if words else name
