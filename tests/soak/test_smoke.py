"""The soak runs, with real processes, and ends with its verdict."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.structure.package import ROOT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the soak is for Linux")


def test_a_short_soak_accounts_for_everything() -> None:
    command = [sys.executable, "-m", "soak", "--seconds", "3", "--toolboxes", "1", "--seed", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "with the seed 2" in done.stdout
    for title in ("Requests", "Errors", "Faults", "Resources", "Shared"):
        assert f"\n{title} " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("PASS")
