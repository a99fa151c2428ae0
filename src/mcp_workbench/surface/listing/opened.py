"""The results of `open_toolbox` for a toolbox that was opened."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import msgspec

from mcp_workbench.surface.listing.detail import FULL, SIGNATURES, DefinitionReader, DetailLevel, ListedTool
from mcp_workbench.surface.listing.fitting import Fit, fit_toolbox
from mcp_workbench.surface.listing.found import HOW_TO_GET_DEFINITION, add_named
from mcp_workbench.surface.listing.listing_result import ListingResult
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.text.sanitise import clean_text
from mcp_workbench.workbench.text.shortening import shorten
from mcp_workbench.workbench.text.signatures import leading

if TYPE_CHECKING:
    from mcp_workbench.errors import StartError
    from mcp_workbench.surface.listing.open_request import OpenRequest
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox import Opening, Toolbox
    from mcp_workbench.workbench.toolbox_server import Index

MAX_REMEMBERED_BYTES: Final = 1024 * 1024
"""Size of the longest list that is remembered, for each toolbox and level of detail."""
NO_SPACE: Final = "There was no room for {:,} more: find them with query."
HINT_TOKENS: Final = 40
"""Tokens of the longest hint that may follow the toolbox, and of the brackets around the tools."""

INSTRUCTIONS_SHARE: Final = 0.15
"""Part of the budget for what servers tell models about their tools."""
INSTRUCTION_WIDTHS: Final = (2000, 1000, 400, 200, 100)
"""Characters of what each server tells. The longest is taken with which all fit, and else none is shown."""


MAX_HELD_NAMES: Final = 20
"""Held tools of a server that are named."""
UNSHOWN_NAME: Final = "(a tool whose name is not shown)"
"""Stands for the name of a new tool that is held, if it is more than a name."""
HELD_NAME_CHARACTERS: Final = 64
"""Length of the name of a held tool, which nobody has approved."""
HELD_HINT: Final = "Held tools cannot be used until a person releases them: mcp-workbench review"


class _Remembered(msgspec.Struct, frozen=True):
    """A list that was written, and what it was written from."""

    indexes: list[Index]
    texts: list[tuple[str, ...]]
    """The instructions and notes of each server."""
    result: tuple[Body, ...]

    def is_of(self, opening: Opening) -> bool:
        """Whether writing the list of this opening again would return the same."""
        indexes = [index for _, index in opening.tools]
        return (
            len(indexes) == len(self.indexes)
            and all(new is old for new, old in zip(indexes, self.indexes, strict=True))
            and self.texts == _texts(opening)
        )


_remembered: Final[WeakKeyDictionary[Toolbox, dict[str, _Remembered]]] = WeakKeyDictionary()


def remembered(opening: Opening, wanted: OpenRequest) -> tuple[Body, ...] | None:
    """Return the list, if it was written before and is still valid."""
    known = _remembered.get(opening.toolbox, {}).get(wanted.detail)
    if known is None or not _is_plain(opening, wanted) or not known.is_of(opening):
        return None
    return known.result


def opening_result(opening: Opening, wanted: OpenRequest) -> tuple[Body, ...]:
    """Return the tools of an opened toolbox: all, or those asked for by name. Raises ToolsNotFound.

    A list of all tools is remembered until the tools change: writing hundreds of tools takes tens of
    milliseconds, and all members of a team ask for the same list.
    """
    if (known := remembered(opening, wanted)) is not None:
        return known  # written while this request waited for its turn
    # Taken before writing, so that a change meanwhile makes the remembered list invalid.
    indexes, texts = [index for _, index in opening.tools], _texts(opening)
    result = _write(opening, wanted)
    if _is_plain(opening, wanted) and sum(map(len, result)) <= MAX_REMEMBERED_BYTES:
        lists = _remembered.setdefault(opening.toolbox, {})
        lists[wanted.detail] = _Remembered(indexes, texts, result)
    return result


def _is_plain(opening: Opening, wanted: OpenRequest) -> bool:
    """Whether the list shows all tools, and all servers are ready."""
    return not (wanted.names or opening.starting or opening.failures)


def _texts(opening: Opening) -> list[tuple[str, ...]]:
    return [(toolbox_server.instructions, *toolbox_server.notes) for toolbox_server, _ in opening.tools]


def _write(opening: Opening, wanted: OpenRequest) -> tuple[Body, ...]:
    toolbox = opening.toolbox
    tools = [
        ListedTool(toolbox_server.origin, name, definition)
        for toolbox_server, index in opening.tools
        for name, definition in index.items()
    ]
    reader = DefinitionReader()
    document = ListingResult()
    head = b'{"toolbox":%b,"description":%b,"servers_connected":%d,' % (
        encode(toolbox.name),
        encode(toolbox.description),
        len(opening.tools),
    )
    document.add(head)
    instructions: dict[str, str] = {}
    if wanted.names:
        unknown = [*(failure.server for failure in opening.failures), *opening.starting]
        held = {name for toolbox_server, _ in opening.tools for name in toolbox_server.held()}
        where = f"toolbox '{toolbox.name}'"
        add_named(document, tools, wanted, reader, where=where, unknown=unknown, held=held)
    else:
        instructions = _instructions(opening, wanted, toolbox.listing_budget * INSTRUCTIONS_SHARE)
        said = _tokens_of(instructions)
        left = toolbox.listing_budget - estimate_tokens(head) - said - HINT_TOKENS
        _add_all(document, _fit(tools, wanted, left, reader))
    notes = [
        {"server": toolbox_server.name, "note": clean_text(note)}
        for toolbox_server, _ in opening.tools
        for note in toolbox_server.notes
    ]
    document.add_members(
        {
            "server_instructions": instructions,
            "starting_servers": [_starting(server, toolbox.open_deadline) for server in opening.starting],
            "failed_servers": [_failure(failure) for failure in opening.failures],
            "notes": notes + reader.notes(),
            **_held(opening, wanted),
        }
    )
    document.add(b"}")
    return document.result()


def _held(opening: Opening, wanted: OpenRequest) -> dict[str, object]:
    """Return the names of held tools by server, and who can release them; nothing if none is held."""
    held: dict[str, list[str]] = {}
    for toolbox_server, _ in opening.tools:
        names = [
            _held_name(name, is_new=not tool.approved)
            for name, tool in toolbox_server.held().items()
            if not wanted.names or name in wanted.names
        ]
        if names:
            more = [f"and {len(names) - MAX_HELD_NAMES} more"] if len(names) > MAX_HELD_NAMES else []
            held[toolbox_server.name] = [*names[:MAX_HELD_NAMES], *more]
    return {"held_tools": held, "held_hint": HELD_HINT} if held else {}


def _held_name(name: str, *, is_new: bool) -> str:
    """Return the name of a held tool for a model. A new name could be the very text that it is held for."""
    if is_new and re.fullmatch(r"[\w./:-]*", name) is None:
        return UNSHOWN_NAME
    return shorten(clean_text(name), HELD_NAME_CHARACTERS)


def _fit(tools: list[ListedTool], wanted: OpenRequest, budget: float, reader: DefinitionReader) -> Fit:
    """Show the tools at the level that is asked for, or else at the one that fits."""
    if wanted.detail == "auto":
        return fit_toolbox(tools, budget, reader)
    level = DetailLevel(wanted.detail)
    show = reader.item if level == FULL else reader.line
    # Not as a list: a requested list of whole definitions may be large.
    return Fit(level, ((tool, show(level, tool)) for tool in tools))


def _instructions(opening: Opening, wanted: OpenRequest, budget: float) -> dict[str, str]:
    """Return what the servers tell models, by server: all of it in full, else as much as fits."""
    given = {
        toolbox_server.name: clean_text(toolbox_server.instructions).strip()
        for toolbox_server, _ in opening.tools
        if toolbox_server.instructions
    }
    if wanted.detail == "full":
        return given
    for width in INSTRUCTION_WIDTHS:
        shortened = {
            server: text if len(text) <= width else leading(text, width) for server, text in given.items()
        }
        if _tokens_of(shortened) <= budget:
            return shortened
    return {}


def _tokens_of(texts: dict[str, str]) -> int:
    return estimate_tokens(encode(texts)) if texts else 0


def _add_all(document: ListingResult, fitting: Fit) -> None:
    """Add objects as a list, and lines by server, so that no line has to name it."""
    level = fitting.level.name
    if level in ("full", "schemas"):
        document.add(b'"tools":[')
        document.add_list(definition for _, definition in fitting.shown)
        document.add(b"]")
        return
    hints = [HOW_TO_GET_DEFINITION] if fitting.hidden or fitting.level != SIGNATURES else []
    hints += [NO_SPACE.format(fitting.omitted)] if fitting.omitted else []
    hint = b'"hint":%b,' % encode(" ".join(hints)) if hints else b""
    document.add(b'"detail":"%b",%b"tools":{' % (level.encode(), hint))
    by_server = groupby(fitting.shown, key=lambda pair: pair[0].origin[1])
    for number, (server, of_server) in enumerate(by_server):
        comma = b"," if number else b""
        document.add(b"%b%b:[%b]" % (comma, encode(server), b",".join(line for _, line in of_server)))
    document.add(b"}")


def _starting(server: str, deadline: float) -> dict[str, str]:
    message = (
        f"still starting after {deadline:g} s. Call open_toolbox again later for its tools, "
        "or use_tool, which waits until it is ready"
    )
    return {"server": server, "message": message}


def _failure(failure: StartError) -> dict[str, object]:
    entry: dict[str, object] = {"server": failure.server, "error": clean_text(str(failure))}
    if failure.stderr:
        entry["stderr"] = [clean_text(line) for line in failure.stderr]
    if failure.hint:
        entry["hint"] = failure.hint
    return entry
