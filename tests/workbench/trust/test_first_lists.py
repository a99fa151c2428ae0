"""The first list of a server is used at once, and pinned before the next list and before the end."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.workbench.trust import pinning
from tests.support.waiting import poll
from tests.workbench.trust.pinned import LIMIT, POISON, ListShower, Pinned, tool

if TYPE_CHECKING:
    from pathlib import Path

    import msgspec

    from mcp_workbench.workbench.trust.judgement import Judgement

GOOD = tool()
BAD = tool(description=POISON)
READS = tool("list", annotations={"readOnlyHint": True})


@pytest.fixture(autouse=True)
def nothing_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinning, "FIRST_DELAY_SECONDS", 600.0)


async def admitted(pinned: Pinned, *tools: msgspec.Raw, modern: bool = True) -> Judgement:
    await pinned.trust.admit(tools, "", LIMIT, user=pinned, modern=modern)
    return pinned.trust.judgement(tools, "")


def pinned_tools(pinned: Pinned) -> list[str]:
    pin = pinned.store.read(pinned.place).pin
    return [] if pin is None else sorted(pin.tools)


async def test_it_is_used_before_it_is_pinned(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    assert not (await admitted(pinned, GOOD)).held
    assert pinned_tools(pinned) == []
    await pinned.context.close()
    assert pinned_tools(pinned) == ["read"]


@pytest.mark.parametrize("level", ["scan", "strict", "off"])
async def test_it_is_pinned_without_a_word(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pinning, "FIRST_DELAY_SECONDS", 0.01)
    caplog.set_level("INFO")
    pinned = Pinned(tmp_path, level)
    await pinned.trust.admit((GOOD, READS), "Use read for files.", LIMIT, user=pinned, modern=True)
    await poll(lambda: not pinned.trust.is_busy)  # it is pinned, and scanned
    assert pinned_tools(pinned) == ([] if level == "off" else ["list", "read"])
    await pinned.context.close()
    assert caplog.messages == []


async def test_it_is_pinned_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinning, "FIRST_DELAY_SECONDS", 0.01)
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD, *(tool(f"tool-{number}") for number in range(50)))
    await poll(lambda: len(pinned_tools(pinned)) == 51)
    await pinned.context.close()


@pytest.mark.parametrize("modern", [True, False], ids=["same version", "other version"])
async def test_the_next_list_is_judged_by_it_however_soon_it_comes(tmp_path: Path, modern: bool) -> None:
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD)
    assert [*(await admitted(pinned, BAD, modern=modern)).held] == ["read"]
    assert pinned_tools(pinned) == ["read"]
    await pinned.context.close()


async def test_lists_that_come_at_once_are_judged_by_the_first(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    first, *others = await asyncio.gather(admitted(pinned, GOOD), *(admitted(pinned, BAD) for _ in range(5)))
    assert not first.held
    assert [[*judgement.held] for judgement in others] == [["read"]] * 5
    await pinned.context.close()


async def test_after_a_change_of_the_configuration_the_next_list_is_judged_by_it_too(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD)
    before = pinned.trust
    changed = pinned.changed(isolation="client")
    assert changed is not before
    pinned.trust = changed
    assert [*(await admitted(pinned, BAD)).held] == ["read"]
    assert not before.is_busy
    await pinned.context.close()


async def test_the_end_pins_it_although_the_configuration_has_changed(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD)
    before, pinned.trust = pinned.trust, pinned.changed(isolation="client")
    await pinned.context.close()
    assert pinned_tools(pinned) == ["read"]
    assert not before.is_busy


async def test_a_second_change_of_the_configuration_does_not_forget_it(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD)
    between = pinned.changed(isolation="client")
    pinned.trust = pinned.changed(isolation="shared")
    assert between.is_busy
    assert [*(await admitted(pinned, BAD)).held] == ["read"]
    await pinned.context.close()


async def test_its_hints_count_at_once(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    judgement = await admitted(pinned, GOOD, READS)
    claims = [pinned.trust.hint(name) for name in ("read", "list", "none")]
    assert claims == ["unknown", "read-only", None]
    assert judgement.hints == {"read": "unknown", "list": "read-only"}
    await pinned.context.close()
    assert [pinned.trust.hint(name) for name in ("read", "list", "none")] == claims


async def test_its_hints_are_all_there_once_it_is_pinned(tmp_path: Path) -> None:
    pinned = Pinned(tmp_path)
    judgement = await admitted(pinned, GOOD, READS)
    assert judgement.hints == {}
    await pinned.trust.pin_first_list(LIMIT)
    assert judgement.hints == {"read": "unknown", "list": "read-only"}
    await pinned.context.close()


async def test_what_another_process_has_pinned_meanwhile_counts(tmp_path: Path) -> None:
    pinned, other = Pinned(tmp_path), Pinned(tmp_path)
    assert not (await admitted(pinned, BAD)).held
    await other.lists(GOOD)
    user = ListShower(pinned)
    await pinned.trust.pin_first_list(LIMIT)
    assert user.times == 1
    assert [*pinned.trust.judgement((BAD,), "").held] == ["read"]
    await pinned.context.close()
    await other.context.close()


@pytest.mark.skipif(os.name == "nt", reason="no such lock")
async def test_the_end_waits_only_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pinning, "FINISH_TIMEOUT_SECONDS", 0.05)
    pinned = Pinned(tmp_path)
    await admitted(pinned, GOOD)
    with pinned.store._locked():
        await pinned.context.close()
    assert "its first list of tools could not be pinned within 0.05 s" in caplog.text
