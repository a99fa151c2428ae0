"""The results of `open_toolbox` for tools that were searched for, or asked for by name."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import ToolsNotFound
from mcp_workbench.surface.listing.detail import (
    BRIEF,
    FULL,
    HOW_TO_GET_DEFINITION,
    DefinitionReader,
    DetailLevel,
    ListedTool,
    cost,
    fit,
)
from mcp_workbench.surface.listing.listing_result import ListingResult
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.similar_names import similar_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.surface.listing.detail import Key, Show
    from mcp_workbench.surface.listing.open_request import Detail, OpenRequest
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import FoundTool, SearchFindings

BEST_SHARE: Final = 0.125
"""Part of the budget for whole definitions of the best tools of each query."""

MAX_COMPARED_NAMES: Final = 20_000
"""Names that are compared to suggest corrections for all missing ones. Each takes some 10 µs of the event
loop."""

AGES: Final = ((86400, "day"), (3600, "hour"), (60, "minute"))

NOTHING_FITS: Final = "Nothing fits. Try other words, or open a toolbox to see all of its tools."
NOT_SEARCHED: Final = (
    "What the servers in not_searched have is not known yet: open_toolbox with their toolbox_name connects "
    "them. (The user can make all known at once: mcp-workbench index)"
)


class _Piece(msgspec.Struct, frozen=True):
    json: bytes
    is_brief: bool
    """Whether less than the whole definition is shown."""


def findings_result(findings: SearchFindings, wanted: OpenRequest, budget: int) -> tuple[Body, ...]:
    """Return the tools for one query, or for each of several. Each tool is shown once."""
    reader = DefinitionReader()
    answers = [_dated(tools) for tools in findings.found]
    pieces = _pieces(answers, wanted.detail, budget, _as_object(reader))
    is_brief = any(piece.is_brief for piece in pieces.values())
    document = ListingResult()
    document.add(b'{"results":[' if wanted.is_list else b"{")
    for number, (query, tools) in enumerate(zip(wanted.queries, answers, strict=True)):
        if wanted.is_list:
            document.add(b",{" if number else b"{")
        document.add(b'"query":%b,"tools":[' % encode(query))
        # A tool that is shown under an earlier query is only named.
        document.add_list(
            shown.json if (shown := pieces.pop(tool.key, None)) else _identify(tool) for tool in tools
        )
        document.add(b"]}" if wanted.is_list else b"]")
    if wanted.is_list:
        document.add(b"]")
    document.add_members(
        {
            "hint": " ".join(_hints(findings, is_brief=is_brief)),
            "not_searched": _by_toolbox(findings.unknown),
            "notes": reader.notes(),
        }
    )
    document.add(b"}")
    return document.result()


def _pieces(
    answers: Sequence[Sequence[ListedTool]], detail: Detail, budget: float, show: Show
) -> dict[Key, _Piece]:
    """Return what is shown of each tool.

    For "auto" the best are shown whole and the others in brief: usually one of the best is called next.
    """
    tools = {tool.key: tool for found in answers for tool in found}
    if detail != "auto":
        level = DetailLevel(detail)
        return {key: _Piece(show(level, tool), not level.is_full) for key, tool in tools.items()}
    pieces: dict[Key, _Piece] = {}
    left = budget
    for found in answers:
        tokens_left = min(left, budget * BEST_SHARE)
        for tool in found:
            if tool.key not in pieces and (price := cost(definition := show(FULL, tool))) <= tokens_left:
                pieces[tool.key] = _Piece(definition, is_brief=False)
                tokens_left -= price
                left -= price
    others = [tool for key, tool in tools.items() if key not in pieces]
    brief = fit(others, "auto", left, show, BRIEF).shown
    return pieces | {tool.key: _Piece(json, is_brief=True) for tool, json in brief}


def named_result(known: Sequence[FoundTool], wanted: OpenRequest) -> tuple[Body, ...]:
    """Return tools by their names, out of all known tools. Raises ToolsNotFound."""
    reader = DefinitionReader()
    document = ListingResult()
    document.add(b"{")
    add_named(document, _dated(known), wanted, reader, where="any toolbox of which the tools are known")
    document.add_members({"notes": reader.notes()})
    document.add(b"}")
    return document.result()


def add_named(
    document: ListingResult,
    tools: Sequence[ListedTool],
    wanted: OpenRequest,
    reader: DefinitionReader,
    *,
    where: str,
) -> None:
    """Add the tools that are asked for by name, whole by default. Raises ToolsNotFound."""
    chosen = [tool for tool in tools if tool.name in wanted.names]
    found = {tool.name for tool in chosen}
    all_names = list(dict.fromkeys(tool.name for tool in tools))
    max_suggestions = max(MAX_COMPARED_NAMES // max(len(all_names), 1), 1)
    missing = {
        name: similar_names(name, all_names) if number < max_suggestions else []
        for number, name in enumerate(name for name in wanted.names if name not in found)
    }
    if not chosen:
        raise ToolsNotFound(where, missing)
    detail = "full" if wanted.detail == "auto" else wanted.detail
    document.add(b'"tools":[')
    document.add_list(json for _, json in fit(chosen, detail, 0, _as_object(reader)).shown)
    document.add(b"]")
    document.add_members({"not_found": [{"name": name, "similar": near} for name, near in missing.items()]})


def _as_object(reader: DefinitionReader) -> Show:
    """Return a function that shows a tool with all that `use_tool` needs to identify it."""

    def show(level: DetailLevel, tool: ListedTool) -> bytes:
        if level.is_full:
            return reader.whole(tool)
        return _identify(tool, **{level.word: reader.words(level, tool)})

    return show


def _identify(tool: ListedTool, **more: str) -> bytes:
    toolbox, server = tool.origin
    dated = {"listed": tool.listed} if tool.listed else {}
    return encode({"name": tool.name, "toolbox_name": toolbox, "source_server": server, **more, **dated})


def _hints(findings: SearchFindings, *, is_brief: bool) -> Iterator[str]:
    if not any(findings.found):
        yield NOTHING_FITS
    if is_brief:
        yield HOW_TO_GET_DEFINITION
    if findings.unknown:
        yield NOT_SEARCHED


def _by_toolbox(origins: Sequence[Origin]) -> dict[str, list[str]]:
    return {
        toolbox: [server for _, server in group] for toolbox, group in groupby(origins, lambda pair: pair[0])
    }


def _dated(found: Sequence[FoundTool]) -> list[ListedTool]:
    now = time.time()
    return [
        ListedTool(
            tool.origin,
            tool.name,
            tool.definition,
            "" if tool.listed_at is None else age(now - tool.listed_at),
        )
        for tool in found
    ]


def age(seconds: float) -> str:
    """Say how long ago something was, such as "2 hours ago"."""
    for unit, word in AGES:
        # Negative if the clock was set back.
        if (count := int(seconds // unit)) > 0:
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"
