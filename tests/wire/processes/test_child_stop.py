"""Stopping a child: asked by the end of its input, then by SIGTERM, then killed; nothing of it is left."""

from __future__ import annotations

import asyncio
import signal

import pytest

from mcp_workbench.wire.processes import child as child_module
from tests.support.processes import is_running, is_stopped, wait_until_gone
from tests.support.waiting import poll
from tests.wire.children import HELPER, IGNORE_END, program, python, started
from tests.wire.loops import ON_BOTH_LOOPS

pytestmark = ON_BOTH_LOOPS

EXIT_GRACE = 0.4
TERM_GRACE = 0.3
SLACK = 1.0
EARLY = 0.9
"""The clock of uvloop goes in steps."""


@pytest.fixture
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "EXIT_GRACE_SECONDS", EXIT_GRACE)
    monkeypatch.setattr(child_module, "TERM_GRACE_SECONDS", TERM_GRACE)


async def test_a_polite_one_ends_with_its_input_and_gets_no_signal() -> None:
    async with started("trap 'echo got TERM' TERM; echo ready; while read line; do :; done; exit 4") as it:
        await it.line()
        seconds = await it.stop()
    assert (it.lines, it.child.exit_code) == ([b"ready"], 4)
    assert seconds < child_module.EXIT_GRACE_SECONDS


async def test_what_it_says_while_it_ends_is_still_heard() -> None:
    async with started("echo ready; while read line; do :; done; echo bye; echo last line >&2") as it:
        await it.line()
        await it.stop()
        await it.closed()
    assert (it.lines, it.stderr) == ([b"ready", b"bye"], ["last line"])


@pytest.mark.usefixtures("short_graces")
async def test_one_that_outlives_its_input_is_told_to_go() -> None:
    async with started(f"trap 'exit 7' TERM; echo ready; {IGNORE_END}") as it:
        await it.line()
        seconds = await it.stop()
    assert it.child.exit_code == 7
    assert EARLY * EXIT_GRACE <= seconds < EXIT_GRACE + TERM_GRACE + SLACK


@pytest.mark.usefixtures("short_graces")
async def test_one_that_will_not_go_is_killed() -> None:
    async with started(f"trap '' TERM; echo ready; {IGNORE_END}") as it:
        await it.line()
        seconds = await it.stop()
    assert it.child.exit_code == -signal.SIGKILL
    assert EARLY * (EXIT_GRACE + TERM_GRACE) <= seconds < EXIT_GRACE + TERM_GRACE + SLACK


@pytest.mark.usefixtures("short_graces")
async def test_one_that_is_stopped_by_a_signal_is_killed() -> None:
    async with started("echo $$; kill -STOP $$; exit 1") as it:
        leader = int(await it.line())
        await poll(lambda: is_stopped(leader))
        seconds = await it.stop()
    assert it.child.exit_code == -signal.SIGKILL
    assert seconds < EXIT_GRACE + TERM_GRACE + SLACK


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize("leader", ["exec cat", "exit 3", f"trap '' TERM; {IGNORE_END}"])
async def test_its_helpers_are_gone_with_it_however_it_went(leader: str) -> None:
    async with started(f"{HELPER}; {HELPER}; {leader}") as it:
        helpers = [int(await it.line(0)), int(await it.line(1))]
        assert all(map(is_running, helpers))
    await wait_until_gone(helpers)


async def test_helpers_of_a_polite_one_may_end_by_themselves() -> None:
    code = """
import os, signal, sys, time
def tidy(*_):
    os.write(2, b'tidied\\n')
    os._exit(0)
if os.fork() == 0:
    signal.signal(signal.SIGTERM, tidy)
    print('ready', flush=True)
    time.sleep(600)
sys.stdin.read()
"""
    async with started(program(python(code))) as it:
        await it.line()
    assert it.stderr == ["tidied"]


async def test_stopping_one_that_has_ended_takes_no_time() -> None:
    async with started("exit 0") as it:
        await it.closed()
        assert await it.stop() < child_module.EXIT_GRACE_SECONDS


async def test_stopping_twice_is_harmless() -> None:
    async with started("exec cat") as it:
        await asyncio.gather(it.stop(), it.stop())
        await it.stop()
    assert it.child.exit_code == 0


@pytest.mark.usefixtures("short_graces")
async def test_one_is_stopped_to_the_end_although_its_owner_is_cancelled_again_and_again() -> None:
    pids: list[int] = []

    async def own() -> None:
        async with started(f"trap '' TERM; echo $$; {IGNORE_END}") as it:
            pids.append(int(await it.line()))
            await asyncio.Event().wait()

    owner = asyncio.create_task(own())
    await poll(lambda: pids)
    while not owner.done():
        owner.cancel()
        await asyncio.wait([owner], timeout=0.05)
    assert owner.cancelled()
    await wait_until_gone(pids)


async def test_one_is_stopped_when_the_work_with_it_fails() -> None:
    async def fail() -> None:
        async with started("echo $$; exec cat") as it:
            pids.append(int(await it.line()))
            raise RuntimeError("in the middle of work")

    pids: list[int] = []
    with pytest.raises(RuntimeError, match="in the middle of work"):
        await fail()
    await wait_until_gone(pids)
