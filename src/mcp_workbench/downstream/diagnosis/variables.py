"""Finds the environment variables that a server says it misses, and how to give them to it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.environment import child_environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import ServerConfig

MAX_NAMES: Final = 5
"""Variables that a hint names."""

_KEY_ERROR: Final = re.compile(r"KeyError: '([A-Z][A-Z0-9_]{2,63})'")
_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_SHORT_NAME: Final = re.compile(r"\b[A-Z][A-Z0-9]{2,}\b")
_NO_NAMES: Final = re.compile(
    r"ERR_|.*NOT_FOUND$|E[A-Z]+$|(?:API|URL|MCP|JSON|HTTP|ERROR|FATAL|PAT|WARN(?:ING)?)$"
)
"""Words in capitals that name no variable: codes of errors, levels of logs, abbreviations."""
_MISSES: Final = re.compile(
    r"\b(?:required|requires|missing|unset|undefined|mandatory|empty|expected|needed|needs"
    r"|(?:please|must|or) (?:set|provide|specify|export)"
    r"|(?:not|n't|must|no \S+) (?:be )?(?:set|defined|provided|found|specified|configured|given|exist))\b",
    re.IGNORECASE,
)
_SAYS_VARIABLE: Final = re.compile(r"\benv(?:ironment)?\b", re.IGNORECASE)
_SETTINGS: Final = re.compile(r"validation errors? for (?:\w*(?:settings|config|env)\w*)", re.IGNORECASE)
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def missing_in(line: str) -> list[str]:
    """Return the variables that a line of stderr says are missing, if it says so."""
    if found := _KEY_ERROR.search(line):
        return [found[1]]
    if not _MISSES.search(line):
        return []
    return _named(_NAME, line) or (_named(_SHORT_NAME, line) if _SAYS_VARIABLE.search(line) else [])


def _named(pattern: re.Pattern[str], line: str) -> list[str]:
    names = dict.fromkeys(pattern.findall(line))
    return [name for name in names if not _NO_NAMES.match(name)][:MAX_NAMES]


def missing_fields(lines: Sequence[str]) -> list[str]:
    """Return the variables that are missing according to an error of Pydantic about settings."""
    if not any(_SETTINGS.search(line) for line in lines):
        return []
    named = [
        before.strip().upper()
        for before, line in pairwise(lines)
        if line.strip().startswith("Field required") and _FIELD.fullmatch(before.strip())
    ]
    return list(dict.fromkeys(named))[:MAX_NAMES]


def how_to_set(names: Sequence[str], config: ServerConfig, environ: Mapping[str, str]) -> str:
    """Return what to do about variables that a server misses. `environ` is that of the workbench."""
    child = child_environment(config, environ)
    absent = [name for name in names if name not in child]
    if not absent:
        return (
            f"It has {_listed(names)}, but does not accept the value: check that it is right and not empty."
        )
    if all(name in environ for name in absent):
        inherit = [*(config.inherit_env if isinstance(config.inherit_env, list) else ()), *absent]
        return (
            f"The workbench has {_listed(absent)}, and passes on only what a server asks for: "
            f'add "inheritEnv": {json.dumps(inherit)} to this server.'
        )
    entries = json.dumps({name: f"${{keyring:{name}}}" for name in absent})
    commands = ", ".join(f"mcp-workbench secret set {name}" for name in absent)
    return f'Add "env": {entries} to this server, and store the value: {commands}'


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
