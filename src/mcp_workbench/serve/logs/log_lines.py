"""Formats a log record as bytes: without secrets, without hidden characters, and with a limited length.

Owns the two formats, text (with or without the time) and JSON. Does not write: see `stderr_handler`. A record
about a server names it in its attribute `server` (`extra={"server": "dev/files"}`), not in its message.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.serve.logs.log_times import local_time, local_time_in_milliseconds
from mcp_workbench.workbench.text.sanitise import clean_text, show_name

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Sequence

    from mcp_workbench.config import Origin

    Mask = Callable[[str], str]
    ToLine = Callable[[logging.LogRecord, Mask], bytes]

MAX_LINE_BYTES: Final = 4096
"""Written for one record, newline included: a pipe that is ready takes so many at once."""
NOTE_BYTES: Final = 48
"""Kept free for the note that says how much was left out."""
MAX_LABEL_CHARACTERS: Final = 256
SCANNED_CHARACTERS: Final = 64 * 1024
"""How much of a text is masked and cleaned: a server may log megabytes. Far more than is shown, so that a
secret cut in two at this limit is not shown."""
LINE_BREAK: Final = " ⏎ "
PROGRAM: Final = "mcp-workbench: "
TRACEBACK_INDENT: Final = "  "
"""Indents tracebacks, so that no line of one, which may quote a server, looks like a record."""


class _Text(msgspec.Struct, frozen=True):
    """The part of a text that may be shown, and how many characters follow it."""

    shown: str
    beyond: int = 0


class _Object(msgspec.Struct, omit_defaults=True):
    """A log record in the JSON format."""

    time: str
    level: str
    logger: str
    server: str | None = None
    message: str | msgspec.UnsetType = msgspec.UNSET
    traceback: str | msgspec.UnsetType = msgspec.UNSET


class BatchedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event at level `info` that is written together with others. Its message names the server itself."""

    logger: str
    created: float
    """When it happened, in seconds since the epoch."""
    origin: Origin
    """The names of the toolbox and of the server that the event is about."""
    message: str


def together(entries: Sequence[BatchedEvent], mask: Mask, to_line: ToLine) -> list[bytes]:
    """The lines of several events in the format of `to_line`, masked and cleaned in one go."""
    joined = "\n".join([entry.message for entry in entries])
    if joined.isascii() and joined.replace("\n", "").isprintable():
        # Nothing to clean, as nearly always. To look for it takes longer than all the rest.
        messages = mask(joined).split("\n")
    else:
        messages = without_secrets(joined, mask).split("\n")
    if len(messages) != len(entries):
        # A name has a line break in it, or a secret spans two lines.
        messages = [_in_one_line(without_secrets(entry.message, mask)) for entry in entries]
    if to_line is to_untimed_text:
        return [f"{PROGRAM}{message}\n".encode() for message in messages]
    if to_line is to_text:
        lines, second, start = [], -1, ""
        for entry, message in zip(entries, messages, strict=True):
            if (seconds := int(entry.created)) != second:
                second, start = seconds, f"{local_time(seconds)} {PROGRAM}"
            lines.append(f"{start}{message}\n".encode())
        return lines
    return [
        msgspec.json.encode(
            _Object(
                time=local_time_in_milliseconds(entry.created),
                level="info",
                logger=entry.logger,
                server=show_name("/".join(entry.origin))[:MAX_LABEL_CHARACTERS],
                message=message,
            )
        )
        + b"\n"
        for entry, message in zip(entries, messages, strict=True)
    ]


def to_text(record: logging.LogRecord, mask: Mask) -> bytes:
    """Format a record as a line of text with its time. A traceback follows on lines of its own."""
    return _text(record, mask, f"{local_time(record.created)} {PROGRAM}")


def to_untimed_text(record: logging.LogRecord, mask: Mask) -> bytes:
    """Format a record as a line of text for a journal, which adds the time itself."""
    return _text(record, mask, PROGRAM)


