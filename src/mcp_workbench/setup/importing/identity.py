"""Decides whether two entries are the same server: the same program or address, with the same values.

Entries are compared as they work, with references replaced. What only limits or tunes a server is left out
of the comparison, and compared by `merging`.
"""

from __future__ import annotations

import json
import os.path
import re
import shutil
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

TUNING: Final = frozenset(("timeout", "startupTimeout", "inputTimeout"))
"""Keys with seconds, of which the longer count when entries are merged."""
LIMITS: Final = frozenset(("toolFilters", "disabled"))
"""Keys that limit a server without changing what it is."""
LOCAL: Final = frozenset(
    ("required", "callLimit", "messageLimit", "results", "isolation", "inheritEnv", "protocol")
)
"""Keys for how the workbench treats a server. A person may have added them to an imported entry."""
NO_LIMITS: Final = (frozenset(("*",)), frozenset[str]())
"""The limits of an entry without filters, as `limits_of` returns them."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SHELLS: Final = (["cmd", "/c"], ["cmd.exe", "/c"])
"""How Windows has to start a program that is a script. The program is the argument after it."""
_YES: Final = ("-y", "--yes")
_RUN_OF_PACKAGES: Final = frozenset(("npx",))


def identity_of(entry: Mapping[str, object], environ: Mapping[str, str]) -> str:
    """Return a text that is equal for entries of the same server. It contains secrets: never show it."""
    ignored = TUNING | LIMITS | LOCAL | {"command", "args", "url", "transport"}
    same = {key: value for key, value in entry.items() if key not in ignored and value not in ({}, [], None)}
    headers = same.get("headers")
    if isinstance(headers, dict):
        same["headers"] = {str(name).lower(): value for name, value in headers.items()}
    url = entry.get("url")
    if isinstance(url, str):
        same["url"] = _plain_url(url)
        same["transport"] = "sse" if entry.get("transport") == "sse" else "http"
    else:
        same["command"] = _plain_command(entry, environ)
    return json.dumps(same, sort_keys=True)


def limits_of(entry: Mapping[str, object]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tools that the filters of an entry show and those that they hide, as sets of patterns."""
    filters = entry.get("toolFilters")
    if not isinstance(filters, list):
        return NO_LIMITS
    shown = {str(pattern) for pattern in filters if not str(pattern).startswith("!")}
    hidden = {str(pattern)[1:] for pattern in filters if str(pattern).startswith("!")}
    # Exclusions alone show everything else; no patterns at all show nothing.
    shows_all = "*" in shown or (hidden and not shown)
    return frozenset(("*",) if shows_all else shown), frozenset(hidden)


def _plain_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    except ValueError:
        return url
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return urlunsplit((parts.scheme.lower(), f"{user}{host}{port}", parts.path.rstrip("/"), parts.query, ""))


def _plain_command(entry: Mapping[str, object], environ: Mapping[str, str]) -> list[object]:
    args = entry.get("args")
    words: list[object] = [entry.get("command"), *(args if isinstance(args, list) else ())]
    if [str(word).lower() for word in words[:2]] in _SHELLS and len(words) > 2:
        words = words[2:]
    words[0] = _program(str(words[0]), environ)
    if words[0] in _RUN_OF_PACKAGES:
        words = _without_yes(words)
    return words


def _program(command: str, environ: Mapping[str, str]) -> str:
    """Return the name of a program for a path that leads to the same file, and any other path as it is."""
    name = re.split(r"[\\/]", command)[-1]
    if name != command:
        found = shutil.which(name, path=environ.get("PATH", ""))
        if found is None or os.path.realpath(found) != os.path.realpath(command):
            return os.path.normpath(command)
    return re.sub(r"\.(?:exe|cmd|bat)$", "", name, flags=re.IGNORECASE)


def _without_yes(words: list[object]) -> list[object]:
    """Leave out the option that answers the question whether to install, which npx does not ask a program."""
    for index, word in enumerate(words[1:], 1):
        if word in _YES:
            return [*words[:index], *_without_yes(["", *words[index + 1 :]])[1:]]
        if not str(word).startswith("-"):
            break  # what follows is for the server
    return words
