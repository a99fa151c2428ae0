"""While the audit cannot be written, calls are answered, it is said once, and what is missing is counted."""

from __future__ import annotations

import asyncio
import errno
import functools
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.storage.audit.lines import directory, line, read
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import server, toolboxes
from tests.support.privileges import bound_by_modes
from tests.support.sessions import ModernSession, text_of
from tests.support.talking import using
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.client import Json

pytestmark = pytest.mark.slow

FULL = 2 * 2**20
"""Bytes of a file in which nothing more fits."""
ROOM = 100
"""Bytes of it that are left: for a part of a line."""
MANY = 5400
"""Calls: more than may wait while they cannot be written."""
NOT_RECORDED = "calls are not recorded now, because the audit cannot be written: "
AGAIN = "the audit can be written again: "

WORKBENCH = """
import sys
from mcp_workbench.__main__ import main
from mcp_workbench.serve.audit import audit_writer
audit_writer.RETRY_SECONDS = 0.1  # many attempts: only the first and the last one are said
sys.exit(main())
"""
SMALL_FILES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""
MOUNTED = 'mount -t tmpfs -o size=4m,mode=700 none "$0" && exec "$@"'
NAMESPACE = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
"""Begins a command whose mounts nobody else sees, and which end with it."""


class Disk:
    """Where a workbench keeps its data. It can be made to refuse lines, and to take them again."""

    error: int

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self.home = home
        self.pid = 0
        """The workbench."""

    @property
    def seen(self) -> Path:
        """The way there for a test."""
        return self.home

    def command(self, command: Sequence[str]) -> list[str]:
        """The command of a workbench that has its data here."""
        return list(command)

    def refuse(self) -> None:
        """Take no line any more."""

    def take(self) -> None:
        """Take them again."""


class ReadOnlyDirectory(Disk):
    """The user must not write there."""

    error = errno.EACCES

    def command(self, command: Sequence[str]) -> list[str]:
        return bound_by_modes(command)

    def refuse(self) -> None:
        self.home.chmod(0o555)

    def take(self) -> None:
        self.home.chmod(0o755)


class SmallFiles(Disk):
    """No file may become larger than two megabytes."""

    error = errno.EFBIG

    def command(self, command: Sequence[str]) -> list[str]:
        return [sys.executable, "-c", SMALL_FILES, str(FULL), *command]

    def refuse(self) -> None:
        fill(self.home)

    def take(self) -> None:
        newest(self.home).unlink()


class Mounted(Disk):
    """A file system of its own, of four megabytes."""

    @property
    def seen(self) -> Path:
        return Path(f"/proc/{self.pid}/root{self.home}")

    def command(self, command: Sequence[str]) -> list[str]:
        return [*NAMESPACE, "sh", "-c", MOUNTED, str(self.home), *command]


class FullDisk(Mounted):
    """There is no space left."""

    error = errno.ENOSPC

    def refuse(self) -> None:
        fill(self.seen)
        left = os.statvfs(self.seen)
        (self.seen / "ballast").write_bytes(b"x" * left.f_bavail * left.f_frsize)

    def take(self) -> None:
        (self.seen / "ballast").unlink()


class ReadOnlyDisk(Mounted):
    """It is mounted anew, to be read only."""

    error = errno.EROFS

    def refuse(self) -> None:
        self._mount_anew("ro")

    def take(self) -> None:
        self._mount_anew("rw")

    def _mount_anew(self, how: str) -> None:
        inside = ["nsenter", f"--target={self.pid}", "--mount"]
        mount = ["mount", "-o", f"remount,{how}", str(self.home)]
        subprocess.run([*inside, *mount], check=True, timeout=PATIENCE)


def newest(home: Path) -> Path:
    return directory(home) / "calls-000001.jsonl"


def fill(home: Path) -> None:
    """Make a file with one long line, and hardly any room for another."""
    directory(home).mkdir(parents=True)
    shortest = line(1, rule="x")
    newest(home).write_bytes(shortest.replace(b'"x"', b'"%b"' % (b"x" * (FULL - ROOM - len(shortest) + 1))))
    newest(home).chmod(0o600)


