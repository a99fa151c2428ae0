"""When we are killed, the guard ends what we leave behind: all of that, in time, and nothing else."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.wire.processes import guard as guard_module
from mcp_workbench.wire.processes.guard import MARK, Guard
from tests.support.processes import ignores, is_running, wait_until_gone
from tests.support.waiting import poll
from tests.wire.children import DISTANT_HELPER, HELPER, IGNORE_END, open_descriptors, started
from tests.wire.hosts import host, seconds_until_gone

pytestmark = [pytest.mark.asyncio(loop_factories=["asyncio"]), pytest.mark.slow]

LIMIT = 5.0
AT_ONCE = 1.0
STUBBORN = f"trap '' TERM; echo $$; {IGNORE_END}"
UNMARKED = f'exec env -i PATH="$PATH" sh -c "{STUBBORN}"'.replace("$$", "\\$\\$")
"""One that can be found by its group alone."""
linux_only = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


def watched_by(guard: Guard) -> int:
    assert guard._process is not None
    return guard._process.pid


def end_of_input(guard: Guard) -> int:
    """Return the exit code of a guard whose workbench has ended."""
    process = guard._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(AT_ONCE)


def sleeping() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], start_new_session=True)


async def test_stubborn_children_and_the_helpers_in_their_group_are_gone_in_time() -> None:
    async with host(f"{HELPER}; {STUBBORN}", f"{HELPER}; {UNMARKED}") as it:
        pids = [await it.pid() for _ in range(4)]
        await it.kill()
        assert await seconds_until_gone([*pids, it.guard]) < LIMIT


@linux_only
async def test_helpers_in_a_session_of_their_own_are_gone_in_time() -> None:
    async with host(f"{DISTANT_HELPER} {STUBBORN}", f"{DISTANT_HELPER} exec cat") as it:
        pids = [await it.pid() for _ in range(3)]
        await it.kill()
        assert await seconds_until_gone([*pids, it.guard]) < LIMIT


async def test_a_polite_child_finishes_its_work(tmp_path: Path) -> None:
    done = tmp_path / "done"
    told = f"trap 'echo told >> {done}' TERM"
    work = f"echo $$; while read line; do :; done; sleep 1.5; echo done >> {done}"
    async with host(f"{told}; {work}", STUBBORN) as it:
        pids = [await it.pid(), await it.pid()]
        await it.kill()
        assert await seconds_until_gone(pids) < LIMIT
    assert done.read_text(encoding="utf-8") == "done\n"


async def test_a_signal_to_go_does_not_move_the_guard() -> None:
    async with host(STUBBORN) as it:
        pid = await it.pid()
        # On a busy machine its shell may not have read the script yet.
        await poll(lambda: ignores(it.guard, signal.SIGTERM))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(it.guard, number)
        await it.kill()
        assert await seconds_until_gone([pid]) < LIMIT


async def test_the_guard_goes_with_a_host_that_ends_in_good_order() -> None:
    async with host("echo $$; exec cat") as it:
        pid = await it.pid()
        assert await it.close() == 0
        assert not is_running(pid)
        assert not is_running(it.guard)


async def test_a_guard_that_was_killed_is_replaced_with_the_next_child() -> None:
    async with host(UNMARKED) as it:
        first = await it.pid()
        lost = it.guard
        os.kill(lost, signal.SIGKILL)
        await wait_until_gone([lost])
        it.run(STUBBORN)
        second = await it.pid()
        assert it.guard != lost
        await it.kill()
        assert await seconds_until_gone([first, second]) < LIMIT
        await wait_until_gone([it.guard])


async def test_two_hosts_side_by_side_have_nothing_to_do_with_each_other() -> None:
    async with host(f"{DISTANT_HELPER} {STUBBORN}") as one, host(f"{DISTANT_HELPER} {STUBBORN}") as other:
        of_one = [await one.pid(), await one.pid()]
        of_other = [await other.pid(), await other.pid()]
        await one.kill()
        await wait_until_gone([*of_one, one.guard])
        assert all(map(is_running, [*of_other, other.guard]))
        await other.kill()
        await wait_until_gone([*of_other, other.guard])


@linux_only
async def test_a_host_inside_a_host_is_gone_with_all_its_own() -> None:
    """The inner one has children that would keep it busy for longer than there is time."""
    inner = [sys.executable, "-m", "tests.wire.guarded_host", "uvloop", f"{DISTANT_HELPER} {STUBBORN}"]
    async with host(f"exec {shlex.join(inner)}") as it:
        pids = [int(pid) for _ in range(2) for pid in (await it.line()).split()]
        await it.kill()
        assert await seconds_until_gone([*pids, it.guard]) < LIMIT


async def test_a_child_that_is_over_is_out_of_its_care() -> None:
    guard = Guard({})
    async with started("echo $$; exec cat", guard) as it:
        assert guard._groups == {int(await it.line())}
    assert guard._groups == set()
    await guard.close()


async def test_children_inherit_nothing_of_the_guard() -> None:
    guard = Guard({})
    show = "ls /proc/self/fd | tr '\\n' ' '"
    async with started("exec cat", guard), started(show, guard) as it:
        assert await it.line() == "0 1 2 3 "  # the last is the listing's own
    await guard.close()


@linux_only
async def test_every_child_has_a_mark_of_its_own_that_holds_those_of_the_hosts_around_it() -> None:
    guard = Guard({MARK: "outer.7/"})
    show = f"echo ${MARK}"
    async with started(show, guard) as one, started(show, guard) as other:
        marks = [await one.line(), await other.line()]
    run = marks[0].removeprefix("outer.7/").partition(".")[0]
    assert marks == [f"outer.7/{run}.1/", f"outer.7/{run}.2/"]
    assert len(run) == 16
    await guard.close()


async def test_it_leaves_no_process_and_no_descriptor() -> None:
    async with started("exec cat"):
        pass
    before = open_descriptors()
    for _ in range(5):
        guard = Guard({})
        async with started("echo $$; exec cat", guard) as it:
            await it.line()
        pid = watched_by(guard)
        await guard.close()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    await poll(lambda: open_descriptors() <= before)


async def test_one_that_has_nothing_to_end_goes_at_once_with_its_input() -> None:
    guard = Guard({})
    guard.prepare()
    assert end_of_input(guard) == 0
    await guard.close()


async def test_a_group_that_is_out_of_its_care_is_left_alone() -> None:
    guard = Guard({})
    guard.prepare()
    with sleeping() as one, sleeping() as other, sleeping() as last:
        everyone = (one, other, last)
        try:
            for it in everyone:
                guard.watch(it.pid)
            for it in everyone:
                guard.forget(it.pid)
            guard.forget(0)
            assert end_of_input(guard) == 0
            assert [it.poll() for it in everyone] == [None] * 3
        finally:
            for it in everyone:
                it.kill()
    await guard.close()


async def test_a_guard_that_was_not_needed_was_never_started() -> None:
    guard = Guard({})
    await guard.close()
    assert guard._process is None


async def test_one_that_does_not_listen_is_replaced_and_never_waited_for() -> None:
    guard = Guard({})
    guard.prepare()
    deaf = watched_by(guard)
    os.kill(deaf, signal.SIGSTOP)
    while watched_by(guard) == deaf:
        guard.watch(os.getpid())
        guard.forget(os.getpid())
    assert not is_running(deaf)
    await guard.close()


async def test_without_a_shell_children_run_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "SHELL", "/does/not/exist")
    guard = Guard({})
    async with started("echo here; exec cat", guard) as it:
        assert await it.line() == "here"
    await guard.close()
