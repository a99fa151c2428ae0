"""An import that is killed leaves a configuration that works, and the next import finishes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]


def test_killed_at_any_step_no_entry_refers_to_a_secret_that_is_not_stored(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.setup.importing.killed_import", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=2 * PATIENCE,
        check=True,
    )
    outcomes = json.loads(done.stdout)
    assert len(outcomes) > 20
    whole = outcomes[-1][1]
    assert outcomes == [[[], whole]] * len(outcomes)
