"""The public API is what `mcp_workbench.__all__` says, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import mcp_workbench
from mcp_workbench import library
from tests.support.client import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC = [
    "CallDenied",
    "CallEnd",
    "CallError",
    "CallRecord",
    "CallRefused",
    "CallResult",
    "ConfigError",
    "Decider",
    "ExecutionFailed",
    "FailedServer",
    "FindResult",
    "InvalidCall",
    "LimitReached",
    "Observer",
    "OpenResult",
    "OpeningFailed",
    "Outcome",
    "Problem",
    "ProgressReport",
    "ServerNotFound",
    "StartError",
    "Tool",
    "ToolCounts",
    "ToolNotFound",
    "ToolboxNotFound",
    "ToolboxSummary",
    "Workbench",
    "WorkbenchError",
    "__version__",
    "http_app",
]
"""The names that programs may rely on. A change of this list belongs into the changelog."""


def loaded_by(program: str, home: Path) -> set[str]:
    """The modules that are loaded after a program."""
    program += "\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=clean_environment(home), capture_output=True, check=True
    )
    return set(done.stdout.decode().split())


def test_the_public_names_are_these() -> None:
    assert mcp_workbench.__all__ == PUBLIC
    assert sorted([*library.__all__, "__version__"]) == PUBLIC


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_a_public_name_is_that_of_the_library(name: str) -> None:
    assert getattr(mcp_workbench, name) is getattr(library, name)
    assert name in dir(mcp_workbench)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Bench'"):
        mcp_workbench.Bench  # type: ignore[attr-defined] # noqa: B018 - that is the point


def test_importing_the_package_loads_nothing_of_it(tmp_path: Path) -> None:
    ours = {name for name in loaded_by("import mcp_workbench", tmp_path) if name.startswith("mcp_workbench")}
    assert ours == {"mcp_workbench"}


def test_using_the_workbench_loads_no_web_framework(tmp_path: Path) -> None:
    loaded = loaded_by("from mcp_workbench import Workbench, http_app", tmp_path)
    assert "mcp_workbench.library.workbench" in loaded
    assert loaded & {"starlette", "uvicorn", "httpx2", "mcp", "pydantic", "rich"} == set()
