"""The benchmark runs, with real processes, and its numbers are sane."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.structure.package import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmark is for Linux")

TARGETS = {"direct", "relay", "copier", "workbench"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_a_quick_run_measures_every_target_in_every_case(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    done = run("--quick", "--targets", ",".join(TARGETS), "--json", str(written), "latency", "throughput")
    assert (done.returncode, done.stderr) == (0, "")
    figures: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
    cases = {(one["suite"], one["case"]) for one in figures}
    assert len(cases) == 6 + 4
    for suite, case in cases:
        assert {one["target"] for one in figures if (one["suite"], one["case"]) == (suite, case)} == TARGETS
    assert all(number > 0 for one in figures for number in one["rounds"])
    assert {ratio for one in figures if one["target"] == "relay" for ratio in one["ratios"]} == {1}
    for suite, case in cases:
        assert f"{suite}: {case[0].upper()}{case[1:]}" in done.stdout
    assert "Figures to meet" in done.stdout


def test_a_quick_run_over_http_measures_every_target_in_every_case(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    targets = {"http-direct", "http-relay", "http-workbench", "http-workbench-modern"}
    done = run("--quick", "--targets", ",".join(targets), "--json", str(written), "http")
    assert (done.returncode, done.stderr) == (0, "")
    figures: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
    cases = {one["case"] for one in figures}
    assert len(cases) == 3 + 2 + 2
    for case in cases:
        assert {one["target"] for one in figures if one["case"] == case} == targets
    # The kernel's clock of a process may not have noticed the two calls of a turn.
    timed = [one for one in figures if one["figure"] != "CPU per call"]
    assert all(number > 0 for one in timed for number in one["rounds"])
    assert {ratio for one in figures if one["target"] == "http-relay" for ratio in one["ratios"]} == {1}
    assert "over HTTP, 2026-07-28, text of 1 MB: p50" in done.stdout


def test_a_server_behind_the_workbench_can_be_killed_and_comes_back(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    done = run("--quick", "--targets", "direct,workbench", "--json", str(written), "recovery")
    assert (done.returncode, done.stderr) == (0, "")
    figures: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
    assert {one["target"] for one in figures} == {"direct", "workbench"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nothing"], "there is no suite nothing"),
        (["--targets", "relay,nobody"], "there is no target nobody"),
        (["--write-docs", "latency"], "a page comes out of one whole run"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], complaint: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
