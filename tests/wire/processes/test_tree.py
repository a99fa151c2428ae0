"""What a child has started is gone with it, also what left its group for a session of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mcp_workbench.wire.processes import child as child_module
from mcp_workbench.wire.processes.guard import MARK, Guard
from mcp_workbench.wire.processes.scanner import ProcessScanner, ProcessSnapshot, identify
from mcp_workbench.wire.processes.tree import HELPERS_GRACE_SECONDS, KILL_SECONDS
from tests.support.processes import is_running, wait_until_gone
from tests.support.waiting import poll
from tests.wire.children import DISTANT_HELPER, IGNORE_END, program, python, started
from tests.wire.loops import ON_BOTH_LOOPS

pytestmark = [
    ON_BOTH_LOOPS,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]

SLACK = 1.0
EXIT_GRACE = 0.4
TERM_GRACE = 0.3
WAYS = ["exec cat", "exit 3", f"trap '' TERM; {IGNORE_END}", "exec >&-; exec cat"]
"""To go with its input, by itself, not at all, and after it has closed its output."""


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "EXIT_GRACE_SECONDS", EXIT_GRACE)
    monkeypatch.setattr(child_module, "TERM_GRACE_SECONDS", TERM_GRACE)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[ProcessSnapshot]:
    taken: list[ProcessSnapshot] = []
    look = ProcessScanner._look

    def count(self: ProcessScanner) -> ProcessSnapshot:
        taken.append(look(self))
        return taken[-1]

    monkeypatch.setattr(ProcessScanner, "_look", count)
    return taken


@pytest.mark.parametrize("leader", WAYS)
async def test_a_helper_in_a_session_of_its_own_is_gone_however_the_child_went(leader: str) -> None:
    async with started(f"{DISTANT_HELPER} {leader}") as it:
        helper = int(await it.line())
        assert os.getsid(helper) == helper
        await it.stop()
        assert not is_running(helper)


@pytest.mark.parametrize("leader", WAYS)
async def test_an_orphan_is_ended_however_the_child_ended(leader: str) -> None:
    daemon = "(setsid sh -c \"(trap '' TERM; echo \\$\\$; exec sleep 600) &\" &)"
    async with started(f"{daemon}; {leader}") as it:
        await it.line()
        helpers = [pid for pids in it.child._guard.scanner.recent().marked.values() for pid in pids]
        await it.stop()
        assert not any(map(is_running, helpers))


@pytest.mark.parametrize("leader", ["exec cat", f"trap '' TERM; {IGNORE_END}"])
async def test_one_that_has_cleared_its_environment_is_known_by_its_parent(leader: str) -> None:
    bare = "setsid env -i sh -c 'echo $$; exec sleep 600' &"
    async with started(f"{bare} {leader}") as it:
        helper = int(await it.line())
        await it.stop()
        assert not is_running(helper)


async def test_one_in_another_group_of_its_session_is_gone_though_it_has_no_mark() -> None:
    code = """
import os, sys
if (pid := os.fork()) == 0:
    os.setpgid(0, 0)
    os.write(1, b'%d\\n' % os.getpid())
    os.execve('/bin/sleep', ['sleep', '600'], {})
sys.stdin.read(1)
os._exit(3)
"""
    async with started(program(python(code))) as it:
        helper = int(await it.line())
        it.child.write(b"\n")
        await it.closed()
        await it.stop()
        assert not is_running(helper)


async def test_one_may_end_by_itself_when_the_child_went_in_good_order() -> None:
    tidy = "trap 'echo tidied >&2; exit' TERM; echo ready; while :; do sleep 0.02; done"
    async with started(f'setsid sh -c "{tidy}" & exec cat') as it:
        await it.line()
        await it.stop()
        await poll(lambda: "tidied" in it.stderr)


async def test_one_in_the_group_is_told_only_once() -> None:
    told = "trap 'echo told >&2' TERM; echo ready; while :; do sleep 0.02 2>&-; done"
    async with started(f'sh -c "{told}" & exec cat') as it:
        await it.line()
        await it.stop()
    assert it.stderr.count("told") == 1


async def test_one_that_will_not_go_costs_little_time() -> None:
    async with started(f"{DISTANT_HELPER} exec cat") as it:
        await it.line()
        assert await it.stop() < HELPERS_GRACE_SECONDS + KILL_SECONDS + SLACK


async def test_one_that_starts_another_when_it_is_told_to_go_is_gone_with_that() -> None:
    again = "trap 'setsid sleep 601 & echo $!; exit' TERM; echo $$; while :; do sleep 0.02; done"
    async with started(f'setsid sh -c "{again}" & exec cat'.replace("$", "\\$")) as it:
        await it.line()
        await it.stop()
        assert not is_running(int(await it.line(1)))


async def test_killing_a_child_reaches_them_at_once() -> None:
    async with started(f"{DISTANT_HELPER} trap '' TERM; {IGNORE_END}") as it:
        helper = int(await it.line())
        it.child.kill()
        await wait_until_gone([helper])


async def test_those_of_another_child_are_left_alone() -> None:
    guard = Guard({})
    async with (
        started(f"{DISTANT_HELPER} exec cat", guard) as other,
        started(f"{DISTANT_HELPER} exec cat", guard) as it,
    ):
        helper, others = int(await it.line()), int(await other.line())
        await it.stop()
        assert (is_running(helper), is_running(others)) == (False, True)
        other.child.write(b"still there?\n")
        assert await other.line(1) == "still there?"
    await wait_until_gone([others])
    await guard.close()


async def test_children_that_are_stopped_together_share_a_look(looks: list[ProcessSnapshot]) -> None:
    guard = Guard({})
    async with AsyncExitStack() as stack:
        several = [await stack.enter_async_context(started("exec cat", guard)) for _ in range(20)]
        await asyncio.gather(*(it.stop() for it in several))
    assert 1 <= len(looks) < len(several)
    await guard.close()


async def test_marks_are_told_apart_and_zombies_are_not_counted() -> None:
    run = "0123456789abcdef"
    scanner = ProcessScanner(run)
    with (
        sleeping({MARK: f"another.7/{run}.11/"}) as one,
        sleeping({"LONG": "x" * 100_000, MARK: f"{run}.1/"}) as other,
        sleeping({MARK: "another.1/"}) as stranger,
    ):
        everyone = (one, other, stranger)
        try:
            await poll(lambda: all(b"sleep" in command(it.pid) for it in everyone))
            assert (await scanner.fresh()).marked == {11: [one.pid], 1: [other.pid]}
            one.send_signal(signal.SIGKILL)
            await poll(lambda: identify(one.pid) is None)
            assert (await scanner.fresh()).marked == {1: [other.pid]}
        finally:
            for it in everyone:
                it.kill()


async def test_the_proc_of_another_system_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 0)
    look = await ProcessScanner("0123456789abcdef").fresh()
    assert look == ProcessSnapshot({}, {}, {})


def sleeping(env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sleep", "600"], env=env)


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
