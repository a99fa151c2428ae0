"""The stopwatch of the fault tests counts what a process takes, and not what the machine withholds."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.stopwatch import BUSIEST, Stopwatch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

CROWDED = """
import json, os, subprocess, sys, time
from tests.support.stopwatch import Stopwatch

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
began, watch = time.monotonic(), Stopwatch(os.getpid())
while time.process_time() < 0.5:
    pass
print(json.dumps([watch.seconds(), time.monotonic() - began]))
for other in others:
    other.kill()
    other.wait()
"""
"""Works for half a second of CPU time, on one core, beside three others that want it all."""


def test_the_time_without_a_core_does_not_count() -> None:
    command = [sys.executable, "-c", CROWDED]
    shown = subprocess.run(command, capture_output=True, check=True, timeout=60, text=True)
    counted, passed = json.loads(shown.stdout)
    assert 0.9 * passed / BUSIEST < counted < 0.7 * passed


def test_the_time_that_nobody_works_counts() -> None:
    watch = Stopwatch(os.getpid(), 2**22 + 1)  # the second is no process
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)"], check=True, timeout=60)
    assert watch.seconds() >= 0.3 / BUSIEST
