"""Writing to a pipe that may be full."""

from __future__ import annotations

import os


def write_all(descriptor: int, data: bytes) -> None:
    """Waits until all of it is written."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
