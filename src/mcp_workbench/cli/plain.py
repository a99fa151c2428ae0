"""Parses the plain command lines with which clients start the workbench: no command, and few options.

Clients wait for the start, and argparse takes 4 % of it. All other command lines, wrong ones included, are
parsed by `options`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "off")
LOG_FORMATS: Final = ("text", "json")

KEEP_GOING: Final = "--keep-going"

_OPTIONS: Final = {"--config": "config", "--log-level": "log_level", "--log-format": "log_format"}


class Plain(NamedTuple):
    """The options of a plain command line; None stands for the default."""

    config: str | None = None
    log_level: str | None = None
    log_format: str | None = None
    keep_going: bool = False


def read_plain(arguments: Sequence[str]) -> Plain | None:
    """Return the options of a plain command line, or None if argparse has to parse it."""
    rest = list(arguments)
    if rest[:1] == ["serve"]:
        del rest[0]
    found: dict[str, str] = {}
    keep_going = False
    while rest:
        if rest[0] == KEEP_GOING:
            keep_going = True
            del rest[0]
            continue
        option, equals, value = rest.pop(0).partition("=")
        if option not in _OPTIONS or not (equals or rest):
            return None
        if not equals and (value := rest.pop(0)).startswith("-"):
            return None
        found[_OPTIONS[option]] = value
    plain = Plain(**found, keep_going=keep_going)
    is_right = plain.log_level in (None, *LOG_LEVELS) and plain.log_format in (None, *LOG_FORMATS)
    return plain if is_right else None
