"""Only processes of a workbench that is gone are orphans, and never those of anybody else."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from mcp_workbench.wire.processes import orphans
from mcp_workbench.wire.processes.guard import MARK, SCRIPT
from mcp_workbench.wire.processes.orphans import ListedProcess, find_orphans, orphans_among
from tests.support.orphans import SLEEPER, orphaned
from tests.support.waiting import poll

RUN, OTHER_RUN = "0123456789abcdef", "fedcba9876543210"
INIT = ListedProcess(1, 0, is_own=False, command="/sbin/init\0")
GUARD = ListedProcess(20, 1, is_own=True, command=f"/bin/sh\0/lib/wire/processes/guard.sh\0{RUN}\0")


def server(pid: int, parent: int = 1, mark: str = f"{RUN}.1/", *, is_own: bool = True) -> ListedProcess:
    return ListedProcess(pid, parent, is_own, "node\0server.js\0", f"HOME=/x\0{MARK}={mark}\0PATH=/bin\0")


def found(*processes: ListedProcess) -> list[int]:
    return [orphan.pid for orphan in orphans_among({process.pid: process for process in processes})]


def test_a_marked_process_without_its_workbench_is_an_orphan_and_so_are_its_helpers() -> None:
    assert found(INIT, server(10), server(11, parent=10)) == [10, 11]
    assert orphans_among({1: INIT, 10: server(10)})[0].command == ("node", "server.js")


@pytest.mark.parametrize(
    "others",
    [
        (INIT, GUARD),
        (INIT, ListedProcess(5, 1, is_own=True, command="python\0-m\0something\0")),
        (ListedProcess(1, 0, is_own=True, command="python\0-m\0mcp_workbench\0"),),
        (),
    ],
    ids=["its guard runs", "another process is its parent", "the workbench is the first process", "alone"],
)
def test_a_process_whose_workbench_may_live_is_none(others: tuple[ListedProcess, ...]) -> None:
    parent = 5 if any(process.pid == 5 for process in others) else 1
    assert found(*others, server(10, parent)) == []


def test_a_process_of_another_user_or_without_a_mark_is_none() -> None:
    plain = ListedProcess(11, 1, is_own=True, command="node\0server.js\0", environment="HOME=/x\0")
    quoting = ListedProcess(12, 1, is_own=True, command="x\0", environment=f"NOTE=about {MARK}\0")
    assert found(INIT, server(10, is_own=False), plain, quoting) == []


def test_what_an_outer_workbench_still_guards_is_none() -> None:
    inner = server(10, mark=f"{RUN}.1/{OTHER_RUN}.4/")
    assert found(INIT, GUARD, inner) == []
    assert found(INIT, inner) == [10]


async def test_a_real_orphan_is_found_until_it_is_gone() -> None:
    with orphaned(os.urandom(8).hex()) as pid:
        await poll(lambda: [one.command for one in find_orphans() if one.pid == pid] == [SLEEPER])
    await poll(lambda: pid not in [one.pid for one in find_orphans()])


async def test_a_process_of_a_guarded_run_is_not_found() -> None:
    run = os.urandom(8).hex()
    with orphaned(run) as pid:
        await poll(lambda: pid in [one.pid for one in find_orphans()])
        command = ["/bin/sh", SCRIPT, run]
        guard = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: ASYNC220 - it only waits
        try:
            await poll(lambda: pid not in [one.pid for one in find_orphans()])
        finally:
            guard.kill()
            guard.communicate()


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps")
async def test_ps_tells_the_same_where_there_is_no_proc() -> None:
    with orphaned(os.urandom(8).hex()) as pid:

        def is_found() -> bool:
            listed = {process.pid: process for process in orphans._from_ps()}
            found_here = [one.command for one in orphans_among(listed) if one.pid == pid]
            return found_here == [tuple(" ".join(SLEEPER).split())]

        await poll(is_found)
