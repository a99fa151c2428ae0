"""Tool definitions with the secrets of the configuration masked, the same live and in the catalogue.

Owns what happens to a definition that contains a secret. A definition without one stays the same object.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.protocol.lists import decode_named, unused_tool
from mcp_workbench.wire.message import ABSENT, is_json, starts_with
from mcp_workbench.wire.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.connection import Tools

    Mask = Callable[[str], str]

INLINE_BYTES: Final = 64 * 1024
"""Size up to which definitions are searched on the event loop: that takes a few milliseconds at most."""


async def masked_in_time(tools: Tools, mask: Mask, limit: float) -> tuple[Tools, list[str]]:
    """Return what `masked_tools` returns, without blocking the event loop. Raises BadAnswer."""
    if sum(map(len, tools)) <= INLINE_BYTES:
        return masked_tools(tools, mask)
    try:
        return await in_thread(partial(masked_tools, tools, mask), limit)
    except TimeoutError:
        raise BadAnswer(f"its list of tools could not be checked within {limit:g} s") from None


def masked_tools(tools: Tools, mask: Mask) -> tuple[Tools, list[str]]:
    """Return the tools with secrets masked, and a note for each that could not be called any more."""
    masked: list[msgspec.Raw] = []
    notes: list[str] = []
    for tool in tools:
        clean = masked_json(tool, mask)
        if clean is tool:
            masked.append(tool)
            continue
        name = _name_of(tool)
        if clean and _name_of(clean) == name:
            masked.append(clean)
        else:
            shown = unused_tool(name or "", mask(name or ""))
            notes.append(f"left out {shown}: its name contains a secret")
    return tuple(masked), notes


def masked_json(raw: msgspec.Raw, mask: Mask) -> msgspec.Raw:
    """Return JSON with secrets masked; ABSENT if that is not JSON: the secret was not in a string."""
    if not raw:
        return raw
    text = str(raw, "utf-8", "replace")
    clean = mask(text)
    if clean == text:
        return raw
    data = clean.encode(errors="replace")
    return msgspec.Raw(data) if is_json(data) else ABSENT


def objects_of(tools: Tools) -> Tools:
    """Return the tools that are JSON objects."""
    return tuple(tool for tool in tools if starts_with(tool, b"{"))


def _name_of(tool: msgspec.Raw) -> str | None:
    try:
        return decode_named(tool).name
    except (msgspec.DecodeError, RecursionError):
        return None