def _text(record: logging.LogRecord, mask: Mask, start: str) -> bytes:
    label = _label(record)
    message = _message(record, mask)
    line = _Text(_in_one_line(f"{start}{f'[{label}] ' if label else ''}{message.shown}"), message.beyond)
    space = MAX_LINE_BYTES - 1
    if (trace := _traceback(record, mask)) is None:
        return _cut(line, space, _size).encode() + b"\n"
    head = _cut(line, space // 2, _size).encode() + b"\n"
    indented = "\n".join(TRACEBACK_INDENT + line for line in trace.shown.splitlines())
    tail = _cut_start(_Text(indented, trace.beyond), space - len(head), _size)
    return head + tail.encode() + b"\n"


def to_json(record: logging.LogRecord, mask: Mask) -> bytes:
    """Format a record as one JSON object on one line."""
    entry = _Object(
        time=local_time_in_milliseconds(record.created),
        level=record.levelname.lower(),
        logger=record.name,
        server=_label(record) or None,
    )
    encode = msgspec.json.encode
    message, trace = _message(record, mask), _traceback(record, mask)
    space = MAX_LINE_BYTES - len(encode(entry)) - len(',"message":"","traceback":""\n')
    entry.message = _cut(message, space if trace is None else space // 2, _size_in_json)
    if trace is not None:
        entry.traceback = _cut_start(trace, space - _size_in_json(entry.message), _size_in_json)
    return encode(entry) + b"\n"


def _label(record: logging.LogRecord) -> str:
    return show_name(getattr(record, "server", ""))[:MAX_LABEL_CHARACTERS]


def _message(record: logging.LogRecord, mask: Mask) -> _Text:
    text = record.getMessage()
    return _Text(without_secrets(text[:SCANNED_CHARACTERS], mask), max(len(text) - SCANNED_CHARACTERS, 0))


def _traceback(record: logging.LogRecord, mask: Mask) -> _Text | None:
    if not record.exc_info or record.exc_info[1] is None:
        return None
    text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return _Text(without_secrets(text[-SCANNED_CHARACTERS:], mask), max(len(text) - SCANNED_CHARACTERS, 0))


def without_secrets(text: str, mask: Mask) -> str:
    """Mask secrets, and remove characters that could move a terminal's cursor or hide something."""
    masked = mask(text)
    cleaned = clean_text(masked)
    if cleaned != masked:
        # Again: a secret with an invisible character inside matches only now.
        cleaned = mask(cleaned)
    # Unicode has more line ends than "\n", and some readers know them all.
    return "\n".join(cleaned.splitlines())


def _in_one_line(text: str) -> str:
    first, *others = text.splitlines() or [""]
    return LINE_BREAK.join([first.rstrip(), *filter(None, map(str.strip, others))]) if others else first


def _size(text: str) -> int:
    return len(text.encode())


def _size_in_json(text: str) -> int:
    return len(msgspec.json.encode(text)) - len('""')


def _cut(text: _Text, space: int, size: Callable[[str], int]) -> str:
    """Return the beginning of a text, as much as fits, and how much was left out."""
    shown = text.shown
    if not text.beyond and len(shown) <= space and size(shown) <= space:
        return shown
    kept = _most(min(len(shown), space), lambda count: size(shown[:count]) <= space - NOTE_BYTES)
    return f"{shown[:kept]}… ({len(shown) - kept + text.beyond} characters left out)"


def _cut_start(text: _Text, space: int, size: Callable[[str], int]) -> str:
    """Return the end of a text, as much as fits. The end of a traceback says what happened."""
    shown = text.shown
    if not text.beyond and len(shown) <= space and size(shown) <= space:
        return shown
    end = len(shown)
    kept = _most(min(end, space), lambda count: size(shown[end - count :]) <= space - NOTE_BYTES)
    return f"({end - kept + text.beyond} characters left out) …{shown[end - kept :]}"


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `limit` that fits, by bisection."""
    least, most = 0, limit
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle) else (least, middle - 1)
    return least
