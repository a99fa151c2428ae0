"""Recognises entries that need no translation, so that the usual file does not load the translator."""

from __future__ import annotations

from mcp_workbench.config.model.workbench import ServerConfig

OUR_KEYS = frozenset(("type", *ServerConfig.__struct_encode_fields__))
"""The keys of an entry in our own words."""

_TRANSPORTS = ("stdio", "http", "sse")
_FOREIGN_TYPES = ("local", "remote")
"""Values of `type` in clients that count a `timeout` in milliseconds."""


def is_in_our_words(entry: dict[str, object]) -> bool:
    """Whether an entry needs no translation, as nearly all do that were written for the workbench."""
    return (
        entry.keys() <= OUR_KEYS
        and not isinstance(entry.get("command"), (list, dict))
        and entry.get("transport", "stdio") in _TRANSPORTS
        and entry.get("type") not in _FOREIGN_TYPES
        and entry.get("oauth") is None
    )
