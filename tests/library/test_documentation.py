"""The programs in the documents run, and the example agent answers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call

import mcp_workbench
from tests.real import servers
from tests.structure.documents import README, blocks
from tests.structure.package import ROOT
from tests.support.client import clean_environment, write_config
from tests.support.configs import toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "library.md"
AGENT = ROOT / "docs" / "examples" / "agent.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that is a git repository, with a configuration that has a server for it."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write_config(tmp_path, toolboxes(dev={"git": servers.git(tmp_path)}))
    return tmp_path


def run(program: str, directory: Path) -> str:
    path = directory / "program.py"
    path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=directory,
        env=clean_environment(directory),
        capture_output=True,
        check=False,
        timeout=4 * PATIENCE,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def test_the_lines_in_the_readme_run_and_are_ten(checkout: Path) -> None:
    (program,) = blocks(README, "python")
    assert len([line for line in program.splitlines() if line]) == 10
    printed = run(program, checkout)
    assert "git_status" in printed.splitlines()[0]
    assert "On branch" in printed


@pytest.mark.parametrize("program", blocks(PAGE, "python"))
def test_every_program_on_the_page_runs(program: str, checkout: Path) -> None:
    printed = run(program, checkout)
    assert bool(printed) == ("print(" in program)


def test_every_public_name_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = {name for name in mcp_workbench.__all__ if f"`{name}" not in page and f" {name}" not in page}
    assert missing <= {"__version__"}


async def test_the_example_agent_finds_a_tool_and_answers_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = importlib.util.spec_from_file_location("agent", AGENT)
    assert spec is not None
    assert spec.loader is not None
    agent: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agent)
    config = write_config(tmp_path, toolboxes(clock={"time": servers.time()}))
    tool = {"toolbox": "clock", "server": "time", "tool": "get_current_time"}
    model = ScriptedModel(
        [
            [function_call("open_toolbox", {"toolbox": "nope"}, call_id="1")],
            [function_call("open_toolbox", {"toolbox": "clock"}, call_id="2")],
            [function_call("find_tools", {"query": "current time"}, call_id="3")],
            [function_call("use_tool", {**tool, "arguments": {"timezone": "Asia/Tokyo"}}, call_id="4")],
            [assistant_message("Late")],
        ]
    )
    async with asyncio.timeout(4 * PATIENCE):
        assert await agent.answer(str(config), "What time is it in Tokyo?", model) == "Late"
    model.assert_complete()
    first, *_, last = model.calls
    assert "- clock: The clock toolbox" in str(first.system_instructions)
    assert [offered.name for offered in first.tools] == ["find_tools", "open_toolbox", "use_tool"]
    outputs = [item["output"] for item in last.input if item.get("type") == "function_call_output"]
    refused, opened, found, used = outputs
    assert "Available toolboxes: clock" in refused
    assert [it["tool"] for it in json.loads(opened)] == ["get_current_time", "convert_time"]
    assert json.loads(found)[0]["tool"] == "get_current_time"
    assert json.loads(used)["timezone"] == "Asia/Tokyo"
