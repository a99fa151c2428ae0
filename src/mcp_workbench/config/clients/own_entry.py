"""Recognises entries that start the workbench itself, so that it is not put into itself."""

from __future__ import annotations

import re
import shlex

_NAMES = frozenset(("mcp-workbench", "workbench-mcp", "mcp_workbench"))
_LAUNCHERS = re.compile(
    r"(env|cmd|uv|uvx|pipx|nice|nohup|sudo|sh|bash|zsh|dash|pwsh|powershell|py|python[\d.]*|poetry|rye|mise)"
)
_SUBCOMMANDS = frozenset(("run", "tool", "exec", "x", "/c", "/s", "/d", "/q"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_VERSION = re.compile(r"(\[[\w,-]*\])?([@=<>~!].*)?$")
_MAX_WORDS = 64
"""Words of a command line that are looked at: launchers are at its start."""


def starts_workbench(entry: dict[str, object]) -> bool:
    """Whether a server entry of any client starts the workbench, directly or by a launcher such as `uvx`."""
    return _is_workbench(words_of(entry)[:_MAX_WORDS])


def words_of(entry: dict[str, object]) -> list[str]:
    """Return the command line in a server entry of any client: the program, then its arguments."""
    command = entry.get("command", entry.get("cmd"))
    parts: list[object] = [command if isinstance(command, list) else [command], entry.get("args")]
    if isinstance(command, dict):
        parts = [[command.get("path")], command.get("args"), entry.get("args")]
    return [word for part in parts if isinstance(part, list) for word in part if isinstance(word, str)]


def _is_workbench(words: list[str]) -> bool:
    if not words:
        return False
    name = _base(words[0])
    return name in _NAMES or (_LAUNCHERS.fullmatch(name) is not None and _launches_workbench(words))


def _launches_workbench(words: list[str]) -> bool:
    """Whether a launcher, the first word, starts the workbench with the words after it."""
    for index, word in enumerate(words[1:], start=1):
        rest = words[index + 1 :]
        if word == "-m":
            return bool(rest) and _base(rest[0]) in _NAMES
        if word in ("-c", "-Command"):
            return bool(rest) and _is_workbench(_split(rest[0]))
        if _base(word) in _NAMES:
            return True
        if word.startswith("-") or word.lower() in _SUBCOMMANDS or _ASSIGNMENT.fullmatch(word):
            continue
        if _LAUNCHERS.fullmatch(_base(word)):
            return _is_workbench(words[index:])
        # After an option, it may be the value of the option rather than a program.
        if not words[index - 1].startswith("-"):
            return False
    return False


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _base(word: str) -> str:
    name = re.split(r"[/\\]", word)[-1].lower()
    return _VERSION.sub("", name.removesuffix(".exe").removesuffix(".cmd"))
