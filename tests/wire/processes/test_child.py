"""A child is used over real pipes, in its own process group, and the last lines of its stderr are kept."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.processes import stderr
from mcp_workbench.wire.processes.child import Child
from mcp_workbench.wire.processes.guard import MARK, Guard
from tests.support.waiting import poll
from tests.wire.children import open_descriptors, program, python, shell, started
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = ON_BOTH_LOOPS


async def test_what_is_written_arrives_and_what_it_says_comes_back() -> None:
    large = "x" * 1_000_000
    async with started("exec cat") as it:
        it.child.write(b"one\ntwo\n")
        it.child.write(large.encode() + b"\n")
        assert [await it.line(0), await it.line(1), await it.line(2)] == ["one", "two", large]


async def test_it_gets_the_environment_and_the_directory_that_it_was_given_and_no_more(
    tmp_path: Path,
) -> None:
    code = "import os; print(dict(os.environ) | {'LC_CTYPE': '', MARK: ''}, os.getcwd(), flush=True)"
    given = program(python(f"MARK = {MARK!r}; {code}"), {"ONLY": "this"}, str(tmp_path))
    async with started(given) as it:
        assert await it.line() == f"{ {'ONLY': 'this', MARK: '', 'LC_CTYPE': ''} } {tmp_path}"


async def test_its_stdin_stdout_and_stderr_are_pipes() -> None:
    script = "for n in 0 1 2; do test -p /dev/fd/$n && echo pipe || echo other; done"
    async with started(script) as it:
        assert [await it.line(n) for n in range(3)] == ["pipe"] * 3


async def test_it_leads_a_session_and_a_group_of_its_own() -> None:
    async with started("echo $$; exec cat") as it:
        pid = int(await it.line())
        assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)


async def test_it_inherits_none_of_our_descriptors() -> None:
    code = "import os; print(sorted(map(int, os.listdir('/dev/fd')))[:4], flush=True)"
    # The fourth is the listing's own.
    async with started("exec cat"), started(program(python(code))) as it:
        assert await it.line() == "[0, 1, 2, 3]"


async def test_a_program_that_is_not_there_leaves_nothing_open() -> None:
    before = open_descriptors()
    with pytest.raises(FileNotFoundError):
        async with started(program(["/does/not/exist"])):
            raise AssertionError("it cannot have started")
    await poll(lambda: open_descriptors() <= before)


async def test_a_directory_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with started(program(shell("exit 0"), cwd="/does/not/exist")):
            raise AssertionError("it cannot have started")


async def test_writing_to_one_that_never_started_is_harmless() -> None:
    child = Child(Guard({}), str, print)
    child.write(b"x\n")
    await child.stop()
    assert (child.exit_code, child.closed.done()) == (None, False)


async def test_writing_to_one_that_has_ended_is_harmless() -> None:
    async with started("exit 0") as it:
        await it.closed()
        for _ in range(10):
            it.child.write(b"x" * 100_000)


async def test_it_may_stop_reading_for_as_long_as_it_likes() -> None:
    async with started("read line; echo awake; exec cat") as it:
        it.child.write(b"x\n")
        assert await it.line() == "awake"
        for number in range(20):
            it.child.write(str(number).encode() * 50_000 + b"\n")
        assert [await it.line(number + 1) for number in range(20)] == [
            str(number) * 50_000 for number in range(20)
        ]


@pytest.mark.slow
async def test_fifty_of_them_leave_no_descriptor_open() -> None:
    async with started("exec cat") as it:
        it.child.write(b"x\n")
        await it.line()
    gc.collect()
    before = open_descriptors()
    for _ in range(50):
        async with started("echo out; echo err >&2; exec cat") as it:
            await it.line()
    await poll(lambda: open_descriptors() <= before)


async def test_only_the_last_lines_of_stderr_are_kept_but_all_are_passed_on() -> None:
    async with started("seq 1 500 >&2; echo done") as it:
        await it.line()
        await poll(lambda: len(it.stderr) == 500)
    assert it.stderr == [str(number) for number in range(1, 501)]
    assert list(it.child.stderr) == it.stderr[-stderr.KEPT_LINES :]


async def test_its_words_are_cut_to_a_width_and_made_readable() -> None:
    code = "import os; os.write(2, b'caf\\xe9\\r\\n' + b'x' * 5_000_000 + b'\\n\\nlast')"
    async with started(program(python(code))) as it:
        await it.closed()
        await poll(lambda: len(it.stderr) == 3)
    assert it.stderr == ["caf\ufffd", "x" * stderr.MAX_LINE_CHARACTERS, "last"]


async def test_a_flood_of_its_words_does_not_keep_it_from_answering() -> None:
    async with started("yes flood | head -c 3000000 >&2; echo answer; exec cat") as it:
        assert await it.line() == "answer"
