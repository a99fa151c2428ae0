"""What holds for children whatever they do: the time to end them, and nothing of them left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_workbench.serve.stdio import DRAIN_SECONDS, FLUSH_SECONDS
from mcp_workbench.wire.processes.child import (
    EXIT_GRACE_SECONDS,
    REAP_SECONDS,
    SHORT_GRACE_SECONDS,
    TERM_GRACE_SECONDS,
)
from mcp_workbench.wire.processes.tree import HELPERS_GRACE_SECONDS, KILL_SECONDS
from tests.support.waiting import PATIENCE


def test_the_worst_end_fits_into_the_five_seconds_of_a_shutdown() -> None:
    ending = EXIT_GRACE_SECONDS + TERM_GRACE_SECONDS + max(REAP_SECONDS, HELPERS_GRACE_SECONDS) + KILL_SECONDS
    # With time to spare for what takes none by the book.
    assert DRAIN_SECONDS + ending + FLUSH_SECONDS <= 4.5
    assert 2 * SHORT_GRACE_SECONDS < EXIT_GRACE_SECONDS + TERM_GRACE_SECONDS


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_start_that_is_cancelled_leaves_no_process_and_no_descriptor(loop: str) -> None:
    command = [sys.executable, "-m", "tests.wire.cancelled_starts", loop]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
