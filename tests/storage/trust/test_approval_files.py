"""Pending approvals are private, bounded and short-lived, and each answer is used up once."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from mcp_workbench.storage.trust.approval_files import (
    EXPIRY_SECONDS,
    MAX_PENDING,
    MAX_PENDING_OF_ONE,
    ApprovalFiles,
    PendingApproval,
)

TAKER = """
import fcntl, os, sys
from mcp_workbench.storage.trust.approval_files import ApprovalFiles
path, call = sys.argv[1:]
files = ApprovalFiles(os.environ)
remove = files._files.remove
with open(path) as start:
    def remove_when_told(name):
        print("found", flush=True)
        fcntl.flock(start, fcntl.LOCK_SH)
        files._files.remove = remove
        return remove(name)
    files._files.remove = remove_when_told
    print(files.state(call))
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def files(environ: dict[str, str]) -> ApprovalFiles:
    return ApprovalFiles(environ)


def pending(files: ApprovalFiles, what: str = "x", principal: str = "") -> PendingApproval:
    return PendingApproval(
        id=files.id_of(principal.encode(), what.encode()),
        asked_at=time.time(),
        config="/c.json",
        principal=principal,
        client="agent",
        method="tools/call",
        toolbox="dev",
        server="fs",
        name=what,
        rule="",
        lines=["[workbench] Allow this call?"],
    )


def age(files: ApprovalFiles, seconds: float) -> None:
    """Make all files older."""
    for path in Path(files.path).iterdir():
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


def test_an_approval_is_used_up_by_the_first_call(files: ApprovalFiles) -> None:
    call = pending(files)
    assert (files.ask(call), files.ask(call), files.state(call.id)) == ("open", "open", "open")
    assert files.pending() == [call]
    assert files.answer(call, allow=True)
    assert files.pending() == []
    assert (files.ask(call), files.state(call.id)) == ("allowed", "gone")


def test_a_denial_holds_until_it_expires(files: ApprovalFiles) -> None:
    call = pending(files)
    files.ask(call)
    assert files.answer(call, allow=False)
    assert (files.ask(call), files.ask(call)) == ("denied", "denied")
    age(files, EXPIRY_SECONDS + 1)
    assert files.ask(call) == "open"


@pytest.mark.parametrize("is_answered", [False, True])
def test_what_is_too_old_counts_for_nothing_and_is_deleted(files: ApprovalFiles, is_answered: bool) -> None:
    call = pending(files)
    files.ask(call)
    if is_answered:
        files.answer(call, allow=True)
    age(files, EXPIRY_SECONDS + 1)
    assert files.state(call.id) == "gone"
    assert files.pending() == []
    assert not files.answer(call, allow=True)
    assert [path.name for path in Path(files.path).glob(f"{call.id}*")] == []


def test_only_what_a_person_was_shown_can_be_answered(files: ApprovalFiles) -> None:
    call = pending(files)
    files.ask(msgspec.structs.replace(call, lines=["something else"]))
    assert not files.answer(call, allow=True)
    # The same call, made again meanwhile, is what was shown.
    files.ask(msgspec.structs.replace(call, asked_at=call.asked_at + 5))
    assert files.answer(call, allow=True)
    assert not files.answer(call, allow=True)


def test_of_many_at_once_one_uses_an_approval_up(files: ApprovalFiles, environ: dict[str, str]) -> None:
    call = pending(files)
    files.ask(call)
    files.answer(call, allow=True)
    barrier, states = threading.Barrier(8), []

    def take() -> None:
        own = ApprovalFiles(environ)
        barrier.wait()
        states.append(own.state(call.id))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(states) == ["allowed", *["gone"] * 7]


@pytest.mark.slow
def test_of_many_processes_that_find_an_approval_one_uses_it_up(
    files: ApprovalFiles, environ: dict[str, str], tmp_path: Path
) -> None:
    call = pending(files)
    files.ask(call)
    files.answer(call, allow=True)
    with (tmp_path / "start").open("w") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        command = [sys.executable, "-c", TAKER, start.name, call.id]
        takers = [
            subprocess.Popen(command, env={**os.environ, **environ}, stdout=subprocess.PIPE, encoding="utf-8")
            for _ in range(6)
        ]
        found = [taker.stdout.readline() for taker in takers if taker.stdout]
    assert found == ["found\n"] * 6
    states = sorted(taker.communicate(timeout=60)[0] for taker in takers)
    assert states == ["allowed\n", *["gone\n"] * 5]


def test_calls_of_one_principal_leave_room_for_others(files: ApprovalFiles) -> None:
    for number in range(MAX_PENDING_OF_ONE):
        files.ask(pending(files, str(number), "ada"))
    assert files.ask(pending(files, "one more", "ada")) == "full"
    assert files.ask(pending(files, "0", "ada")) == "open"
    for number in range(MAX_PENDING - MAX_PENDING_OF_ONE):
        files.ask(pending(files, "other", str(number)))
    assert files.ask(pending(files, "other", "the last")) == "full"


def test_ids_tell_nothing_without_the_key_and_are_the_same_in_all_processes(
    files: ApprovalFiles, environ: dict[str, str], tmp_path: Path
) -> None:
    assert files.id_of(b"a", b"bc") == ApprovalFiles(environ).id_of(b"a", b"bc")
    assert files.id_of(b"a", b"bc") != files.id_of(b"ab", b"c")
    elsewhere = ApprovalFiles({**environ, "XDG_CACHE_HOME": str(tmp_path / "other")})
    assert files.id_of(b"a", b"bc") != elsewhere.id_of(b"a", b"bc")


def test_all_files_are_for_their_owner_only(files: ApprovalFiles, tmp_path: Path) -> None:
    files.ask(pending(files))
    files.answer(pending(files), allow=True)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_damaged_and_foreign_files_are_passed_over(files: ApprovalFiles) -> None:
    call = pending(files)
    files.ask(call)
    directory = Path(files.path)
    (directory / f"{call.id}.json").write_text("{")
    (directory / "readme.json").write_text("{}")
    assert files.pending() == []
    assert not files.answer(call, allow=True)
    assert files.ask(call) == "open"
    assert files.pending() == [call]


def test_a_terminal_is_noticed_while_it_is_there(files: ApprovalFiles, environ: dict[str, str]) -> None:
    assert not files.has_terminal()
    with ApprovalFiles(environ).terminal() as be_there, ApprovalFiles(environ).terminal() as be_there_too:
        assert not files.has_terminal()
        assert be_there()
        assert not be_there_too()
        assert files.has_terminal()
    assert not files.has_terminal()
