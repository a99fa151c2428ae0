"""Reading the audit: the newest, all in order, and what is added meanwhile."""

from __future__ import annotations

import shutil
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.audit.audit_entry import MAX_LINE_BYTES
from mcp_workbench.storage.audit.audit_files import AuditFiles
from mcp_workbench.storage.audit.audit_reader import AuditReader
from tests.storage.audit.lines import directory, line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mcp_workbench.storage.audit.audit_reader import AuditedCall


@pytest.fixture
def files(tmp_path: Path) -> AuditFiles:
    return AuditFiles({"XDG_DATA_HOME": str(tmp_path)}, 1000)


@pytest.fixture
def reader(files: AuditFiles) -> AuditReader:
    return AuditReader(files, lambda call: call.entry.name != "unwanted")


def numbers(calls: Iterable[AuditedCall]) -> list[int]:
    return [call.entry.number for call in calls]


def test_the_newest_come_from_as_many_files_as_needed(files: AuditFiles, reader: AuditReader) -> None:
    for number in range(1, 31):
        files.append(line(number, name="unwanted" if number % 3 == 0 else "status"))
    assert len(files.numbers()) > 2
    assert numbers(reader.newest(3)) == [26, 28, 29]
    assert numbers(reader.newest(100)) == [number for number in range(1, 31) if number % 3]
    assert numbers(reader.all()) == [number for number in range(1, 31) if number % 3]


def test_lines_of_several_processes_are_merged_by_time_whatever_their_zones(
    files: AuditFiles, reader: AuditReader
) -> None:
    files.append(line(2, time="2026-07-28T09:30:00.200+02:00"))
    files.append(line(1, time="2026-07-28T07:30:00.100+00:00"))
    files.append(line(3, time="2026-07-28T03:30:00.300-04:00"))
    assert numbers(reader.newest(9)) == numbers(reader.all()) == [1, 2, 3]


def test_what_is_added_is_seen_once_across_files_and_a_deleted_directory(
    tmp_path: Path, files: AuditFiles, reader: AuditReader
) -> None:
    assert (reader.newest(9), reader.more()) == ([], [])
    files.append(line(1))
    assert numbers(reader.more()) == [1]
    for number in range(2, 20):
        files.append(line(number))
    assert numbers(reader.more()) == list(range(2, 20))
    shutil.rmtree(directory(tmp_path))
    assert reader.more() == []
    files.append(line(20))
    assert numbers(reader.more()) == [20]
    assert reader.more() == []


def test_a_line_that_is_being_written_is_read_when_it_is_whole(
    tmp_path: Path, files: AuditFiles, reader: AuditReader
) -> None:
    files.append(line(1))
    (file,) = directory(tmp_path).iterdir()
    file.write_bytes(line(1) + line(2)[:50])
    assert numbers(reader.newest(9)) == [1]
    file.write_bytes(line(1) + line(2))
    assert numbers(reader.more()) == [2]
    assert reader.broken == 0


@pytest.mark.parametrize(
    "broken",
    [
        b'{"time": "2026-\n',
        b"\xff\xfe\n",
        b'{"time": "never", "run": "", "pid": 1}\n',
        b"[" * 5000 + b"\n",
        b"x" * (MAX_LINE_BYTES + 5) + b"\n",
    ],
)
def test_lines_that_cannot_be_read_are_skipped_and_counted(
    tmp_path: Path, files: AuditFiles, reader: AuditReader, broken: bytes
) -> None:
    files.append(line(1))
    (file,) = directory(tmp_path).iterdir()
    file.write_bytes(line(1) + broken + line(2))
    assert numbers(reader.all()) == [1, 2]
    assert reader.broken == 1


def test_all_lines_are_read_in_little_memory(tmp_path: Path) -> None:
    large = AuditFiles({"XDG_DATA_HOME": str(tmp_path)})
    large.append(line(1) * 8000)
    reader = AuditReader(large, lambda _: True)
    tracemalloc.start()
    count = sum(1 for _ in reader.all())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 8000
    assert most < 4 * 2**20
