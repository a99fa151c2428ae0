"""Processes that look as if their workbench had ended without them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mcp_workbench.wire.processes.guard import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

SLEEPER = (sys.executable, "-S", "-c", "import time; time.sleep(60)")


@contextmanager
def orphaned(run: str, *args: str) -> Iterator[int]:
    """Start a process with the mark of a run and these arguments, whose parent ends at once."""
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *SLEEPER, *args],
        env={"PATH": os.environ["PATH"], MARK: f"{run}.1/"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    pid = int(done.stdout)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
