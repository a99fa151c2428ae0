"""In how much detail tools are shown: whole definitions, typed signatures, or names with a line on each.

Owns what a tool looks like at each level, and which level a list can afford.
"""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.surface.listing.document import compact
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
OURS: Final = ("name", "toolbox_name", "source_server", "description")

SUMMARY: Final = 100
"""Characters of the line on each name, where they are not cut for the sake of the budget."""
NARROWER: Final = (80, 60, 50, 40, 30, 20, 0)
SHARE: Final = 0.8
"""Of the budget, for what is less than whole: one chooses from it, and what is chosen is read next."""

LARGEST: Final = 0.1
"""Of the budget, for one tool where there is no room for all: one must not push out all others."""

FOR_THE_WHOLE: Final = "Whole definition of a tool: open_toolbox with toolbox_name and tools: [its name]."

log = logging.getLogger(__name__)


class DetailLevel(msgspec.Struct, frozen=True):
    """What is shown of a tool."""

    name: LevelName
    width: int = SUMMARY
    """Characters of the line on a name; none at all for 0."""

    @property
    def is_full(self) -> bool:
        """Whether nothing is left out."""
        return self.name == "full"

    @property
    def word(self) -> str:
        """For what there is of a tool."""
        return "signature" if self.name == "signatures" else "summary"

    @property
    def share(self) -> float:
        """How much of a budget it may take."""
        return 1.0 if self.is_full else SHARE


FULL: Final = DetailLevel("full")
BRIEF: Final = (
    DetailLevel("signatures"),
    DetailLevel("names"),
    *(DetailLevel("names", width) for width in NARROWER),
)
"""From the richest to the poorest."""
ALL: Final = (FULL, *BRIEF)


class ListedTool(msgspec.Struct, frozen=True, eq=False):
    """A tool to be shown."""

    origin: Origin
    name: str
    definition: msgspec.Raw
    """As the server has it."""
    listed: str = ""
    """How long ago, if that was not now."""

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.origin, self.name


class DefinitionReader:
    """Reads what is shown of tools, without hidden characters, and remembers where there were some."""

    def __init__(self) -> None:
        self._cleaned: dict[Origin, dict[str, None]] = {}
        self._summaries: dict[Key, str] = {}

    def definition(self, tool: ListedTool) -> bytes:
        """All of it, as it may be shown."""
        definition, removed = clean_definition(bytes(tool.definition))
        if removed:
            self._cleaned.setdefault(tool.origin, {})[tool.name] = None
        return definition

    def whole(self, tool: ListedTool) -> bytes:
        """Its definition, as `open_toolbox` shows it."""
        return whole(tool, self.definition(tool))

    def words(self, level: DetailLevel, tool: ListedTool) -> str:
        """What is shown of it at a level below that, a signature or a summary."""
        if level.name == "signatures":
            return signature(tool.name, self.definition(tool))
        if not level.width:
            return ""
        if tool.key not in self._summaries:
            # A long list is tried at one width after the other.
            description = decode_members(self.definition(tool)).get("description", ABSENT)
            self._summaries[tool.key] = summary(decode_text(description) or "", SUMMARY)
        return shorten(self._summaries[tool.key], level.width)

    def notes(self) -> list[dict[str, str]]:
        """What is to be said about it, and of which server."""
        notes = []
        for origin, names in self._cleaned.items():
            shown = ", ".join(clean_text(name) for name in list(names)[:NAMES_SHOWN])
            more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
            note = f"hidden characters were removed from the definitions of these tools: {shown}{more}"
            log.warning("%s", note, extra={"server": "/".join(origin)})
            notes.append({"server": origin[1], "note": note})
        return notes


class Fit(msgspec.Struct, frozen=True):
    """A list of tools as it is shown."""

    level: DetailLevel
    shown: Iterable[tuple[ListedTool, bytes]]
    """The tools, and what is shown of each."""
    left_out: int = 0
    """How many there was no room for at any level."""


def fit(
    tools: list[ListedTool], detail: Detail, budget: float, show: Show, among: Sequence[DetailLevel] = ALL
) -> Fit:
    """The tools at a level, or at the richest among some that takes no more tokens than the budget."""
    if detail != "auto":
        level = DetailLevel(detail)
        # Not as a list: what somebody wants to have whole may be large.
        return Fit(level, ((tool, show(level, tool)) for tool in tools))
    for level in among:
        shown = list(_affordable(tools, partial(show, level), budget * level.share))
        if len(shown) == len(tools):
            return Fit(level, shown)
    poorest = among[-1]
    room = budget * poorest.share
    # In turns, so that no server takes all there is.
    pieces = dict(_affordable(_in_turns(tools), partial(show, poorest), room, room * LARGEST))
    in_order = [(tool, pieces[tool]) for tool in tools if tool in pieces]
    return Fit(poorest, in_order, len(tools) - len(in_order))


def _affordable(
    tools: list[ListedTool], show: Callable[[ListedTool], bytes], room: float, most: float = inf
) -> Iterator[tuple[ListedTool, bytes]]:
    """The first that there is room for, passing over those that take more than the most for one."""
    for tool in tools:
        price = cost(piece := show(tool))
        if price <= most:
            room -= price
            if room < 0:
                return
            yield tool, piece


def _in_turns(tools: Iterable[ListedTool]) -> list[ListedTool]:
    """The first of each server, then the second of each, and so on."""
    met: dict[Origin, int] = {}
    places = {}
    for tool in tools:
        places[tool] = met[tool.origin] = met.get(tool.origin, 0) + 1
    return sorted(places, key=places.__getitem__)


def cost(piece: bytes) -> int:
    """Tokens of one tool in a list."""
    return estimate_tokens(compact(piece)) + 1  # the comma


def whole(tool: ListedTool, definition: bytes) -> bytes:
    """A definition as it came, with our identifying fields and the origin before its description."""
    toolbox, server = tool.origin
    members = decode_members(definition)
    description = decode_text(members.get("description", ABSENT)) or ""
    head = b'{"name":%b,"toolbox_name":%b,"source_server":%b,"description":%b' % (
        encode(tool.name),
        encode(toolbox),
        encode(server),
        encode(f"[{toolbox}/{server}] {description}"),
    )
    rest = [b",%b:%b" % (encode(key), value) for key, value in members.items() if key not in OURS]
    if tool.listed and "listed" not in members:
        rest.append(b',"listed":%b' % encode(tool.listed))
    return b"".join([head, *rest, b"}"])


def named(tool: ListedTool, words: str) -> str:
    """A tool in one line: its name, and some words on it."""
    name = display_name(tool.name)
    return f"{name} — {words}" if words else name
