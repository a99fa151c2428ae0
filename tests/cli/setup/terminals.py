"""Runs a command on a terminal, and types what a person would answer to its questions."""

from __future__ import annotations

import os
import select
import subprocess
from typing import TYPE_CHECKING

from tests.cli.commands import MODULE
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    Answer = tuple[str, str | None]
    """A part of a question, and the line that is typed when it is asked; None to type nothing."""


def run_answering(
    args: Sequence[str],
    answers: Iterable[Answer],
    directory: Path,
    environ: Mapping[str, str],
    typed_before: str = "",
) -> tuple[int, str]:
    """Return the exit code, and all that went to the terminal. `typed_before` comes before the start."""
    ours, theirs = os.openpty()
    os.write(ours, typed_before.encode())
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
    try:
        for question, answer in answers:
            shown += _read_until(ours, question.encode())
            if answer is not None:
                os.write(ours, f"{answer}\n".encode())
        shown += _read_until(ours, None)
        return process.wait(PATIENCE), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read_until(terminal: int, text: bytes | None) -> bytes:
    """Read up to a text, or to the end of the program if it is None or never comes. Raises TimeoutError."""
    shown = b""
    while text is None or text not in shown:
        if not select.select([terminal], [], [], PATIENCE)[0]:
            raise TimeoutError(shown.decode())
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux says that nobody has the other side open any more
            return shown
        if not data:
            return shown
        shown += data
    return shown
