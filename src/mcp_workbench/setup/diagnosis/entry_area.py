"""Looks at the entries of servers: references without a value, secrets in plain text, time-outs.

Nothing of a value is shown that may be secret.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME
from mcp_workbench.config.source.references import secret_names_in
from mcp_workbench.config.validation.fields import is_long_wait
from mcp_workbench.setup.diagnosis.examined import names, sentence, title
from mcp_workbench.setup.diagnosis.findings import Area, found
from mcp_workbench.setup.launching import unset_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_workbench.config import Origin
    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding

    _Place = tuple[str | int, ...]

_SHELL_REFERENCE: Final = re.compile(r"(?:^|(?<=[\s=:,;/\"']))\$([A-Z_][A-Z0-9_]+)(?![\w{(])")
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "fish", "ksh", "env", "cmd", "powershell", "pwsh"))
"""Programs that replace `$NAME` in their arguments themselves, or start a shell that does."""
_TIMEOUTS: Final = ("timeout", "startupTimeout", "inputTimeout")
_HOUR_SECONDS: Final = 3600


def look_at_entries(examined: Examined) -> Area:
    """Return what is wrong with what the entries of servers say."""
    findings = [
        *_unset_variables(examined),
        *_unreadable_secrets(examined),
        *_plain_secrets(examined),
        *_shell_references(examined),
        *_long_waits(examined),
    ]
    return Area("entries", "references, secrets, time-outs", tuple(findings))


def _unset_variables(examined: Examined) -> Iterator[Finding]:
    """Yield each variable that is not set, once, with all servers that need it."""
    users: dict[str, list[str]] = {}
    first: dict[str, int | None] = {}
    faults = examined.loaded.faults
    owners = {id(problem): origin for origin, problems in faults.servers.items() for problem in problems}
    for problem in faults.all:
        if (variable := unset_variable(problem)) is None:
            continue
        first.setdefault(variable, problem.line)
        origin = owners.get(id(problem))
        known = users.setdefault(variable, [])
        if origin is not None and title(origin) not in known:
            known.append(title(origin))
    for variable, its_users in users.items():
        servers = tuple(its_users)
        needed_by = f" It is needed by {names(servers)}." if servers else ""
        yield found(
            "variable-not-set",
            f"The variable {variable} is not set.{needed_by}",
            servers=servers,
            file=examined.path,
            line=first[variable],
            remedy=f"For a secret: mcp-workbench secret set {variable}, "
            f"and ${{keyring:{variable}}} in the file.",
            command=f"export {variable}=value",
        )


def _unreadable_secrets(examined: Examined) -> Iterator[Finding]:
    for origin, entry in examined.entries.items():
        for name in sorted(secret_names_in(entry)):
            line = _line_of_text(examined, origin, entry, f":{name}}}")
            command = f"mcp-workbench secret set {name}"
            if name in examined.secrets.missing:
                yield found(
                    "secret-missing",
                    f"{title(origin)} needs the secret {name}, which is not stored.",
                    servers=(title(origin),),
                    file=examined.path,
                    line=line,
                    command=command,
                )
            elif name in examined.secrets.failures:
                yield found(
                    "keyring-unavailable",
                    f"{title(origin)} needs the secret {name}. {sentence(examined.secrets.failures[name])}",
                    servers=(title(origin),),
                    file=examined.path,
                    line=line,
                    remedy="Unlock the keyring and run this again, or store the secret again:",
                    command=command,
                )


def _plain_secrets(examined: Examined) -> Iterator[Finding]:
    for origin, entry in examined.entries.items():
        for secret in find_secrets(entry):
            where = ".".join(map(str, secret.place))
            name = secret.suggested_name
            yield found(
                "secret-in-plain-text",
                f"{title(origin)} has a secret in plain text in {where}.",
                servers=(title(origin),),
                file=examined.path,
                line=examined.line(origin, *secret.place),
                remedy=f"Store it, and write ${{keyring:{name}}} in its place:",
                command=f"mcp-workbench secret set {name}",
            )


def _shell_references(examined: Examined) -> Iterator[Finding]:
    for origin, entry in examined.entries.items():
        secret_places = {secret.place for secret in find_secrets(entry)}
        for place, text in _texts_of(entry):
            if place in secret_places or (match := _SHELL_REFERENCE.search(text)) is None:
                continue
            name = match[1] if _may_be_shown(match[1], place, examined.environ) else "NAME"
            yield found(
                "shell-reference",
                f"{title(origin)} has ${name} in {'.'.join(map(str, place))}, and no shell replaces it.",
                servers=(title(origin),),
                file=examined.path,
                line=examined.line(origin, *place),
                remedy=f"Write ${{{name}}}.",
                command=examined.edit(examined.line(origin, *place)),
            )


def _texts_of(entry: Mapping[str, object]) -> Iterator[tuple[_Place, str]]:
    """Yield the strings of an entry in which a reference can be meant, each with its place."""
    words = ["url", "cwd", "envFile"]
    program = os.path.basename(str(entry.get("command", "")))
    if os.path.splitext(program)[0] not in _SHELLS:
        words += ["command"]
        args = entry.get("args")
        for index, word in enumerate(args if isinstance(args, list) else ()):
            if isinstance(word, str):
                yield ("args", index), word
    for key in words:
        if isinstance(text := entry.get(key), str):
            yield (key,), text
    for key in ("env", "headers"):
        values = entry.get(key)
        for name, value in (values if isinstance(values, dict) else {}).items():
            if isinstance(value, str):
                yield (key, name), value


def _may_be_shown(name: str, place: _Place, environ: Mapping[str, str]) -> bool:
    """Whether a name after a dollar sign is that of a variable for sure, and not a part of a password."""
    key = str(place[-1])
    return (
        name in environ
        or name == key.upper()
        or (place[0] != "headers" and not re.search(SENSITIVE_NAME, key))
    )


def _long_waits(examined: Examined) -> Iterator[Finding]:
    for origin, entry in examined.entries.items():
        for key in _TIMEOUTS:
            value = entry.get(key)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not is_long_wait(value):
                continue
            line = examined.line(origin, key)
            yield found(
                "timeout-in-milliseconds",
                f"{title(origin)} has the {key} {value:g}, which is {value / _HOUR_SECONDS:.1f} hours: the "
                "unit is seconds.",
                servers=(title(origin),),
                file=examined.path,
                line=line,
                remedy=f'If milliseconds were meant, write "{key}": {value / 1000:g}.',
                command=examined.edit(line),
            )


def _line_of_text(examined: Examined, origin: Origin, entry: Mapping[str, object], text: str) -> int | None:
    """Return the line of the first string of an entry that has a text in it."""
    place = next((place for place, value in _texts_of(entry) if text in value), ())
    return examined.line(origin, *place)
