"""Reads and writes when a token expires: RFC 3339 dates and date-times, and durations such as `90d`.

Owns the formats. Whether a token has expired by now is decided where the token is used.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

EXAMPLE: Final = "2027-01-31"

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_DURATION: Final = re.compile(r"(\d{1,9})([dhm])", re.ASCII)
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes"}


def read_expiry(text: str) -> float:
    """Return the time, in seconds since 1970, from which on a token is refused.

    A date alone means the end of that day in UTC, so that the token is valid on the day itself.
    Raises ValueError with what is wrong.
    """
    if _DATE.fullmatch(text):
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise ValueError("is not a valid date") from None
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
        return midnight + timedelta(days=1).total_seconds()
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise ValueError("should be a date or a date and time (RFC 3339)")
    if match["zone"] is None:
        raise ValueError("names no time zone: end it with Z for UTC, or with an offset such as +01:00")
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError):
        raise ValueError("is not a valid time") from None


def expiry_after(text: str, now: datetime) -> str:
    """Return what to write into the token file for a duration from now (`90d`, `12h`, `30m`), or for a date.

    Raises ValueError with what is wrong.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        if read_expiry(text) <= now.timestamp():
            raise ValueError("is in the past")
        return text
    try:
        end = now + timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise ValueError("is too far in the future") from None
    if end <= now:
        raise ValueError("must be more than zero")
    return format_time(end.timestamp())


def format_time(seconds: float) -> str:
    """Return a time as the token file and people read it: in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
