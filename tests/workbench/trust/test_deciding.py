"""What a person decides takes effect in running workbenches, and the lock counts where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import BadAnswer
from mcp_workbench.storage.trust.lock_file import LockedServer, encode_lock
from mcp_workbench.storage.trust.pin_records import INSTRUCTIONS
from mcp_workbench.workbench.trust.digests import program_digest
from mcp_workbench.workbench.trust.judging.approved import REJECTED, why_held
from mcp_workbench.workbench.trust.lock_entries import locked_tool
from tests.support.waiting import poll
from tests.workbench.trust.pinned import ORIGIN, POISON, ListShower, Pinned, tool

if TYPE_CHECKING:
    from pathlib import Path

    import msgspec

BAD = tool(description=POISON)


async def held_tool(home: Path) -> Pinned:
    """A workbench that holds a tool and its server's instructions."""
    await Pinned(home).lists(tool())
    pinned = Pinned(home)
    assert (await pinned.lists(BAD, instructions=POISON)).held
    return pinned


async def test_an_approval_is_noticed_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.trust_context.LOOK_SECONDS", 0.01)
    pinned = await held_tool(tmp_path)
    user = ListShower(pinned)
    held = pinned.written
    assert held is not None
    assert held.is_pending
    pinned.store.approve(held, ["read", INSTRUCTIONS])
    await poll(lambda: user.times)
    judgement = pinned.trust.judgement((BAD,), POISON)
    assert (judgement.held, judgement.withheld, pinned.written) == ({}, None, None)
    await pinned.context.close()

    assert not (await Pinned(tmp_path).lists(BAD, instructions=POISON)).held
    assert not (await Pinned(tmp_path).lists(tool())).held


async def test_only_what_was_shown_is_approved(tmp_path: Path) -> None:
    pinned = await held_tool(tmp_path)
    shown = pinned.written
    assert shown is not None
    worse = tool(description=f"{POISON} And worse.", title="Worse")
    await pinned.lists(worse)
    pinned.store.approve(shown, ["read"])
    assert (await Pinned(tmp_path, "strict").lists(worse)).held.keys() == {"read"}
    assert not (await Pinned(tmp_path, "strict").lists(BAD)).held


async def test_a_rejected_definition_stays_held_and_waits_for_nobody(tmp_path: Path) -> None:
    pinned = await held_tool(tmp_path)
    held = pinned.written
    assert held is not None
    pinned.store.reject(held, ["read", INSTRUCTIONS])
    for process in (pinned, Pinned(tmp_path)):
        judgement = await process.lists(BAD, instructions=POISON)
        assert judgement.held["read"].reasons == (REJECTED,)
        assert judgement.withheld is not None
        assert process.written is not None
        assert not process.written.is_pending
    assert not (await Pinned(tmp_path).lists(tool())).held


async def test_a_process_with_another_list_does_not_hide_what_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.trust_context.LOOK_SECONDS", 0.01)
    pinned, other = await held_tool(tmp_path), Pinned(tmp_path)
    before = pinned.written
    assert not (await other.lists(tool())).held
    await poll(lambda: pinned.written == before)
    # Two processes that hold two definitions leave each other's alone.
    assert (await other.lists(tool(title=POISON))).held
    await poll(lambda: len(pinned.store.held.of(pinned.place)) == 2)
    await pinned.context.close()
    await other.context.close()


async def test_clients_with_other_lists_do_not_hide_what_one_of_them_may_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.judging.keeping.MAX_HELD_SETS", 2)
    pinned = await held_tool(tmp_path)
    users = [ListShower(pinned) for _ in range(3)]
    for user, title in zip(users, ("Read", POISON, f"{POISON} And more."), strict=True):
        await pinned.lists(tool(title=title), instructions=title, user=user)
    shown = {bytes(held.tools["read"].definition): held for held in pinned.store.held.of(pinned.place)}
    assert shown.keys() == {bytes(BAD), bytes(tool(title=POISON))}
    pinned.store.approve(shown[bytes(BAD)], ["read"])
    assert not (await Pinned(tmp_path, "strict").lists(BAD)).held
    assert (await Pinned(tmp_path, "strict").lists(tool(title=POISON))).held


async def test_a_lock_that_approves_a_rejected_definition_releases_it(tmp_path: Path) -> None:
    await Pinned(tmp_path).lists(tool())
    locked(tmp_path, tool())
    pinned = Pinned(tmp_path)
    await pinned.lists(BAD, instructions=POISON)
    assert pinned.written is not None
    pinned.store.reject(pinned.written, ["read", INSTRUCTIONS])
    locked(tmp_path, BAD, instructions=POISON)  # by somebody else, so that nothing is decided here
    judgement = await Pinned(tmp_path).lists(BAD, instructions=POISON)
    assert (judgement.held, judgement.withheld) == ({}, None)


