"""Whether a process is still there, for processes that are not our children."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["is_running"]


def is_running(process: int) -> bool:
    """Whether a process of this number exists."""
    if sys.platform == "win32":
        # os.kill would end it there, whatever the signal.
        listed = subprocess.run(
            ["tasklist", "/FI", f"PID eq {process}", "/NH"], capture_output=True, check=True
        )
        return str(process).encode() in listed.stdout.split()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
