"""A pin says since when and by whom a tool is approved, and what is held, since when it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS
from tests.workbench.trust.pinned import POISON, Pinned, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.storage.trust.pin_records import ToolPin

BAD = tool(description=POISON)


def pin_of(pinned: Pinned, name: str = "read") -> ToolPin:
    pin = pinned.store.read(pinned.place).pin
    assert pin is not None
    return pin.tools[name]


async def test_an_approval_has_the_time_and_the_way_of_the_last_change(tmp_path: Path) -> None:
    started = time.time()
    pinned = Pinned(tmp_path)
    await pinned.lists(tool(), tool("write"))
    first = pin_of(pinned)
    assert (started <= first.since <= time.time(), first.by) == (True, "first")

    for process in (pinned, Pinned(tmp_path)):
        await process.lists(tool("write"), tool(icons=[]))
        assert pin_of(process) == first

    changed_at = time.time()
    await pinned.lists(tool(description="Reads one file."), tool("write"), tool("new"))
    for name in ("read", "new"):
        changed = pin_of(pinned, name)
        assert (changed_at <= changed.since <= time.time(), changed.by) == (True, "scan")
    unchanged = pin_of(pinned, "write")
    assert (unchanged.since, unchanged.by) == (first.since, "first")

    await pinned.lists(BAD, tool("write"))
    held = pinned.written
    assert held is not None
    reviewed_at = time.time()
    pinned.store.approve(held, ["read"])
    reviewed = pin_of(pinned)
    assert (reviewed_at <= reviewed.since <= time.time(), reviewed.by) == (True, "review")
    assert pin_of(pinned, "write") == unchanged


async def test_what_is_held_has_the_time_at_which_it_was_first_held(tmp_path: Path) -> None:
    await Pinned(tmp_path).lists(tool())
    started = time.time()
    first = Pinned(tmp_path)
    await first.lists(BAD, instructions=POISON)
    held = first.written
    assert held is not None
    assert held.instructions is not None
    assert started <= held.tools["read"].since <= time.time()
    assert started <= held.instructions.since <= time.time()

    # A longer list, in this process and in another one, and a decision about a part of it.
    for process in (first, Pinned(tmp_path)):
        await process.lists(BAD, tool("new", description=POISON), instructions=POISON)
        again = process.written
        assert again is not None
        assert (again.tools["read"], again.instructions) == (held.tools["read"], held.instructions)
        assert again.tools["new"].since > held.tools["read"].since
    first.store.reject(held, [INSTRUCTIONS])
    other = Pinned(tmp_path)
    await other.lists(BAD, instructions=POISON)
    assert other.written is not None
    assert other.written.tools["read"] == held.tools["read"]

    # Another definition is held from now on.
    changed_at = time.time()
    await other.lists(tool(description=f"{POISON} And more."))
    assert other.written is not None
    assert other.written.tools["read"].since >= changed_at


async def test_of_several_times_the_earliest_counts(tmp_path: Path) -> None:
    await Pinned(tmp_path).lists(tool())
    pinned = Pinned(tmp_path)
    await pinned.lists(BAD)
    held = pinned.written
    assert held is not None
    for since, hints in ((7.0, {"openWorldHint": True}), (5.0, {"openWorldHint": False}), (6.0, {})):
        read = msgspec.structs.replace(held.tools["read"], since=since, hints=hints)
        pinned.store.held.add(msgspec.structs.replace(held, tools={"read": read}))
    other = Pinned(tmp_path)
    await other.lists(BAD)
    assert other.written is not None
    assert other.written.tools["read"].since == 5.0
