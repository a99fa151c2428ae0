"""`${VAR}` and `${VAR:-default}` in every string of the file, keys included.

Owns the syntax of references and the walk over the tree. Touches nothing but its arguments. Does not know
which keys the file may have, nor the words for a malformed reference: see `references`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.findings import quoted
from mcp_workbench.config.references import explain_malformed, explain_unset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.findings import Findings, Place

# The escape, a whole reference, or the start of something that is neither. A default ends at the first `}`.
_ESCAPE = "$${"
_TOKEN = re.compile(r"\$\$\{|\$\{(?:([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\})?")


class Expansion(msgspec.Struct, frozen=True):
    """The tree with its references replaced, and the variables' values in it (value: `${VAR}`)."""

    tree: dict[str, object]
    values: dict[str, str]


def expand(tree: dict[str, object], environ: Mapping[str, str], findings: Findings) -> Expansion:
    """Replace every reference; what cannot be replaced stays as written and is reported to `findings`."""
    expander = _Expander(environ, findings)
    expanded = expander.mapping(tree, ())
    return Expansion(expanded, expander.values)


class _Expander:
    """One pass over one tree."""

    def __init__(self, environ: Mapping[str, str], findings: Findings) -> None:
        self._environ = environ
        self._findings = findings
        self.values: dict[str, str] = {}

    def node(self, node: object, place: Place) -> object:
        if isinstance(node, str):
            return self._text(node, place) if "${" in node else node
        if isinstance(node, dict):
            return self.mapping(node, place)
        if isinstance(node, list):
            return [self.node(item, (*place, index)) for index, item in enumerate(node)]
        return node

    def mapping(self, node: dict[str, object], place: Place) -> dict[str, object]:
        result: dict[str, object] = {}
        written: dict[str, str] = {}
        for key, value in node.items():
            name = self._text(key, (*place, key)) if "${" in key else key
            inside = (*place, name)
            if name in result:
                both = f"{quoted(written[name])} and {quoted(key)}"
                what = f"the keys {both} become the same name when variables are replaced"
                self._findings.problem(place, what, "Give each its own name, or delete one of them.")
            elif name != key:
                self._findings.spell(inside, key)
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
                self._findings.warn(
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
            self._findings.problem(place, what, remedy)
        self._findings.silence(place)
        return text
