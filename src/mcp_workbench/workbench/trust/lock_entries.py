"""Entries of the lock: made of what a server lists, or of what is pinned, and compared part by part."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import msgspec

from mcp_workbench.storage.trust.lock_file import LockedServer, LockedTool
from mcp_workbench.workbench.trust.differences import hint_changes, instruction_changes, tool_changes
from mcp_workbench.workbench.trust.digests import hints_of, parsed, pinned_part, text_digest, tree_digest
from mcp_workbench.workbench.trust.word_differences import Change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.storage.trust.pin_records import ServerPin


class PartDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a server that is not as the lock has it."""

    part: Literal["program", "instructions", "tool"]
    state: Literal["added", "removed", "changed"]
    tool: str = ""
    """The name of the tool, if the part is one."""
    changes: tuple[Change, ...]


def locked_tool(definition: msgspec.Raw) -> LockedTool:
    """Return the entry of a tool. Raises ValueError for a number that JSON cannot hold."""
    tree = parsed(definition)
    text = json.dumps(pinned_part(tree), allow_nan=False)
    return LockedTool(definition=msgspec.Raw(text.encode()), digest=tree_digest(tree), hints=hints_of(tree))


def pinned_server(pin: ServerPin, texts: Mapping[str, msgspec.Raw]) -> LockedServer:
    """Return the entry of a server as it is pinned.

    Tools are left out if their approved texts are lost or cannot be written as JSON.
    """
    tools: dict[str, LockedTool] = {}
    for name, tool in pin.tools.items():
        with suppress(ValueError):
            if (text := texts.get(tool.digest)) is not None:
                tools[name] = msgspec.structs.replace(locked_tool(text), hints=tool.hints)
    instructions = texts.get(pin.instructions)
    return LockedServer(
        identity=pin.identity,
        program=pin.program,
        instructions="" if instructions is None else msgspec.json.decode(instructions, type=str),
        tools=tools,
    )


def differences(locked: LockedServer, listed: LockedServer) -> list[PartDifference]:
    """Return the parts of a server that are not as the lock has them."""
    parts: list[PartDifference] = []
    if locked.identity != listed.identity:
        change = Change("~", "program", locked.program, listed.program)
        parts.append(PartDifference(part="program", state="changed", changes=(change,)))
    if text_digest(locked.instructions) != text_digest(listed.instructions):
        changes = tuple(instruction_changes(locked.instructions, listed.instructions))
        state = _state(locked.instructions or None, listed.instructions or None)
        parts.append(PartDifference(part="instructions", state=state, changes=changes))
    for name in sorted({*locked.tools, *listed.tools}):
        old, new = locked.tools.get(name), listed.tools.get(name)
        if old is None or new is None or (old.digest, old.hints) != (new.digest, new.hints):
            changes = tuple(entry_changes(old, new))
            parts.append(PartDifference(part="tool", tool=name, state=_state(old, new), changes=changes))
    return parts


def entry_changes(old: LockedTool | None, new: LockedTool | None) -> list[Change]:
    """Return the differences between two entries of a tool, hints included; None stands for no entry."""
    changes = hint_changes({} if old is None else old.hints, {} if new is None else new.hints)
    if old is None or new is None or old.digest != new.digest:
        changes += tool_changes(*(None if entry is None else entry.definition for entry in (old, new)))
    return changes


def _state(old: object, new: object) -> Literal["added", "removed", "changed"]:
    if old is None:
        return "added"
    return "removed" if new is None else "changed"
