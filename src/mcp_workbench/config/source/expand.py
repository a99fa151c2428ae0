"""Replaces `${VAR}`, `${VAR:-default}` and the other references in every string of the file, keys included.

Owns the syntax of references and the walk over the tree. Of the keys that the file may have, it knows those
by which a server is disabled, since what such a server refers to need not be there and is not read, and those
with paths that count from the directory of the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config.masking.secrets import Secrets
from mcp_workbench.config.validation.problems import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config.source.references import References
    from mcp_workbench.config.validation.problems import Place, Problems

    SecretLookup = Callable[[str], str | None]
    """Returns the value of a secret by its name; None if there is none. May raise StoreError."""
    _Mistake = tuple[str, str]

# An escape, a whole reference, or the start of a malformed one. A default ends at the first `}`.
_ESCAPE = "$${"
_TOKEN = re.compile(
    r"\$\$\{|\$\{(?:([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}"
    r"|((?:keyring|input|file|env):[^}]*|userHome|workspace(?:Folder(?:Basename)?|Root)|pathSeparator|/)\})?"
)
_ENV = r"env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?"
_READ = ("keyring:", "input:", "file:")
"""How references begin whose values are read from somewhere else than the environment."""


class Expansion(msgspec.Struct, frozen=True):
    """A tree with its references replaced, and the values of variables in it, each with its `${VAR}`."""

    tree: dict[str, object]
    values: dict[str, str]
    files: frozenset[str] = frozenset()
    """The paths of the files that the tree refers to, whether they can be read or not."""
    has_secrets: bool = False
    """Whether the tree refers to a stored secret, whether there is one or not."""
    programs: dict[tuple[str, str], tuple[str, ...]] = {}
    """Command and arguments, or the URL, as they are written in the file: with references, without values."""


def no_secrets(_name: str) -> None:
    """Return None for every name: the lookup of a configuration that may refer to no stored secrets."""


def is_disabled(entry: dict[str, object]) -> bool:
    """Whether an entry in our words says that the server is left out."""
    return entry.get("disabled") is True


def expand(
    tree: dict[str, object],
    environ: Mapping[str, str],
    problems: Problems,
    *,
    directory: str = "",
    lookup: SecretLookup = no_secrets,
) -> Expansion:
    """Replace every reference. Those that cannot be replaced stay as they are and are reported.

    Paths are relative to `directory`, and `lookup` returns the values of stored secrets.
    """
    expander = _Expander(environ, problems, directory, lookup)
    expanded = expander.mapping(tree, ())
    return Expansion(
        expanded,
        expander.values | expander.secrets,
        frozenset(expander.files),
        expander.has_secrets,
        expander.programs,
    )


class _Expander:
    """Expands one tree, and collects the values of the references in it."""

    def __init__(
        self, environ: Mapping[str, str], problems: Problems, directory: str, lookup: SecretLookup
    ) -> None:
        self._environ = environ
        self._problems = problems
        self._directory = directory
        self._lookup = lookup
        self._references: References | None = None
        self._is_disabled = False
        """Whether the walk is inside of a disabled server, where no reference has to have a value."""
        self.values: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        """The values that are secret under whatever name, kept apart: their labels win over the others."""
        self.files: set[str] = set()
        self.has_secrets = False
        self.programs: dict[tuple[str, str], tuple[str, ...]] = {}

    def node(self, node: object, place: Place) -> object:
        """Return a value of the tree with its references replaced."""
        if isinstance(node, str):
            return self._text(node, place) if "${" in node else node
        if isinstance(node, dict):
            if len(place) == 4 and place[0] == "toolboxes" and place[2] == "mcpServers":
                return self._server(node, place)
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

    def _server(self, node: dict[str, object], place: Place) -> dict[str, object]:
        self._is_disabled = is_disabled(node)
        entry = self.mapping(node, place)
        if (program := _program(node)) != _program(entry):
            self.programs[str(place[1]), str(place[3])] = tuple(map(_without_defaults, program))
        if "envFile" in entry and not self._is_disabled:
            self._add_env_file(entry, (*place, "envFile"))
        if "sandbox" in entry:
            from mcp_workbench.config.source.sandbox_paths import with_absolute_paths  # noqa: PLC0415 - few have one

            entry["sandbox"] = with_absolute_paths(entry["sandbox"], self._directory, self._environ)
        self._is_disabled = False
        return entry

    def _add_env_file(self, entry: dict[str, object], place: Place) -> None:
        """Put the variables of a server's `envFile` into its `env`, whose own variables win."""
        from mcp_workbench.config.source.env_files import read_env_file  # noqa: PLC0415 - few servers have one
        from mcp_workbench.config.source.small_files import UnusableFile, resolve_path  # noqa: PLC0415 - as above

        path, env = entry["envFile"], entry.get("env", {})
        if not isinstance(path, str) or not isinstance(env, dict):
            return  # reported when the entry is checked
        resolved = resolve_path(path, self._directory, self._environ)
        self.files.add(resolved)
        try:
            entry["env"] = read_env_file(path, self._directory, self._environ) | env
        except UnusableFile as error:
            shown = Secrets(self.values | self.secrets).mask(resolved)
            self._problems.add(place, f"{error.what}: {shown}", error.remedy)

    def _text(self, text: str, place: Place) -> str:
        mistakes: list[_Mistake | None] = []

        def replace(token: re.Match[str]) -> str:
            name, default, other = token.groups()
            if other is not None:
                if not other.startswith("env:"):
                    return self._other(other, mistakes)
                if found := re.fullmatch(_ENV, other):
                    name, default = found.groups()
            if name is not None:
                return self._variable(name, default, place, mistakes, is_env=other is not None)
            if token[0] != _ESCAPE:
                from mcp_workbench.config.source.reference_mistakes import explain_malformed  # noqa: PLC0415 - rare

                mistakes.append(explain_malformed(text, token.start() + 2))
            return "${"

        expanded = _TOKEN.sub(replace, text)
        if not mistakes:
            return expanded
        for mistake in mistakes:
            if mistake is not None:
                self._problems.add(place, *mistake)
        self._problems.silence(place)
        return text

    def _variable(
        self, name: str, default: str | None, place: Place, mistakes: list[_Mistake | None], *, is_env: bool
    ) -> str:
        """Return the value of a variable or its default, or add to the mistakes. `is_env` is `${env:…}`."""
        if default is not None and "${" in default:
            shown = f"${{{name}:-…}}"
            self._problems.warn(place, f"the default of {shown} is literal, so the ${{ in it is no reference")
        value = self._environ.get(name)
        if value is not None:
            self.values[value] = f"${{{name}}}"
            return value
        if default is None:
            from mcp_workbench.config.source.reference_mistakes import explain_unset  # noqa: PLC0415 - rare

            unset = explain_unset(f"env:{name}" if is_env else name)
            mistakes.append(None if self._is_disabled else unset)
        return default or ""

    def _other(self, body: str, mistakes: list[_Mistake | None]) -> str:
        """Return the value of a reference that names no variable, or add to the mistakes."""
        if self._is_disabled and body.startswith(_READ):
            mistakes.append(None)  # not even asked for: a keyring may want a person to unlock it
            return ""
        from mcp_workbench.config.source.references import References, Unresolved  # noqa: PLC0415 - few files need it

        if self._references is None:
            self._references = References(self._environ, self._directory, self._lookup)
        if body.startswith("file:"):
            self.files.add(self._references.path_of(body.removeprefix("file:")))
        elif body.startswith(_READ):
            self.has_secrets = True
        try:
            resolved = self._references.resolve(body)
        except Unresolved as error:
            mistakes.append(None if self._is_disabled else (error.what, error.remedy))
            return ""
        if resolved.label:
            self.secrets[resolved.value] = resolved.label
        return resolved.value


def _program(entry: dict[str, object]) -> tuple[str, ...]:
    """Return what says which program an entry in our words runs."""
    args = entry.get("args")
    words = (entry.get("url") or entry.get("command"), *(args if isinstance(args, list) else ()))
    return tuple(word for word in words if isinstance(word, str))


def _without_defaults(text: str) -> str:
    """Return a text with every variable as `${VAR}`, whichever way it is written."""
    return _TOKEN.sub(lambda token: _reference(token[0]), text)


def _reference(text: str) -> str:
    return f"{text.replace('${env:', '${').partition(':-')[0].rstrip('}')}}}" if text.endswith("}") else "${"
