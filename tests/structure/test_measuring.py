"""Coverage is measured in every process, and must not fall."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
from typing import TYPE_CHECKING

import pytest
from coverage import CoverageData

from scripts import measure
from tests.structure.package import ROOT
from tests.structure.workflows import recipe

if TYPE_CHECKING:
    from pathlib import Path

STARTING = "import site; site.addsitedir({!r}); import mcp_workbench.errors"
"""What Python does when it starts with a directory of packages, and then some work."""


@pytest.mark.untraced
def test_a_process_without_any_environment_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"), "utf-8")
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    measure.main()
    command = [sys.executable, "-c", STARTING.format(str(tmp_path))]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    (written,) = tmp_path.glob(".coverage.*")
    data = CoverageData(str(written))
    data.read()
    measured = {path: data.arcs(path) for path in data.measured_files() if path.endswith("errors.py")}
    assert [bool(arcs) for arcs in measured.values()] == [True]


def test_only_a_virtual_environment_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    with pytest.raises(SystemExit, match="call it in a virtual environment"):
        measure.main()


def test_coverage_that_falls_fails() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    assert config["run"]["branch"] is True
    assert config["report"]["fail_under"] > 90
    assert recipe("coverage")[-1] == "$(VENV)/bin/coverage report"
