"""What the keys of an entry mean where clients disagree, as data: units, globs, default transports."""

from typing import Literal

import msgspec


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of the ambiguous keys of a server entry in one client."""

    timeout_unit: Literal["seconds", "milliseconds"] = "seconds"
    timeout_key: Literal["timeout", "startupTimeout"] = "timeout"
    """The key of ours that `timeout` stands for: some clients mean the start only."""
    min_timeout: float = 0
    """The client ignores a `timeout` below this number, in its own unit."""
    has_globs: bool = False
    """Whether the lists of tools hold globs rather than names."""
    has_arguments: bool = False
    """Whether a listed tool may carry arguments, as in `name(argument)`."""
    url_transport: Literal["http", "sse"] = "http"
    """The transport of `url` where the entry has no `type`."""
    is_guess: bool = False
    """Whether the client is unknown, so that its form has to be guessed from the keys."""


ANY = Dialect(is_guess=True)
"""An entry of an unknown client, as people paste them into the configuration file of the workbench."""
SECONDS = Dialect()
MILLISECONDS = Dialect(timeout_unit="milliseconds")
CLAUDE_CODE = Dialect(timeout_unit="milliseconds", min_timeout=1000)
CLINE = Dialect(url_transport="sse")
GEMINI = Dialect(timeout_unit="milliseconds", has_arguments=True, url_transport="sse")
OPENCODE = Dialect(timeout_unit="milliseconds", timeout_key="startupTimeout")
AMP = Dialect(has_globs=True)
