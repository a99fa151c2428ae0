"""An installation that is killed at any moment loses no server, and can be undone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE


@pytest.mark.slow
def test_a_killed_installation_loses_no_server_and_can_be_undone(tmp_path: Path) -> None:
    program = Path(__file__).with_name("install_killed_at.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, timeout=PATIENCE, check=True
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    stages = list(dict.fromkeys((tuple(one["client"]), tuple(one["workbench"])) for one in outcomes))
    assert stages == [
        (("x1", "x2"), ()),
        (("x1", "x2"), ("x1", "x2")),
        (("--keep-going",), ("x1", "x2")),
    ]
    assert all(one["restored"] for one in outcomes)
    assert [one["code"] for one in outcomes] == [9] * (len(outcomes) - 1) + [0]
    assert len(outcomes) > 20
