"""Parses server-sent events, in time linear in the size of the stream and with bounded memory.

The data of an event stays bytes: it is JSON, and nothing here needs it as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.errors import TooLong
from mcp_workbench.wire.lines import LineSplitter
from mcp_workbench.wire.message import BOM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.wire.lines import Line

MAX_NAME_BYTES = 1024
"""Maximum size of an event's name or id."""
MAX_RETRY_DIGITS = 9
"""Digits of the longest `retry` that is accepted: eleven days."""


class Event(msgspec.Struct, frozen=True):
    """One event. Newlines in its data are replaced by spaces, which mean the same in JSON."""

    name: str
    data: Line
    last_id: str
    """The latest id up to this event, from which on the stream can be resumed."""


class EventParser:
    """Splits incoming bytes into complete events."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._splitter = LineSplitter(self._on_overlong, limit)
        self._is_after_return = False
        self._is_first = True
        self._name = ""
        self._data: list[Line] = []
        self._size = 0
        self.last_id = ""
        self.retry: float | None = None
        """Seconds to wait before the stream is resumed, if the server has said so."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that are complete with `chunk`. Raises TooLong."""
        if self._is_after_return:
            self._is_after_return = False
            chunk = chunk.removeprefix(b"\n")
        # Most servers end their lines with a newline alone, and JSON contains no bare carriage return.
        if b"\r" in chunk:
            self._is_after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        for line in self._splitter.feed(chunk):
            if self._is_first:
                self._is_first = False
                line = line[len(BOM) :] if line[: len(BOM)] == BOM else line  # noqa: PLW2901 - the same line
            if line:
                self._take(line)
            elif (event := self._finish()) is not None:
                yield event

    def _take(self, line: Line) -> None:
        if line[:5] == b"data:":
            self._take_data(line[6:] if line[5:6] == b" " else line[5:])
            return
        name, _, value = bytes(line[: 2 * MAX_NAME_BYTES]).partition(b":")
        text = value.removeprefix(b" ").decode(errors="replace")
        if name == b"data":
            self._take_data(b"")
        elif name == b"event":
            self._name = text
        elif name == b"id":
            if "\0" not in text and len(text) <= MAX_NAME_BYTES:
                self.last_id = text
        elif name == b"retry" and text.isascii() and text.isdigit() and len(text) <= MAX_RETRY_DIGITS:
            self.retry = int(text) / 1000

    def _take_data(self, part: Line) -> None:
        self._size += len(part)
        if self._size > self._limit:
            raise TooLong(self._limit)
        self._data.append(part)

    def _finish(self) -> Event | None:
        """Return the event that an empty line ends; None if it has no data."""
        name, data = self._name, self._data
        self._name, self._data, self._size = "", [], 0
        if not data:
            return None
        whole = data[0] if len(data) == 1 else b" ".join(data)
        return Event(name or "message", whole, self.last_id)

    def _on_overlong(self, edges: bytes, *, is_over: bool) -> None:  # noqa: ARG002 - OnOverlong
        raise TooLong(self._limit)
