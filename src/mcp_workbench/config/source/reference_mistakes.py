"""What is said about a reference that cannot be replaced: the problem, and the nearest reference that works.

The syntax is in `expand`, which imports this module for the few files that have such a mistake.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[\w.-]{0,64}")
_PLAIN_NAME = re.compile(r"[\w. /-]{1,64}")
# `${VAR-x}` is a default as a shell has it, and may hold a secret; `${MY-VAR}` is a misspelled name.
_SHELL_FORM = re.compile(r"([A-Z_][A-Z0-9_]*)(?::|[-=?+](?![A-Z0-9_-]*$))")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_IN_A_NAME = re.compile(r"[^A-Z0-9_]+")

_KINDS = ("keyring", "input", "file", "env")
_EDITOR_FOLDERS = ("workspaceFolder", "workspaceFolderBasename", "workspaceRoot")


@lru_cache  # the same variable is often missing in many places
def explain_unset(name: str) -> tuple[str, str]:
    """Return the problem and the remedy for a required variable that is not set: `NAME` or `env:NAME`."""
    variable = name.removeprefix("env:")
    remedy = (
        f"export {variable}=value    (or give a default: ${{{name}:-default}}, "
        f"or for a secret: mcp-workbench secret set {variable} and ${{keyring:{variable}}})"
    )
    return f"the variable {variable} is not set", remedy


@lru_cache  # the same mistake is often made in many places
def explain_malformed(text: str, start: int) -> tuple[str, str]:
    """Return the problem and the remedy for the malformed reference whose `${` ends at `start`."""
    end = text.find("}", start)
    if end == -1 or "${" in text[start:end]:
        word = _match(_WORD, text, start)
        instead = f"${{{word}:…}}" if word in _KINDS else _instead(word)
        return f"${{{word} has no closing brace", f"Write {instead} (a literal ${{ is written $${{)"
    body = text[start:end]
    prefix, colon, rest = body.partition(":")
    if colon and prefix == "env":
        what = "${env:…} does not name a variable: names are made of letters, digits and _"
        return what, f"Write {_instead(rest)}"
    if prefix in _EDITOR_FOLDERS:
        return f"${{{prefix}:…}} is known to editors only", f"Here write the path itself, or ${{{prefix}}}"
    name, given_default, _ = body.partition(":-")
    shell_form = None if given_default else _SHELL_FORM.match(body)
    if shell_form:
        return (
            f"${{{shell_form[0]}…}} is not a form of reference: there are ${{VAR}} and ${{VAR:-default}}",
            f"Write {_instead(shell_form[1])}",
        )
    shown = name if not body or _PLAIN_NAME.fullmatch(name) else "…"
    return (
        f"${{{shown}}} does not name a variable: names are made of A-Z, 0-9 and _, and start with no digit",
        f"Write {_instead(name)} (a literal ${{ is written $${{)",
    )


def _match(pattern: re.Pattern[str], text: str, start: int = 0) -> str:
    found = pattern.match(text, start)
    return found[0] if found else ""


@lru_cache
def _instead(wrong_name: str) -> str:
    """Return the valid reference nearest to a wrong name, and the line that sets the variable."""
    word = _match(_WORD, wrong_name.strip())
    name = _NOT_IN_A_NAME.sub("_", _HUMP.sub("_", word).upper())
    if not name.strip("_"):
        name = "VAR"
    elif name[0].isdigit():
        name = f"_{name}"
    return f"${{{name}}}, and set it: export {name}=value"
