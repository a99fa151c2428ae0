"""The results of `open_toolbox` for a toolbox that was opened."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import msgspec

from mcp_workbench.surface.listing.detail import (
    HOW_TO_GET_DEFINITION,
    DefinitionReader,
    ListedTool,
    fit,
    named,
)
from mcp_workbench.surface.listing.found import add_named
from mcp_workbench.surface.listing.listing_result import ListingResult
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import clean_text
from mcp_workbench.workbench.toolbox import ToolboxSummary

if TYPE_CHECKING:
    from mcp_workbench.errors import StartError
    from mcp_workbench.surface.listing.detail import DetailLevel, Fit
    from mcp_workbench.surface.listing.open_request import OpenRequest
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.toolbox import Opening, Toolbox
    from mcp_workbench.workbench.toolbox_server import Index

MAX_REMEMBERED_BYTES: Final = 1024 * 1024
"""Size of the longest list that is remembered, for each toolbox and level of detail."""
NO_SPACE: Final = "There was no room for {:,} more: find them with query."


class _Remembered(msgspec.Struct, frozen=True):
    """A list that was written, and the tools and notes that it was written from."""

    indexes: list[Index]
    notes: list[list[str]]
    result: tuple[Body, ...]

    def is_of(self, opening: Opening) -> bool:
        """Whether writing the list of this opening again would return the same."""
        indexes = [index for _, index in opening.tools]
        return (
            len(indexes) == len(self.indexes)
            and all(new is old for new, old in zip(indexes, self.indexes, strict=True))
            and self.notes == [toolbox_server.notes for toolbox_server, _ in opening.tools]
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
    indexes, notes = (
        [index for _, index in opening.tools],
        [[*toolbox_server.notes] for toolbox_server, _ in opening.tools],
    )
    result = _write(opening, wanted)
    if _is_plain(opening, wanted) and sum(map(len, result)) <= MAX_REMEMBERED_BYTES:
        lists = _remembered.setdefault(opening.toolbox, {})
        lists[wanted.detail] = _Remembered(indexes, notes, result)
    return result


def _is_plain(opening: Opening, wanted: OpenRequest) -> bool:
    """Whether the list shows all tools, and all servers are ready."""
    return not (wanted.names or opening.starting or opening.failures)


def _write(opening: Opening, wanted: OpenRequest) -> tuple[Body, ...]:
    toolbox = opening.toolbox
    tools = [
        ListedTool(toolbox_server.origin, name, definition)
        for toolbox_server, index in opening.tools
        for name, definition in index.items()
    ]
    box = ToolboxSummary(toolbox.name, toolbox.description, len(opening.tools))
    reader = DefinitionReader()
    document = _begin(box, tools, wanted, toolbox.listing_budget, reader)
    notes = [
        {"server": toolbox_server.name, "note": clean_text(note)}
        for toolbox_server, _ in opening.tools
        for note in toolbox_server.notes
    ]
    document.add_members(
        {
            "starting_servers": [_starting(server, toolbox.open_deadline) for server in opening.starting],
            "failed_servers": [_failure(failure) for failure in opening.failures],
            "notes": notes + reader.notes(),
        }
    )
    document.add(b"}")
    return document.result()


def _begin(
    box: ToolboxSummary, tools: list[ListedTool], wanted: OpenRequest, budget: int, reader: DefinitionReader
) -> ListingResult:
    """Write the toolbox and its tools. The object stays open for what else there is to say."""
    document = ListingResult()
    document.add(
        b'{"toolbox":%b,"description":%b,"servers_connected":%d,'
        % (encode(box.name), encode(box.description), box.servers)
    )
    if wanted.names:
        add_named(document, tools, wanted, reader, where=f"toolbox '{box.name}'")
        return document

    def show(level: DetailLevel, tool: ListedTool) -> bytes:
        if level.is_full:
            return reader.whole(tool)
        words = reader.words(level, tool)
        return encode(words if level.name == "signatures" else named(tool, words))

    _add_all(document, fit(tools, wanted.detail, budget, show))
    return document


def _add_all(document: ListingResult, fitting: Fit) -> None:
    """Add whole definitions as a list, else lines by server, so that no line has to name it."""
    if fitting.level.is_full:
        document.add(b'"tools":[')
        document.add_list(definition for _, definition in fitting.shown)
        document.add(b"]")
        return
    others = NO_SPACE.format(fitting.omitted) if fitting.omitted else ""
    hint = f"{HOW_TO_GET_DEFINITION} {others}".rstrip()
    document.add(b'"detail":"%b","hint":%b,"tools":{' % (fitting.level.name.encode(), encode(hint)))
    by_server = groupby(fitting.shown, key=lambda pair: pair[0].origin[1])
    for number, (server, of_server) in enumerate(by_server):
        comma = b"," if number else b""
        document.add(b"%b%b:[%b]" % (comma, encode(server), b",".join(line for _, line in of_server)))
    document.add(b"}")


def _starting(server: str, deadline: float) -> dict[str, str]:
    message = (
        f"still starting after {deadline:g} s. It goes on: call open_toolbox again in a while for its tools, "
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
