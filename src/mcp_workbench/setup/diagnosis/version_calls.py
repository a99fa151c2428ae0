"""Asks programs for their versions: `PROGRAM --version`, in parallel, each within a time limit.

Owns that such a call neither waits nor leaves a process behind.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    Command = tuple[str, ...]

VERSION_SECONDS: Final = 2.0
"""Time that a program has to tell its version."""
MAX_CALLS: Final = 16
"""Programs that are asked at the same time."""
MAX_SHOWN_CHARACTERS: Final = 200
"""Length of what is shown of the output of a program that fails."""

_VERSION: Final = re.compile(r"\d+(?:\.\d+)+(?:[-+.]?\w+)*")


class VersionAnswer(msgspec.Struct, frozen=True):
    """What a program says about its version. All are empty if it did not answer in time."""

    version: str = ""
    failure: str = ""
    """How the program failed: its exit code, and the last line that it wrote."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the version, to compare it with another."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version.partition("-")[0]))


def ask_versions(calls: Mapping[Command, Mapping[str, str]]) -> dict[Command, VersionAnswer]:
    """Return what each command line answers to `--version`, given the environment of each.

    All are asked at the same time.
    """
    if not calls:
        return {}
    with ThreadPoolExecutor(min(len(calls), MAX_CALLS)) as pool:
        return dict(zip(calls, pool.map(_ask, calls.keys(), calls.values()), strict=True))


def _ask(command: Command, environ: Mapping[str, str]) -> VersionAnswer:
    try:
        process = subprocess.Popen(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            cwd=os.path.abspath(os.sep),
            start_new_session=True,
        )
    except OSError as error:
        return VersionAnswer(failure=f"it cannot be started: {error.strerror or error}")
    try:
        output, _ = process.communicate(timeout=VERSION_SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        return VersionAnswer()
    text = output.decode(errors="replace")
    if process.returncode != 0:
        lines = [clean_text(line).strip() for line in text.splitlines() if line.strip()]
        said = f": {lines[-1][:MAX_SHOWN_CHARACTERS]}" if lines else ""
        return VersionAnswer(failure=f"exit code {process.returncode}{said}")
    found = _VERSION.search(text)
    return VersionAnswer(version=found[0] if found else "unknown")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a program with all that it has started, which may hold its pipe open."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()
