"""Every kind of change comes to the same, whichever way its server is reached, and so does its undoing."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Literal

import msgspec
import pytest

from mcp_workbench.errors import ToolHeld, ToolNotFound
from tests.workbench.trust.pinned import POISON, taking, tool
from tests.workbench.trust.test_held_tools import BAD, GOOD, OTHER, bench, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.sessions import Era
    from tests.workbench.trust.test_held_tools import Bench

Level = Literal["scan", "strict", "off"]
SAID = "Use talk first."
WORSE = tool("talk", inputSchema=taking(("path", "note"), note={"type": "string"}))
CHANGED = "its definition changed since it was approved"
NEW = "nobody has approved it yet"
OTHER_PROGRAM = "another program has the name of this server now"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a server, and what is held after it."""

    before: tuple[msgspec.Raw, ...] = (GOOD, OTHER)
    after: tuple[msgspec.Raw, ...] = (GOOD, OTHER)
    says: str = SAID
    """The instructions after the change."""
    is_other_program: bool = False
    held: dict[Level, set[str]] = {}
    """The tools that are held under each level."""
    withheld: set[Level] = set()
    """The levels under which the instructions are withheld."""
    why: str = ""


KINDS = {
    "text": Kind(after=(BAD, OTHER), held={"scan": {"talk"}, "strict": {"talk"}}, why=CHANGED),
    "clean text": Kind(
        after=(tool("talk", description="Reads one file."), OTHER),
        says="Use talk for files.",
        held={"strict": {"talk"}},
        withheld={"strict"},
        why=CHANGED,
    ),
    "schema": Kind(after=(WORSE, OTHER), held={"scan": {"talk"}, "strict": {"talk"}}, why=CHANGED),
    "hint": Kind(
        before=(tool("talk", annotations={"readOnlyHint": True}), OTHER),
        after=(tool("talk", annotations={"readOnlyHint": False}), OTHER),
        held={"scan": {"talk"}, "strict": {"talk"}},
        why=CHANGED,
    ),
    "instructions": Kind(says=POISON, withheld={"scan", "strict"}),
    "rename": Kind(after=(tool("speak"), OTHER), held={"strict": {"speak"}}, why=NEW),
    "new tool": Kind(
        after=(GOOD, OTHER, tool("new", description=POISON)),
        held={"scan": {"new"}, "strict": {"new"}},
        why=NEW,
    ),
    # Under `scan`, nothing of another program is compared with what was approved.
    "other program": Kind(
        after=(WORSE, OTHER),
        is_other_program=True,
        held={"strict": {"talk", "other"}},
        withheld={"strict"},
        why=OTHER_PROGRAM,
    ),
}


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """What is in reach of a client."""

    listed: list[str]
    found: set[str]
    calls: dict[str, str]
    """What becomes of a call of each tool: `passes`, or why it does not."""
    told: str
    """The instructions."""
    to_review: set[str]
    """The tools that a person is shown as held."""
    withheld: bool


def names_of(*tools: msgspec.Raw) -> list[str]:
    return [json.loads(bytes(one))["name"] for one in tools]


def expected(kind: Kind, level: Level) -> Reach:
    """What should be in reach after a change."""
    held = kind.held.get(level, set())
    is_withheld = level in kind.withheld
    listed = [name for name in names_of(*kind.after) if name not in held]
    calls = dict.fromkeys(names_of(*kind.before), "not found")
    calls |= dict.fromkeys(listed, "passes") | dict.fromkeys(held, kind.why)
    told = "" if is_withheld else kind.says
    return Reach(listed=listed, found={*listed}, calls=calls, told=told, to_review=held, withheld=is_withheld)


async def called(made: Bench, name: str) -> str:
    try:
        await made.server.connect(name, 0, modern=made.modern)
    except ToolHeld as error:
        assert made.server.ready(name, made.modern) is None
        return str(error).partition(" is held: ")[2].partition(". A person")[0]
    except ToolNotFound:
        return "not found"
    assert made.server.ready(name, made.modern) is not None
    return "passes"


async def reach(made: Bench, *names: str) -> Reach:
    """What is in reach, with calls of these tools."""
    listed, shown = await made.opened(), made.store.held.servers()
    return Reach(
        listed=listed,
        found={*await made.found(*names)},
        calls={name: await called(made, name) for name in names},
        told=made.server.instructions,
        to_review={name for one in shown for name in one.tools},
        withheld=any(one.instructions is not None for one in shown),
    )


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("level", ["scan", "strict", "off"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_what_is_in_reach_after_a_change_and_after_its_undoing(
    kind: Kind,
    level: Level,
    transport: str,
    server_era: Era,
    tmp_path: Path,
    *,
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = dict.fromkeys(names_of(*kind.before, *kind.after))
    as_before = expected(Kind(before=kind.before + kind.after, after=kind.before), level)
    with contextlib.ExitStack() as stack:
        async with bench(tmp_path, transport, server_era, level=level) as made:
            made.define(*kind.before, instructions=SAID)
            assert await reach(made, *names) == as_before

            made.define(*kind.after, instructions=kind.says)
            if kind.is_other_program:
                made.reload(**stack.enter_context(serving(tmp_path, transport, server_era, "other")))
            await made.restart()
            assert await reach(made, *names) == expected(kind, level)
            is_said = f"{OTHER_PROGRAM}; its tools are pinned anew" in caplog.text
            assert is_said == (kind.is_other_program and level == "scan")

            made.define(*kind.before, instructions=SAID)
            if kind.is_other_program:
                made.reload()
            await made.restart()
            assert await reach(made, *names) == as_before
