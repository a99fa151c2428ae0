"""Looks for a few bytes in many, by `strstr` of the C library.

Python's own search and its regular expressions look at one byte after the other: half a millisecond for each
megabyte. The C library compares many at once, and takes a twentieth of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _find_first(data: bytes, wanted: bytes) -> object:
    """Load the search, which takes a few milliseconds, and use it from now on."""
    global find  # noqa: PLW0603 - nearly every call is a later one, and is to cost one step
    find = _load()
    return find(data, wanted)


find: Callable[[bytes, bytes], object] = _find_first
"""Something true if the bytes stand in the others. Neither may have a zero in it, which ends a text for C."""


def may_hold(data: bytes, wanted: tuple[bytes, ...]) -> bool:
    """Whether one of these stands in the data, or a zero, which would end the search for them."""
    return any(find(data, one) for one in wanted) or b"\0" in data


def _load() -> Callable[[bytes, bytes], object]:
    import ctypes  # noqa: PLC0415 - the start does without it

    try:
        # The interpreter is kept meanwhile: to give it back would take longer than the search.
        strstr = ctypes.PyDLL(None).strstr
    except (AttributeError, OSError, TypeError):
        return lambda data, wanted: wanted in data  # as on Windows
    strstr.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    strstr.restype = ctypes.c_void_p
    found: Callable[[bytes, bytes], object] = strstr
    return found
