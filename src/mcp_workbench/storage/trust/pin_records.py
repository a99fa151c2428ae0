"""What was approved of a server, as it is kept in the data directory and in the lock."""

from __future__ import annotations

import msgspec


class ToolPin(msgspec.Struct, frozen=True, kw_only=True):
    """The approved definition of one tool."""

    digest: str
    """`sha256:` and the digest of the definition in canonical JSON, without annotations."""
    hints: dict[str, bool] = {}
    """The approved annotations that are hints, such as `readOnlyHint`, by name."""
    since: float
    """When the definition was approved, in seconds since 1970."""
    by: str
    """How it was approved: `first` (first listing), `scan` (a clean change), `review` or `lock`."""


class ServerPin(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved of one server: which program it is, its instructions and its tools."""

    identity: str
    """`sha256:` and the digest of the command and arguments without values, or of the URL's origin."""
    program: str
    """The command and arguments without values, or the URL's origin, for people to read."""
    instructions: str = ""
    """The digest of the approved instructions; empty if there are none."""
    tools: dict[str, ToolPin] = {}
