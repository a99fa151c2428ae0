"""Searches bytes for short byte strings with `strstr` of the C library.

Python's own search and its regular expressions look at one byte after the other: half a millisecond for
each megabyte. The C library compares many bytes at once, and takes a twentieth of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _find_first(data: bytes, wanted: bytes) -> object:
    """Load the C function, which takes a few milliseconds, and replace `find` by it."""
    global find  # noqa: PLW0603 - all calls but the first then cost one step
    find = _load()
    return find(data, wanted)


find: Callable[[bytes, bytes], object] = _find_first
"""Return a true value if `wanted` is in the data. Neither may contain a zero byte, which ends a C string."""


def may_hold(data: bytes, wanted: tuple[bytes, ...]) -> bool:
    """Whether the data contains one of the byte strings, or a zero byte, which would end the search."""
    return any(find(data, one) for one in wanted) or b"\0" in data


def _load() -> Callable[[bytes, bytes], object]:
    import ctypes  # noqa: PLC0415 - the start does without it

    try:
        # PyDLL keeps the interpreter lock: releasing it would take longer than the search.
        strstr = ctypes.PyDLL(None).strstr
    except (AttributeError, OSError, TypeError):
        return lambda data, wanted: wanted in data  # as on Windows
    strstr.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    strstr.restype = ctypes.c_void_p
    found: Callable[[bytes, bytes], object] = strstr
    return found
