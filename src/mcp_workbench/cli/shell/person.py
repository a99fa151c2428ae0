"""The person at the terminal: what is asked there, and the progress of a call that is drawn there.

Questions and progress never go to stdout, which has the result. Reading does not block the event loop, so
that Ctrl-C ends a command that waits for an answer.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.cli.terminal import complain
from mcp_workbench.workbench.text.sanitise import show_name, show_text
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from mcp_workbench.workbench.toolbox import Opening

LINE_BYTES: Final = 65536
BAR_COLUMNS: Final = 20
MIN_COLUMNS: Final = 20
_ERASE: Final = "\r\x1b[K"


class Terminal:
    """A terminal that a person reads and types on, wherever stdin and stdout lead."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._typed = b""

    def say(self, text: str) -> None:
        """Show a text, which may have several lines."""
        self._write(f"{show_text(text)}\n")

    def forget_typed(self) -> None:
        """Throw away what was typed and not read yet: it was no answer to the next question."""
        from termios import TCIFLUSH, tcflush  # here, because Windows does not have it

        tcflush(self._descriptor, TCIFLUSH)
        self._typed = b""

    async def ask(self, prompt: str) -> str | None:
        """Return the line that the person types after a prompt; None if the person pressed Ctrl-D."""
        self._write(show_name(prompt))
        while b"\n" not in self._typed:
            if not (data := await self._read()):
                self._write("\n")
                return None
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode(errors="replace").strip()

    def close(self) -> None:
        """Close the descriptor of the terminal."""
        os.close(self._descriptor)

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[None] = loop.create_future()

        def on_readable() -> None:
            loop.remove_reader(self._descriptor)
            arrived.set_result(None)

        loop.add_reader(self._descriptor, on_readable)
        try:
            await arrived
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, LINE_BYTES)

    def _write(self, text: str) -> None:
        os.write(self._descriptor, text.encode(errors="replace"))


def open_terminal() -> Terminal | None:
    """Return the terminal of the command: that of stdin, stderr or stdout. None if there is none."""
    if sys.platform == "win32":
        return None
    for descriptor in (0, 2, 1):
        try:
            if os.isatty(descriptor):
                return Terminal(os.open(os.ttyname(descriptor), os.O_RDWR | os.O_NOCTTY))
        except OSError:
            continue
    return None


class ProgressLine:
    """A line on stderr that shows how far a call is, and vanishes at its end. Without a terminal: nothing."""

    def __init__(self) -> None:
        self._is_on = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._is_drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.erase()

    def report(self, params: dict[str, Any]) -> None:
        """Draw a progress notification of a server."""
        progress, total = _number(params.get("progress")), _number(params.get("total"))
        message = params.get("message")
        text = show_name(message) if isinstance(message, str) else ""
        if progress is None:
            return
        if total is not None and total > 0:
            share = min(max(progress / total, 0.0), 1.0)
            filled = round(share * BAR_COLUMNS)
            self.show(f"[{'#' * filled}{'.' * (BAR_COLUMNS - filled)}] {share:.0%} {text}")
        else:
            self.show(f"{progress:g} {text}")

    def show(self, text: str) -> None:
        """Draw a text in place of the line."""
        if self._is_on:
            columns = max(shutil.get_terminal_size().columns, MIN_COLUMNS) - 1
            sys.stderr.write(f"{_ERASE}{shorten(text.rstrip(), columns)}")
            sys.stderr.flush()
            self._is_drawn = True

    def erase(self) -> None:
        """Remove the line, before something else is written."""
        if self._is_drawn:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            self._is_drawn = False


def _number(value: object) -> float | None:
    """Return a number of a notification; None if it is none, or one that is too large to calculate with."""
    if not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def report_failures(opening: Opening) -> bool:
    """Print which servers have failed or are still starting, and return whether one has failed."""
    for failure in opening.failures:
        complain(f"{show_name(f'{opening.toolbox.name}/{failure.server}')}: {failure.explained()}")
    for name in opening.starting:
        complain(f"{show_name(f'{opening.toolbox.name}/{name}')} is still starting: list it again in a while")
    return bool(opening.failures)