def locked(home: Path, read: msgspec.Raw, program: str = "fs-server", instructions: str = "") -> Path:
    """Write a lock that approves a tool named `read`; without a program, a lock that has no server."""
    tools = {"read": locked_tool(read)}
    server = LockedServer(
        identity=program_digest(program), program=program, instructions=instructions, tools=tools
    )
    path = home / "workbench-lock.json"
    path.write_bytes(encode_lock({ORIGIN: server} if program else {}))
    return path


@pytest.mark.parametrize(
    ("level", "program", "held"),
    [
        ("scan", "fs-server", {"read"}),
        ("strict", "fs-server", {"read"}),
        # What the lock does not have is pinned in the data directory, or held.
        ("scan", "", set()),
        ("strict", "", {"read"}),
        ("scan", "other", set()),
        ("strict", "other", {"read"}),
        ("off", "fs-server", set()),
    ],
)
async def test_the_lock_says_what_was_approved(
    level: str, program: str, held: set[str], tmp_path: Path
) -> None:
    await Pinned(tmp_path, level).lists(BAD)
    lock = locked(tmp_path, tool(), program)
    pinned, before = Pinned(tmp_path, level), lock.read_bytes()
    assert (await pinned.lists(BAD)).held.keys() == held
    clean = await pinned.lists(tool(description="Reads one file."))
    assert bool(clean.held) == (level == "strict")
    assert lock.read_bytes() == before


@pytest.mark.parametrize("weaker", [{}, {"readOnlyHint": False}], ids=["gone", "false"])
@pytest.mark.parametrize("level", ["scan", "strict"])
async def test_the_hints_of_the_lock_count(level: str, weaker: dict[str, bool], tmp_path: Path) -> None:
    harmless, weakened = tool(annotations={"readOnlyHint": True}), tool(annotations=weaker)
    await Pinned(tmp_path, level).lists(weakened)  # what is pinned does not count beside a lock
    locked(tmp_path, harmless)
    pinned = Pinned(tmp_path, level)
    assert pinned.trust.hint("read") == "read-only"
    judgement = await pinned.lists(harmless)
    assert (judgement.held, judgement.hints) == ({}, {"read": "read-only"})
    judgement = await pinned.lists(weakened)
    assert ({*judgement.held}, judgement.hints) == ({"read"}, {"read": "read-only"})
    assert "claimed to be read-only" in judgement.held["read"].reasons[0]


@pytest.mark.parametrize(("level", "held"), [("scan", set()), ("strict", {"read"})])
async def test_no_claim_is_more_harmless_than_the_lock_says(
    level: str, held: set[str], tmp_path: Path
) -> None:
    claimed = tool(annotations={"readOnlyHint": True})
    await Pinned(tmp_path, level).lists(claimed)
    locked(tmp_path, tool())
    pinned = Pinned(tmp_path, level)
    judgement = await pinned.lists(claimed)
    assert ({*judgement.held}, judgement.hints) == (held, {"read": "unknown"})
    assert pinned.trust.hint("read") == "unknown"


async def test_the_hints_of_a_tool_that_the_lock_does_not_have_do_not_count(tmp_path: Path) -> None:
    locked(tmp_path, tool())
    pinned = Pinned(tmp_path)
    judgement = await pinned.lists(tool(), tool("new", annotations={"readOnlyHint": True}))
    assert (judgement.held, judgement.hints) == ({}, {"read": "unknown"})
    assert pinned.trust.hint("new") is None


async def test_a_changed_lock_is_noticed_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.trust_context.LOOK_SECONDS", 0.01)
    pinned = Pinned(tmp_path)
    assert not (await pinned.lists(BAD)).held
    user = ListShower(pinned)
    locked(tmp_path, tool())
    await poll(lambda: user.times)
    assert pinned.trust.judgement((BAD,), "").held.keys() == {"read"}
    await pinned.context.close()


