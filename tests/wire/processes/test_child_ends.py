"""`closed` says soon, and in words, that a child can no longer be talked to."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from mcp_workbench.wire.processes.child import CLOSING_SECONDS
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE
from tests.wire.children import HELPER, IGNORE_END, program, python, started
from tests.wire.loops import ON_BOTH_LOOPS

pytestmark = ON_BOTH_LOOPS

SOON = CLOSING_SECONDS + 1.0


@pytest.fixture(params=["descriptor", "thread"])
def exit_watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the system reports the end of a process: some have a descriptor for it, others need a thread."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open", raising=False)


@pytest.mark.usefixtures("exit_watch")
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 0", "the server exited with code 0"),
        ("exit 3", "the server exited with code 3"),
        ("exit 255", "the server exited with code 255"),
        ("kill -TERM $$", "the server was ended by SIGTERM"),
        ("kill -KILL $$", "the server was ended by SIGKILL"),
        ("ulimit -c 0; kill -SEGV $$", "the server was ended by SIGSEGV"),
    ],
)
async def test_an_end_is_told_with_its_exit_code_or_its_signal(script: str, words: str) -> None:
    async with started(script) as it:
        said, seconds = await it.closed()
    assert said == words
    assert seconds < SOON


async def test_an_answer_written_just_before_the_end_comes_before_the_end() -> None:
    for _ in range(20):
        async with started("echo first; echo last; exit 5") as it:
            said, _ = await it.closed()
            assert (said, it.lines) == ("the server exited with code 5", [b"first", b"last"])


async def test_a_large_answer_written_just_before_the_end_comes_whole() -> None:
    code = "import sys; sys.stdout.buffer.write(b'x' * 5_000_000 + b'\\nlast'); sys.exit(5)"
    async with started(program(python(code))) as it:
        assert (await it.closed())[0] == "the server exited with code 5"
        assert it.lines == [b"x" * 5_000_000, b"last"]


async def test_one_that_closes_its_output_and_lives_on_is_closed() -> None:
    async with started(f"echo $$; exec >&-; {IGNORE_END}") as it:
        pid = int(await it.line())
        said, seconds = await it.closed()
        os.killpg(pid, signal.SIGKILL)
    assert said == "the server closed its output"
    assert seconds < SOON


async def test_one_that_closes_its_input_and_lives_on_is_closed() -> None:
    async with started(f"echo $$; exec <&-; {IGNORE_END}") as it:
        pid = int(await it.line())
        said, seconds = await it.closed()
        os.killpg(pid, signal.SIGKILL)
    assert said == "the server closed its input"
    assert seconds < SOON


async def test_a_helper_that_holds_the_pipes_does_not_hide_the_end() -> None:
    async with started(f"{HELPER}; exit 3") as it:
        helper = int(await it.line())
        said, seconds = await it.closed()
    assert said == "the server exited with code 3"
    assert seconds < SOON
    await wait_until_gone([helper])


async def test_one_that_is_silent_and_alive_is_not_closed() -> None:
    async with started("echo ready; exec cat") as it:
        await it.line()
        done, _ = await asyncio.wait([it.child.closed], timeout=2 * CLOSING_SECONDS)
        assert not done
        it.child.write(b"still there?\n")
        assert await it.line(1) == "still there?"


async def test_the_first_sign_of_an_end_is_told_before_the_end() -> None:
    async with started(f"{HELPER}; exit 3") as it:
        async with asyncio.timeout(PATIENCE):
            await it.child.closing
        assert not it.child.closed.done()
        await it.closed()


async def test_a_line_that_was_not_read_is_reported_and_ends_the_child() -> None:
    async with started("echo $$; exec sleep 100") as it:
        pid = int(await it.line())
        os.kill(pid, signal.SIGKILL)
        # Before the loop can tell anybody.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - that is the point
        it.child.write(b"first\n")
        it.child.write([b"second ", memoryview(b"line\n")])
        assert it.unwritten == [b"first\n", b"second line\n"]
        assert it.child.closing.done()
        assert (await it.closed())[0] == "the server was ended by SIGKILL"
        it.child.write(b"third\n")
        assert it.unwritten[2:] == [b"third\n"]


async def test_the_end_of_one_that_we_stop_is_told_too() -> None:
    async with started("exec cat") as it:
        await it.stop()
        assert (await it.closed())[0] == "the server exited with code 0"
