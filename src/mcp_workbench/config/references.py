"""The words for a `${…}` that cannot be replaced: what is wrong, and the line that fixes it.

Owns the diagnosis of one reference, other clients' spellings included. Shows the names of variables, never
what may be a value.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[\w.-]{0,64}")
_PLAIN_NAME = re.compile(r"[\w. /-]{1,64}")
# `${VAR-x}` is a shell's default and may hold a value; `${MY-VAR}` is a name with the wrong dash.
_SHELL_FORM = re.compile(r"([A-Z_][A-Z0-9_]*)(?::|[-=?+](?![A-Z0-9_-]*$))")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_IN_A_NAME = re.compile(r"[^A-Z0-9_]+")

_EDITOR_FOLDERS = ("workspaceFolder", "workspaceFolderBasename", "workspaceRoot")


@lru_cache  # the same variable is usually missing in many places
def explain_unset(name: str) -> tuple[str, str]:
    """The problem and the remedy of a required variable that is not set."""
    return (
        f"the variable {name} is not set",
        f"export {name}=value    (or give a default: ${{{name}:-default}})",
    )


@lru_cache  # and the same mistake made
def explain_malformed(text: str, start: int) -> tuple[str, str]:
    """The problem and the remedy of the reference whose `${` ends at `start`."""
    end = text.find("}", start)
    if end == -1 or "${" in text[start:end]:
        word = _match(_WORD, text, start)
        return f"${{{word} has no closing brace", f"Write {_instead(word)} (a literal ${{ is written $${{)"
    body = text[start:end]
    prefix, colon, rest = body.partition(":")
    if colon and prefix == "env":
        return "${env:…} is another client's spelling of a variable", f"Here write {_instead(rest)}"
    if colon and prefix == "input":
        return "${input:…} asks a person, which the workbench cannot do", f"Here write {_instead(rest)}"
    if prefix in _EDITOR_FOLDERS:
        return f"${{{prefix}}} is known to editors only", f"Here write the path itself, or {_instead(prefix)}"
    if prefix == "userHome":
        return "${userHome} is known to editors only", f"Here write {_instead('HOME')}"
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
    """The valid reference nearest to a wrong name, and the line that sets it."""
    word = _match(_WORD, wrong_name.strip())
    name = _NOT_IN_A_NAME.sub("_", _HUMP.sub("_", word).upper())
    if not name.strip("_"):
        name = "VAR"
    elif name[0].isdigit():
        name = f"_{name}"
    return f"${{{name}}}, and set it: export {name}=value"