@pytest.mark.parametrize("is_link", [False, True], ids=["a conflict", "a link to nothing"])
@pytest.mark.parametrize(("level", "held"), [("scan", set()), ("strict", {"read"})])
async def test_a_lock_that_cannot_be_read_approves_nothing(
    level: str, held: set[str], is_link: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lock = tmp_path / "workbench-lock.json"
    if is_link:
        lock.symlink_to("nowhere")
    else:
        lock.write_text("<<<<<<< ours\n", encoding="utf-8")
    assert (await Pinned(tmp_path, level).lists(tool())).held.keys() == held
    assert "the lock cannot be used" in caplog.text


@pytest.mark.parametrize(("level", "held"), [("scan", set()), ("strict", {"read"})])
async def test_a_damaged_pin_is_said_and_not_taken_for_a_first_sight(
    level: str, held: set[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await Pinned(tmp_path, level).lists(tool())
    for file in (tmp_path / "data" / "pins").glob("*.json"):
        file.write_bytes(file.read_bytes()[:-20])
    pinned = Pinned(tmp_path, level)
    assert (await pinned.lists(tool())).held.keys() == held
    if level == "scan":
        assert "cannot be read any more; its tools are pinned anew" in caplog.text
        assert (await Pinned(tmp_path, level).lists(BAD)).held
    else:
        assert pinned.written is not None
        pinned.store.approve(pinned.written, ["read"])
        assert not (await Pinned(tmp_path, level).lists(tool())).held


async def test_the_caller_is_told_why_a_tool_is_held(tmp_path: Path) -> None:
    async def told(pinned: Pinned, definition: msgspec.Raw) -> str:
        return why_held((await pinned.lists(definition)).held["read"])

    assert await told(Pinned(tmp_path, "strict"), BAD) == "nobody has approved it yet"
    assert not (await Pinned(tmp_path).lists(tool())).held
    pinned = Pinned(tmp_path)
    assert await told(pinned, BAD) == "its definition changed since it was approved"
    assert pinned.written is not None
    pinned.store.reject(pinned.written, ["read"])
    assert await told(Pinned(tmp_path), BAD) == "a person has rejected it"
    other = Pinned(tmp_path, "strict", arguments=("other",))
    assert await told(other, tool()) == "another program has the name of this server now"
    lock = tmp_path / "workbench-lock.json"
    lock.write_bytes(b"{")
    assert await told(Pinned(tmp_path, "strict"), tool()) == "the lock cannot be used"
    lock.write_bytes(encode_lock({}))
    assert await told(Pinned(tmp_path, "strict"), tool()) == "the lock does not have this server"
    lock.unlink()
    for file in (tmp_path / "data" / "pins").glob("*.json"):
        file.write_bytes(file.read_bytes()[:-20])
    damaged = "what was approved of this server cannot be read any more"
    assert await told(Pinned(tmp_path, "strict"), tool()) == damaged


async def test_texts_that_are_lost_hold_what_changed_and_nothing_else(tmp_path: Path) -> None:
    await Pinned(tmp_path).lists(tool())
    for file in (tmp_path / "data" / "texts").glob("*.json"):
        file.unlink()
    assert not (await Pinned(tmp_path).lists(tool())).held
    assert (await Pinned(tmp_path).lists(tool(description="Reads one file."))).held


async def test_a_list_of_the_same_bytes_is_not_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Pinned(tmp_path).lists(tool(), tool("write"))
    monkeypatch.setattr("mcp_workbench.workbench.trust.judging.judge.judge", None)
    judgement = await Pinned(tmp_path).lists(tool(), tool("write"))
    assert (judgement.held, judgement.hints) == ({}, {"read": "unknown", "write": "unknown"})


async def test_what_scan_lets_pass_is_judged_again_under_strict(tmp_path: Path) -> None:
    await Pinned(tmp_path).lists(tool())
    harmless = tool(annotations={"readOnlyHint": True})
    assert not (await Pinned(tmp_path).lists(harmless)).held
    assert (await Pinned(tmp_path, "strict").lists(harmless)).held.keys() == {"read"}


async def test_a_list_that_cannot_be_judged_because_of_a_fault_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pinned = Pinned(tmp_path)
    await pinned.lists(tool())

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mcp_workbench.workbench.trust.pinning.verdict_on", fail)
    with pytest.raises(BadAnswer, match="could not be compared"):
        await pinned.lists(tool(description="Reads one file."))
    assert "could not be judged" in caplog.text


async def test_a_decision_counts_even_if_judging_again_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pinned = Pinned(tmp_path)
    await pinned.lists(tool())
    user = ListShower(pinned)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mcp_workbench.workbench.trust.pinning.verdict_on", fail)
    locked(tmp_path, tool())
    pinned.trust.look()
    await poll(lambda: user.times)
    assert "could not be judged again" in caplog.text


async def test_what_was_logged_as_held_is_remembered_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_workbench.workbench.trust.judging.keeping.MAX_REMEMBERED", 2)
    await Pinned(tmp_path).lists(tool())
    pinned = Pinned(tmp_path)
    for number in (1, 2, 2, 3, 1):
        await pinned.lists(tool(description=f"{POISON} {number}"))
    assert caplog.text.count("is held") == 4
