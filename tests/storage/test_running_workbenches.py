"""Records of running workbenches: found by the file that they serve, and gone with their process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.storage.running_workbenches import RunningWorkbench, recorded, running_workbenches

if TYPE_CHECKING:
    from pathlib import Path


def workbench(config: Path, started_at: float = 1.0) -> RunningWorkbench:
    return RunningWorkbench(
        pid=os.getpid(),
        url="http://127.0.0.1:1/mcp",
        config=str(config),
        started_at=started_at,
        needs_token=False,
    )


def test_a_record_is_found_by_its_file_while_the_workbench_serves(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "config.json")
    with recorded(workbench(tmp_path / "config.json"), environ), recorded(workbench(link, 2.0), environ):
        found = running_workbenches(str(link), environ)
        assert [each.started_at for each in found] == [2.0, 1.0]
        assert running_workbenches(str(tmp_path / "other.json"), environ) == []
    assert running_workbenches(str(link), environ) == []
    assert list((tmp_path / "cache" / "mcp-workbench" / "running").iterdir()) == []


def test_damaged_records_and_foreign_files_are_survived(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    with recorded(workbench(tmp_path / "c"), environ):
        directory = tmp_path / "mcp-workbench" / "running"
        (record,) = directory.glob("*.json")
        (directory / "notes.txt").write_text("mine", encoding="utf-8")
        record.write_text("{", encoding="utf-8")
        assert running_workbenches(str(tmp_path / "c"), environ) == []
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


def test_a_directory_that_cannot_be_written_costs_only_the_record(tmp_path: Path) -> None:
    (tmp_path / "mcp-workbench").write_text("a file", encoding="utf-8")
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    with recorded(workbench(tmp_path / "c"), environ):
        assert running_workbenches(str(tmp_path / "c"), environ) == []
