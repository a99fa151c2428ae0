"""The stderr of a child: passed on line by line, within limits, with the last lines kept.

A child may write without end. Each line that is passed on costs as much as a call, so above a number of
lines per second the others are only counted, and the last of them shown.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.wire.lines import Line

LOGGER = "mcp_workbench.stderr"
"""Name of the logger for lines of stderr: the first that are dropped when the log is full."""
KEPT_LINES = 50
MAX_LINE_CHARACTERS = 2000
READ_BYTES = 8 * MAX_LINE_CHARACTERS
"""Bytes of a line that are read; the rest of the line is ignored."""
MAX_LINES_PER_SECOND = 1000


class Stderr:
    """The stderr of one child. A reader feeds it; `settle` is called when no more lines are expected."""

    def __init__(self, mask: Callable[[str], str], on_line: Callable[[str], None]) -> None:
        self._mask = mask
        self._on_line = on_line
        self._passed_on = 0
        """Lines that were passed on in this second."""
        self._held_back = 0
        """Lines that were not passed on in this second."""
        self._latest: deque[Line] = deque(maxlen=KEPT_LINES)
        """The last of the lines that were not passed on."""
        self._next_second: asyncio.TimerHandle | None = None
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        """The last lines, with secrets masked."""

    def receive(self, line: Line) -> None:
        """Receive a line, and pass it on if the limit allows it."""
        if self._passed_on >= MAX_LINES_PER_SECOND:
            self._held_back += 1
            self._latest.append(line)
            return
        if self._next_second is None:
            self._next_second = asyncio.get_running_loop().call_later(1, self._begin_anew)
        self._passed_on += 1
        self._pass_on(line)

    def receive_overlong(self, edges: bytes, *, is_over: bool) -> None:
        """Receive a line that is too long: its beginning and its end."""
        if is_over:
            self.receive(edges)

    def settle(self) -> None:
        """Pass on the last of the lines that were held back, and report how many were left out."""
        if left_out := self._held_back - len(self._latest):
            self._on_line(f"(too much for the log: {left_out} lines of its stderr are left out here)")
        for line in self._latest:
            self._pass_on(line)
        self._latest.clear()
        self._held_back = 0

    def close(self) -> None:
        """Pass on what was held back, and stop the timer."""
        self.settle()
        if self._next_second is not None:
            self._next_second.cancel()

    def _begin_anew(self) -> None:
        self._next_second = None
        self._passed_on = 0
        self.settle()

    def _pass_on(self, line: Line) -> None:
        # Masked before it is cut, or a part of a secret at the cut would stay.
        text = self._mask(bytes(line[:READ_BYTES]).decode(errors="replace"))[:MAX_LINE_CHARACTERS].rstrip()
        if text:
            self.lines.append(text)
            self._on_line(text)
