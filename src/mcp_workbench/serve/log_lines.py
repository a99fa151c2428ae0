"""From a log record to the bytes of its line: without secrets, without hidden characters, and not too long.

Owns the two formats, for people and for machines. It does not write: see `logs`. A record that is about one
server says so in its `server` (`extra={"server": "dev/files"}`), not in its message.
"""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.workbench.text.sanitise import clean_text, show_name

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence

    Mask = Callable[[str], str]
    ToLine = Callable[[logging.LogRecord, Mask], bytes]

LONGEST_LINE: Final = 4096
"""Bytes of what is written of a record, its newline included: a pipe that is writable takes them at once."""
ROOM_FOR_NOTE: Final = 48
LONGEST_LABEL: Final = 256
LOOKED_AT: Final = 64 * 1024
"""Characters of a text that are looked through: what a server says may have megabytes. So many more than are
shown that a secret at this cut is not among them."""
LINE_BREAK: Final = " ⏎ "
PROGRAM: Final = "mcp-workbench: "
TRACEBACK_INDENT: Final = "  "
"""So that no line of it, which may quote a server, looks like a record of its own."""


class _Text(msgspec.Struct, frozen=True):
    """What can be shown of a text, and how many characters it has beyond that."""

    shown: str
    beyond: int = 0


class _Object(msgspec.Struct, omit_defaults=True):
    """A record for machines."""

    time: str
    level: str
    logger: str
    server: str | None = None
    message: str | msgspec.UnsetType = msgspec.UNSET
    traceback: str | msgspec.UnsetType = msgspec.UNSET


class Entry(msgspec.Struct, frozen=True):
    """An event at level `info` that is written together with others. Its message names the server itself."""

    logger: str
    created: float
    """When it happened, in seconds since the epoch."""
    server: str
    message: str


def together(entries: Sequence[Entry], mask: Mask, *, as_json: bool) -> list[bytes]:
    """The lines of several events, masked and cleaned in one go."""
    messages = without_secrets("\n".join(entry.message for entry in entries), mask).split("\n")
    if len(messages) != len(entries):
        # A name has a line break in it, or a secret spans two lines.
        messages = [_in_one_line(without_secrets(entry.message, mask)) for entry in entries]
    if not as_json:
        return [f"{PROGRAM}{message}\n".encode() for message in messages]
    return [
        msgspec.json.encode(
            _Object(
                _time(entry.created), "info", entry.logger, show_name(entry.server)[:LONGEST_LABEL], message
            )
        )
        + b"\n"
        for entry, message in zip(entries, messages, strict=True)
    ]


def to_text(record: logging.LogRecord, mask: Mask) -> bytes:
    """A line for people. A traceback follows on lines of its own."""
    label = _label(record)
    message = _message(record, mask)
    line = _Text(_in_one_line(f"{PROGRAM}{f'[{label}] ' if label else ''}{message.shown}"), message.beyond)
    room = LONGEST_LINE - 1
    if (trace := _traceback(record, mask)) is None:
        return _cut(line, room, _size).encode() + b"\n"
    head = _cut(line, room // 2, _size).encode() + b"\n"
    indented = "\n".join(TRACEBACK_INDENT + line for line in trace.shown.splitlines())
    tail = _cut_start(_Text(indented, trace.beyond), room - len(head), _size)
    return head + tail.encode() + b"\n"


def to_json(record: logging.LogRecord, mask: Mask) -> bytes:
    """One JSON object in one line."""
    it = _Object(
        time=_time(record.created),
        level=record.levelname.lower(),
        logger=record.name,
        server=_label(record) or None,
    )
    encode = msgspec.json.encode
    message, trace = _message(record, mask), _traceback(record, mask)
    room = LONGEST_LINE - len(encode(it)) - len(',"message":"","traceback":""\n')
    it.message = _cut(message, room if trace is None else room // 2, _size_in_json)
    if trace is not None:
        it.traceback = _cut_start(trace, room - _size_in_json(it.message), _size_in_json)
    return encode(it) + b"\n"


def _time(created: float) -> str:
    seconds, thousandths = divmod(int(created * 1000), 1000)
    return time.strftime(f"%Y-%m-%dT%H:%M:%S.{thousandths:03d}Z", time.gmtime(seconds))


def _label(record: logging.LogRecord) -> str:
    return show_name(getattr(record, "server", ""))[:LONGEST_LABEL]


def _message(record: logging.LogRecord, mask: Mask) -> _Text:
    text = record.getMessage()
    return _Text(without_secrets(text[:LOOKED_AT], mask), max(len(text) - LOOKED_AT, 0))


def _traceback(record: logging.LogRecord, mask: Mask) -> _Text | None:
    if not record.exc_info or record.exc_info[1] is None:
        return None
    text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return _Text(without_secrets(text[-LOOKED_AT:], mask), max(len(text) - LOOKED_AT, 0))


def without_secrets(text: str, mask: Mask) -> str:
    """A text without secrets, and without what could move a terminal's cursor or hide something."""
    masked = mask(text)
    cleaned = clean_text(masked)
    if cleaned != masked:
        # Once more, for a secret with an invisible character inside is whole only now.
        cleaned = mask(cleaned)
    # There are more line ends than these, and readers that know them all.
    return "\n".join(cleaned.splitlines())


def _in_one_line(text: str) -> str:
    first, *others = text.splitlines() or [""]
    return LINE_BREAK.join([first.rstrip(), *filter(None, map(str.strip, others))]) if others else first


def _size(text: str) -> int:
    return len(text.encode())


def _size_in_json(text: str) -> int:
    return len(msgspec.json.encode(text)) - len('""')


def _cut(text: _Text, room: int, size: Callable[[str], int]) -> str:
    """The beginning of a text, as much as there is room for, and how much was left out."""
    shown = text.shown
    if not text.beyond and len(shown) <= room and size(shown) <= room:
        return shown
    kept = _most(min(len(shown), room), lambda count: size(shown[:count]) <= room - ROOM_FOR_NOTE)
    return f"{shown[:kept]}… ({len(shown) - kept + text.beyond} characters left out)"


def _cut_start(text: _Text, room: int, size: Callable[[str], int]) -> str:
    """The end of a text: of a traceback that says what happened."""
    shown = text.shown
    if not text.beyond and len(shown) <= room and size(shown) <= room:
        return shown
    end = len(shown)
    kept = _most(min(end, room), lambda count: size(shown[end - count :]) <= room - ROOM_FOR_NOTE)
    return f"({end - kept + text.beyond} characters left out) …{shown[end - kept :]}"


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest count up to `limit` that fits."""
    least, most = 0, limit
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least
