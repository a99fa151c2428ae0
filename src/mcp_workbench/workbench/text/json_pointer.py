"""The escapes in a step of a JSON pointer (RFC 6901): `~1` for a slash, `~0` for a tilde."""

from __future__ import annotations


def escape_step(key: str) -> str:
    """Return the step of a pointer that leads to the member with this key."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape_step(step: str) -> str:
    """Return the key of the member that a step of a pointer leads to."""
    # In this order: "~01" stands for "~1", and not for a slash.
    return step.replace("~1", "/").replace("~0", "~")
