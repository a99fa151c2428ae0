"""A child that can no longer be used is ended sooner, and its whole process tree with it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.processes import child as child_module
from mcp_workbench.wire.processes.child import EXIT_GRACE_SECONDS, SHORT_GRACE_SECONDS
from mcp_workbench.wire.processes.guard import Guard
from tests.support.processes import ignores, is_running, is_stopped, wait_until_gone
from tests.support.waiting import PATIENCE, poll
from tests.wire.children import HELPER, IGNORE_END, open_descriptors, program, python, started
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = ON_BOTH_LOOPS

SLACK = 1.0
EARLY = 0.9
"""The clock of uvloop goes in steps."""


async def test_one_that_is_given_up_is_closed_at_once_with_the_reason() -> None:
    async with started("echo ready; exec cat") as it:
        await it.line()
        it.child.give_up("it does not answer")
        assert it.child.closing.done()
        assert it.child.closed.result() == "it does not answer"


async def test_the_reason_to_give_one_up_stays_whatever_comes_of_it() -> None:
    async with started("echo ready; exec cat") as it:
        await it.line()
        it.child.give_up("it does not answer")
        it.child.give_up("nor does it now")
        await it.stop()
    assert it.child.closed.result() == "it does not answer"


async def test_giving_up_one_that_has_ended_changes_nothing() -> None:
    async with started("exit 3") as it:
        await it.closed()
        it.child.give_up("it does not answer")
    assert it.child.closed.result() == "the server exited with code 3"


async def test_one_that_is_given_up_is_told_to_go_at_once() -> None:
    async with started(f"trap 'exit 7' TERM; echo ready; {IGNORE_END}") as it:
        await it.line()
        it.child.give_up("it does not answer")
        seconds = await it.stop()
    assert it.child.exit_code == 7
    assert seconds < EXIT_GRACE_SECONDS


@pytest.mark.parametrize(
    ("deaf", "is_deaf"),
    [
        (f"trap '' TERM; {IGNORE_END}", partial(ignores, number=signal.SIGTERM)),
        ("kill -STOP $$", is_stopped),
    ],
    ids=["ignores", "stopped"],
)
async def test_one_that_is_given_up_and_will_not_go_is_killed(
    deaf: str, is_deaf: Callable[[int], bool]
) -> None:
    async with started(f"{HELPER}; echo $$; {deaf}") as it:
        helper, leader = int(await it.line()), int(await it.line(1))
        await poll(lambda: is_deaf(leader) and ignores(helper, signal.SIGTERM))
        it.child.give_up("it does not answer")
        seconds = await it.stop()
    assert it.child.exit_code == -signal.SIGKILL
    assert EARLY * SHORT_GRACE_SECONDS <= seconds < SHORT_GRACE_SECONDS + SLACK
    await wait_until_gone([helper])


@pytest.mark.parametrize("closing", [">&-", "<&-"])
async def test_one_that_closed_a_pipe_and_lives_on_gets_less_time(closing: str) -> None:
    async with started(f"echo ready; exec {closing}; trap '' TERM; {IGNORE_END}") as it:
        await it.closed()
        seconds = await it.stop()
    assert it.child.exit_code == -signal.SIGKILL
    assert EARLY * 2 * SHORT_GRACE_SECONDS <= seconds < 2 * SHORT_GRACE_SECONDS + SLACK


async def test_one_that_is_killed_is_gone_at_once_with_its_helpers() -> None:
    async with started(f"{HELPER}; trap '' TERM; echo ready; {IGNORE_END}") as it:
        helper = int(await it.line())
        await it.line(1)
        it.child.kill()
        seconds = await it.stop()
    assert it.child.exit_code == -signal.SIGKILL
    assert seconds < EXIT_GRACE_SECONDS
    await wait_until_gone([helper])


async def test_killing_one_ends_the_patience_of_a_stop_that_is_under_way() -> None:
    async with started(f"trap '' TERM; echo ready; {IGNORE_END}") as it:
        await it.line()
        stopping = asyncio.create_task(it.stop())
        await asyncio.wait([stopping], timeout=0.05)
        it.child.kill()
        assert await stopping < EXIT_GRACE_SECONDS


async def test_killing_one_that_never_started_or_is_gone_is_harmless() -> None:
    async with started("exit 0") as it:
        await it.stop()
        it.child.kill()
    assert it.child.exit_code == 0


async def test_one_that_is_paused_waits_and_goes_on_where_it_was() -> None:
    async with started("echo ready; read line; yes | head -c 1000000; echo done; echo done >&2") as it:
        await it.line()
        it.child.pause()
        it.child.write(b"go\n")
        done = asyncio.create_task(poll(lambda: it.stderr))
        await asyncio.wait([done], timeout=0.3)
        assert (done.done(), it.lines) == (False, [b"ready"])
        it.child.resume()
        await done
        await it.closed()
    assert it.lines == [b"ready", *[b"y"] * 500_000, b"done"]


async def test_the_words_on_stderr_of_a_paused_one_are_heard() -> None:
    async with started("echo ready; read line; echo heard >&2; exec cat") as it:
        await it.line()
        it.child.pause()
        it.child.write(b"go\n")
        await poll(lambda: it.stderr == ["heard"])


async def test_the_last_answer_of_one_that_ends_while_it_is_paused_is_not_lost() -> None:
    async with started("echo ready; read line; echo last; exit 5") as it:
        await it.line()
        it.child.pause()
        it.child.write(b"go\n")
        said, _ = await it.closed()
        assert (said, it.lines) == ("the server exited with code 5", [b"ready", b"last"])


async def test_one_that_is_stopped_while_it_is_paused_can_finish_its_work() -> None:
    async with started("echo ready; read line; yes | head -c 1000000; echo; exit 6") as it:
        await it.line()
        it.child.pause()
        it.child.write(b"go\n")
        await it.stop()
        await it.closed()
    assert it.child.exit_code == 6
    assert len(it.lines) > 400_000


async def test_what_one_never_read_is_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if an unknown process still holds the other end of its stdin."""
    monkeypatch.setattr(child_module, "EXIT_GRACE_SECONDS", 0.1)
    guard = Guard({})
    async with started("echo ready; exec cat", guard) as first:
        await first.line()
    gc.collect()
    before = open_descriptors()
    async with started(program(python(STRAY_READER)), guard) as it:
        stray = int(await it.line())
        try:
            it.child.write(b"x" * 5_000_000)
            await it.stop()
            await poll(lambda: open_descriptors() <= before)
            assert is_running(stray)
        finally:
            os.kill(stray, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        await it.child.closed
    await guard.close()


STRAY_READER = """
import os, time
said, saying = os.pipe()
if os.fork() == 0:
    os.setsid()
    until_exec, held = os.pipe()
    if pid := os.fork():
        # Until then it has our environment, and is known by it.
        os.close(held)
        os.read(until_exec, 1)
        os.write(saying, b'%d' % pid)
        os._exit(0)
    os.execve('/bin/sleep', ['sleep', '60'], {})
# Until the leader of its session is gone, it is known by that.
os.wait()
print(int(os.read(said, 20)), flush=True)
time.sleep(60)
"""
