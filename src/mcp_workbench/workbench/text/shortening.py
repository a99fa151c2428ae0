"""Shortens text to one line of limited length."""

from __future__ import annotations

from typing import Final

MORE: Final = "…"
"""Marks where text was left out."""


def shorten(text: str, width: int) -> str:
    """Return the text as one line of at most `width` characters, cut after a word."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    if width < 1:
        return ""
    cut = line[: width - 1]
    if not line[width - 1].isspace() and len(whole := cut.rpartition(" ")[0]) > width // 2:
        cut = whole
    return cut.rstrip(" ,;:") + MORE
