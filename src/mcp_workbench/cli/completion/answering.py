"""The hidden command `mcp-workbench _complete`, which the completion scripts run at every press of Tab.

Owns the interface to the scripts: the first line says what may follow (`space`, `nospace`, `files`), and each
further line is a candidate. Nothing is written to stderr, whatever happens, and no server is started.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_workbench.cli.completion.bash_words import escaped, read_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.cli.completion.candidates import Completions

MAX_CANDIDATES: Final = 2000
"""Completions that are printed. A shell shows no more at once."""


class _Request(NamedTuple):
    words: list[str]
    current: str
    replaced: int
    """Characters of the current word that the shell keeps: what it inserts follows them."""
    quote: str
    """The quote in which the current word is, in bash."""
    is_bash: bool


def run(arguments: Sequence[str]) -> int:
    """Print the candidates for a command line. Return 0, even if there are none."""
    try:
        request = _read(arguments)
        if request is not None:
            from mcp_workbench.cli.completion.candidates import candidates_for

            _print(request, candidates_for(request.words, request.current))
    except (Exception, SystemExit):  # noqa: BLE001 - no error may reach the prompt of a person who types
        return 0
    return 0


def _read(arguments: Sequence[str]) -> _Request | None:
    """Read what the script passes: in bash the raw line, else the words without quotes."""
    kind, *rest = arguments
    if kind == "bash":
        point, line, breaks = rest
        found = read_line(line.encode()[: int(point)].decode(errors="ignore"), breaks)
        return _Request(found.words[1:], found.current, found.kept, found.quote, is_bash=True)
    if kind == "words" and rest:
        return _Request(rest[:-1], rest[-1], 0, "", is_bash=False)
    return None


def _print(request: _Request, candidates: Completions) -> None:
    lines = []
    for candidate in candidates.found[:MAX_CANDIDATES]:
        value = candidate.value
        if not value.startswith(request.current) or not value.isprintable():
            continue  # a line break or a control character could not be passed on safely
        if request.is_bash:
            text = escaped(value[request.replaced :], request.quote)
            if text is not None:
                lines.append(text)
        else:
            about = " ".join(candidate.about.split())
            lines.append(f"{value}\t{about}" if about.isprintable() and about else value)
    kind = "files" if candidates.are_files else "space" if candidates.are_complete else "nospace"
    sys.stdout.buffer.write("\n".join([kind, *lines, ""]).encode(errors="replace"))
