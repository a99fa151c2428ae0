"""Replaces `${VAR}` and `${VAR:-default}` in every string of the file, keys included.

Owns the syntax of references and the walk over the tree. Does not know which keys the file may have.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.validation.problems import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.validation.problems import Place, Problems


# An escape, a whole reference, or the start of a malformed one. A default ends at the first `}`.
_ESCAPE = "$${"
_TOKEN = re.compile(r"\$\$\{|\$\{(?:([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\})?")


class Expansion(msgspec.Struct, frozen=True):
    """A tree with its references replaced, and the values of variables in it, each with its `${VAR}`."""

    tree: dict[str, object]
    values: dict[str, str]


def expand(tree: dict[str, object], environ: Mapping[str, str], problems: Problems) -> Expansion:
    """Replace every reference. Those that cannot be replaced stay as they are and are reported."""
    expander = _Expander(environ, problems)
    expanded = expander.mapping(tree, ())
    return Expansion(expanded, expander.values)


class _Expander:
    """Expands one tree, and collects the values of the variables that it refers to."""

    def __init__(self, environ: Mapping[str, str], problems: Problems) -> None:
        self._environ = environ
        self._problems = problems
        self.values: dict[str, str] = {}

    def node(self, node: object, place: Place) -> object:
        """Return a value of the tree with its references replaced."""
        if isinstance(node, str):
            return self._text(node, place) if "${" in node else node
        if isinstance(node, dict):
            return self.mapping(node, place)
        if isinstance(node, list):
            return [self.node(item, (*place, index)) for index, item in enumerate(node)]
        return node

    def mapping(self, node: dict[str, object], place: Place) -> dict[str, object]:
        """Return an object of the tree with the references in its keys and values replaced."""
        result: dict[str, object] = {}
        written: dict[str, str] = {}
        for key, value in node.items():
            name = self._text(key, (*place, key)) if "${" in key else key
            inside = (*place, name)
            if name in result:
                both = f"{quoted(written[name])} and {quoted(key)}"
                what = f"the keys {both} become the same name when variables are replaced"
                self._problems.add(place, what, "Give each its own name, or delete one of them.")
            elif name != key:
                self._problems.spell(inside, key)
            written[name] = key
            result[name] = self.node(value, inside)
        return result

    def _text(self, text: str, place: Place) -> str:
        mistakes: list[tuple[str, str]] = []

        def replace(token: re.Match[str]) -> str:
            name, default = token.groups()
            if name is None:
                if token[0] != _ESCAPE:
                    mistakes.append(explain_malformed(text, token.end()))
                return "${"
            if default is not None and "${" in default:
                shown = f"${{{name}:-…}}"
                self._problems.warn(
                    place, f"the default of {shown} is literal, so the ${{ in it is no reference"
                )
            value = self._environ.get(name)
            if value is not None:
                self.values[value] = f"${{{name}}}"
                return value
            if default is None:
                mistakes.append(explain_unset(name))
            return default or ""

        expanded = _TOKEN.sub(replace, text)
        if not mistakes:
            return expanded
        for what, remedy in mistakes:
            self._problems.add(place, what, remedy)
        self._problems.silence(place)
        return text


_WORD = re.compile(r"[\w.-]{0,64}")
_PLAIN_NAME = re.compile(r"[\w. /-]{1,64}")
# `${VAR-x}` is a default as a shell has it, and may hold a secret; `${MY-VAR}` is a misspelled name.
_SHELL_FORM = re.compile(r"([A-Z_][A-Z0-9_]*)(?::|[-=?+](?![A-Z0-9_-]*$))")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_IN_A_NAME = re.compile(r"[^A-Z0-9_]+")

_EDITOR_FOLDERS = ("workspaceFolder", "workspaceFolderBasename", "workspaceRoot")


@lru_cache  # the same variable is often missing in many places
def explain_unset(name: str) -> tuple[str, str]:
    """Return the problem and the remedy for a required variable that is not set."""
    return (
        f"the variable {name} is not set",
        f"export {name}=value    (or give a default: ${{{name}:-default}})",
    )


@lru_cache  # the same mistake is often made in many places
def explain_malformed(text: str, start: int) -> tuple[str, str]:
    """Return the problem and the remedy for the malformed reference whose `${` ends at `start`."""
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
    """Return the valid reference nearest to a wrong name, and the line that sets the variable."""
    word = _match(_WORD, wrong_name.strip())
    name = _NOT_IN_A_NAME.sub("_", _HUMP.sub("_", word).upper())
    if not name.strip("_"):
        name = "VAR"
    elif name[0].isdigit():
        name = f"_{name}"
    return f"${{{name}}}, and set it: export {name}=value"
