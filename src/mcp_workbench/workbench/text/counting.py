"""A number with its noun, for texts that people read."""

from __future__ import annotations


def count(number: int, one: str, many: str) -> str:
    """Return a number with its noun: "1 server", "1,200 servers"."""
    return f"{number:,} {one if number == 1 else many}"