@functools.cache
def why_no_mounts() -> str:
    """Why nothing can be mounted here; empty if it can."""
    if sys.platform != "linux":
        return "there are no mount namespaces"
    command = [*NAMESPACE, "sh", "-c", MOUNTED, "/mnt", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return (tried.stderr.strip() or "it is refused") if tried.returncode else ""


mounting = pytest.mark.skipif(bool(why_no_mounts()), reason=f"nothing can be mounted: {why_no_mounts()}")
for_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can enter the namespace of another process"
)
binding = pytest.mark.skipif(
    sys.platform != "linux" and os.geteuid() == 0,
    reason="modes do not bind root, and nothing can change that",
)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(ReadOnlyDirectory, marks=binding),
        SmallFiles,
        pytest.param(FullDisk, marks=mounting),
        pytest.param(ReadOnlyDisk, marks=[mounting, for_root]),
    ],
)
async def test_while_no_line_can_be_written_calls_are_answered_and_then_all_are_accounted_for(
    tmp_path: Path, kind: type[Disk]
) -> None:
    disk = kind(tmp_path / "data")
    config = write_config(tmp_path, toolboxes(dev={"echo": server()}))
    command = disk.command([sys.executable, "-c", WORKBENCH, "--config", str(config)])
    async with RawClient(command, clean_environment(tmp_path, {"XDG_DATA_HOME": str(disk.home)})) as client:
        session = ModernSession(client)
        await session.greet()
        disk.pid = client.process.pid
        disk.refuse()
        assert text_of(await session.use_tool("dev", "echo", "echo", {"a": 1})) == '{"a": 1}'
        await client.wait_for_stderr(f"{NOT_RECORDED}{os.strerror(disk.error)}")
        nowhere = json.dumps(using("nobody", {}))
        calls = [await session.begin("tools/call", nowhere) for _ in range(MANY)]
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*calls)
        assert all(answer.message["result"]["isError"] for answer in answers)
        disk.take()
        await client.wait_for_stderr(AGAIN)
        assert text_of(await session.use_tool("dev", "echo", "echo", {"a": 2})) == '{"a": 2}'

        def records() -> list[Json]:
            return [record for record in read(disk.seen) if record["pid"] == disk.pid]

        await poll(lambda: any(record.get("number") == MANY + 2 for record in records()))
        numbers = [record["number"] for record in records() if "number" in record]
        missing = [record["missing"] for record in records() if "missing" in record]
    assert len(set(numbers)) == len(numbers)
    assert 4800 < len(numbers) <= 5002  # those that waited, and one before and after them
    assert len(numbers) + sum(missing) == MANY + 2
    assert (client.stderr.count(NOT_RECORDED), client.stderr.count(AGAIN)) == (1, 1)
    assert f"{AGAIN}{missing[0]} calls are missing in it" in client.stderr


@binding
async def test_what_the_user_must_not_write_to_is_left_and_own_directories_are_made_writable(
    tmp_path: Path,
) -> None:
    fill(tmp_path)
    before = newest(tmp_path).read_bytes()
    newest(tmp_path).chmod(0o400)
    for path in (directory(tmp_path), directory(tmp_path).parent):
        path.chmod(0o555)
    command = bound_by_modes(serve_command(write_config(tmp_path, toolboxes(dev={"echo": server()}))))
    async with RawClient(command, clean_environment(tmp_path, {"XDG_DATA_HOME": str(tmp_path)})) as client:
        await ModernSession(client).use_tool("dev", "echo", "echo", {})
    assert newest(tmp_path).read_bytes() == before
    assert [record["number"] for record in read(tmp_path)] == [1, 1]
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory(tmp_path), newest(tmp_path))]
    assert modes == [0o700, 0o400]
    assert NOT_RECORDED not in client.stderr
