"""The results of `open_toolbox` for tools that were searched for, or asked for by name."""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING, Final

from mcp_workbench.errors import ToolsNotFound
from mcp_workbench.surface.listing.detail import (
    SCHEMAS,
    SIGNATURES,
    DefinitionReader,
    DetailLevel,
    ListedTool,
    identified,
)
from mcp_workbench.surface.listing.fitting import cost, fit_names
from mcp_workbench.surface.listing.listing_result import ListingResult
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.similar_names import MAX_COMPARED_NAMES, similar_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from mcp_workbench.config import Origin
    from mcp_workbench.surface.listing.detail import Key
    from mcp_workbench.surface.listing.open_request import Detail, OpenRequest
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.client_view import FoundTool, SearchFindings

BEST_TOKENS: Final = 200
"""Tokens for the parameters of the best tools of each query. The others have a summary."""
FIRST_TOKENS: Final = 1000
"""Tokens for the parameters of the very best tool, which is called next more often than not."""

HOW_TO_GET_DEFINITION: Final = "Parameters of a tool: open_toolbox with tools: [its name]."

AGES: Final = ((86400, "day"), (3600, "hour"), (60, "minute"))

NOTHING_FITS: Final = "No tool matches. Try other words, or open a toolbox to see all its tools."
NOT_SEARCHED: Final = (
    "The tools of the servers in not_searched are not known yet: open_toolbox with their toolbox_name lists "
    "them. (The user can list all servers at once: mcp-workbench index)"
)


def findings_result(findings: SearchFindings, wanted: OpenRequest, budget: int) -> tuple[Body, ...]:
    """Return the tools for one query, or for each of several. Each tool is shown once."""
    reader = DefinitionReader()
    answers = [_listed(tools) for tools in findings.found]
    pieces = _pieces(answers, wanted.detail, budget, reader)
    is_brief = any(b'"summary":' in piece for piece in pieces.values())
    document = ListingResult()
    document.add(b'{"results":[' if wanted.is_list else b"{")
    for number, (query, tools) in enumerate(zip(wanted.queries, answers, strict=True)):
        if wanted.is_list:
            document.add(b'%b{"query":%b,' % (b"," if number else b"", encode(query)))
        document.add(b'"tools":[')
        # A tool that is shown under an earlier query is only named.
        document.add_list(pieces.pop(tool.key, b"") or identified(tool) for tool in tools)
        document.add(b"]}" if wanted.is_list else b"]")
    if wanted.is_list:
        document.add(b"]")
    document.add_members(
        {
            "listed": _age_of(tool for found in findings.found for tool in found),
            "hint": " ".join(_hints(findings, is_brief=is_brief)),
            "not_searched": _by_toolbox(findings.unknown),
            "notes": reader.notes(),
        }
    )
    document.add(b"}")
    return document.result()


def _pieces(
    answers: Sequence[Sequence[ListedTool]], detail: Detail, budget: float, reader: DefinitionReader
) -> dict[Key, bytes]:
    """Return what is shown of each tool.

    For "auto" the best have their parameters, and the others a summary: usually one of the best is called
    next.
    """
    tools = {tool.key: tool for found in answers for tool in found}
    if detail != "auto":
        level = DetailLevel(detail)
        return {key: reader.item(level, tool) for key, tool in tools.items()}
    pieces: dict[Key, bytes] = {}
    left = budget
    for found in answers:
        best = BEST_TOKENS
        for number, tool in enumerate(found):
            if tool.key in pieces:
                continue
            price = cost(piece := reader.item(SIGNATURES, tool))
            if price > min(left, best if number else FIRST_TOKENS):
                break
            pieces[tool.key] = piece
            best -= price
            left -= price
    others = [tool for key, tool in tools.items() if key not in pieces]
    return pieces | {tool.key: piece for tool, piece in fit_names(others, left, reader.item).shown}


def named_result(known: Sequence[FoundTool], wanted: OpenRequest) -> tuple[Body, ...]:
    """Return tools by their names, out of all known tools. Raises ToolsNotFound."""
    reader = DefinitionReader()
    document = ListingResult()
    document.add(b"{")
    add_named(document, _listed(known), wanted, reader, where="any toolbox whose tools are known")
    listed = _age_of(tool for tool in known if tool.name in wanted.names)
    document.add_members({"listed": listed, "notes": reader.notes()})
    document.add(b"}")
    return document.result()


def add_named(
    document: ListingResult,
    tools: Sequence[ListedTool],
    wanted: OpenRequest,
    reader: DefinitionReader,
    *,
    where: str,
    unknown: Sequence[str] = (),
    held: Collection[str] = (),
) -> None:
    """Add the tools that are asked for by name, by default with their schemas.

    `unknown` are the servers whose tools could not be listed, and `held` are names of held tools. Raises
    ToolsNotFound.
    """
    chosen = [tool for tool in tools if tool.name in wanted.names]
    found = {tool.name for tool in chosen} | {name for name in wanted.names if name in held}
    all_names = list(dict.fromkeys(tool.name for tool in tools))
    max_suggestions = max(MAX_COMPARED_NAMES // max(len(all_names), 1), 1)
    missing = {
        name: similar_names(name, all_names) if number < max_suggestions else []
        for number, name in enumerate(name for name in wanted.names if name not in found)
    }
    if not found:
        raise ToolsNotFound(where, missing, unknown)
    level = SCHEMAS if wanted.detail == "auto" else DetailLevel(wanted.detail)
    document.add(b'"tools":[')
    document.add_list(reader.item(level, tool) for tool in chosen)
    document.add(b"]")
    document.add_members({"not_found": [{"name": name, "similar": near} for name, near in missing.items()]})


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


def _listed(found: Sequence[FoundTool]) -> list[ListedTool]:
    return [ListedTool(tool.origin, tool.name, tool.definition) for tool in found]


def _age_of(found: Iterable[FoundTool]) -> str:
    """Say when servers that are not connected were listed; empty if all are connected."""
    times = [tool.listed_at for tool in found if tool.listed_at is not None]
    if not times:
        return ""
    now = time.time()
    latest, earliest = age(now - max(times)), age(now - min(times))
    return latest if latest == earliest else f"{latest} to {earliest}"


def age(seconds: float) -> str:
    """Say how long ago something was, such as "2 hours ago"."""
    for unit, word in AGES:
        # Negative if the clock was set back.
        if (count := int(seconds // unit)) > 0:
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"
