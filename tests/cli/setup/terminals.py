"""Runs a command on a terminal, and types what a person would answer to its questions."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.cli.commands import MODULE
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    Answer = tuple[str, str]
    """A part of a question, and the line that is typed when it is asked."""


def run_answering(
    args: Sequence[str], answers: Iterable[Answer], directory: Path, environ: Mapping[str, str]
) -> tuple[int, str]:
    """Return the exit code, and all that went to the terminal."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*MODULE, *args],
        cwd=directory,
        env={**environ, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    for question, answer in answers:
        shown += _read_until(ours, question.encode())
        os.write(ours, f"{answer}\n".encode())
    shown += _read_until(ours, None)
    os.close(ours)
    return process.wait(PATIENCE), shown.decode().replace("\r\n", "\n")


def _read_until(terminal: int, text: bytes | None) -> bytes:
    """Read up to a text, or to the end of the program if it is None or never comes."""
    shown = b""
    while text is None or text not in shown:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody has the other side open any more
            return shown
        if not data:
            return shown
        shown += data
    return shown
