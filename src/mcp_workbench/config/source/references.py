"""References other than to variables: secrets by name, secrets in files, and the words of editors.

Owns what `${keyring:NAME}`, `${input:ID}`, `${file:PATH}`, `${userHome}`, `${workspaceFolder}` and the like
stand for, and what is said where there is no value. The syntax is in `expand`, which imports this module for
the few files that have such a reference.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.places import home_directory
from mcp_workbench.config.source.small_files import UnusableFile, read_small_text, resolve_path
from mcp_workbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_workbench.config.source.expand import SecretLookup

WORKSPACE_VARIABLE: Final = "WORKSPACE_FOLDER"
"""The environment variable with the value of `${workspaceFolder}`."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SECRET: Final = re.compile(r"(?<!\$)\$\{(?:keyring|input):([A-Za-z_][A-Za-z0-9_.-]*)\}")


class Resolved(msgspec.Struct, frozen=True):
    """The value of a reference, and the label to show in its place; an empty label if it may be shown."""

    value: str
    label: str


class Unresolved(Exception):
    """A reference has no value: the problem and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def is_secret_name(text: str) -> bool:
    """Whether a text can be the name of a secret."""
    return _NAME.fullmatch(text) is not None


def secret_names_in(node: object) -> set[str]:
    """Return the names of the secrets that the strings of a tree refer to, keys included."""
    return set(_secret_names_in(node))


def _secret_names_in(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield from _SECRET.findall(node)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _secret_names_in(key)
            yield from _secret_names_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from _secret_names_in(item)


class References:
    """Finds the values of references, each once. Paths are relative to the directory of the file."""

    def __init__(self, environ: Mapping[str, str], directory: str, lookup: SecretLookup) -> None:
        self._environ = environ
        self._directory = directory
        self._lookup = lookup
        self._known: dict[str, Resolved | Unresolved] = {}

    def path_of(self, path: str) -> str:
        """Return the path of the file that `${file:PATH}` names."""
        return resolve_path(path, self._directory, self._environ)

    def resolve(self, body: str) -> Resolved:
        """Return the value of the reference with this text between the braces. Raises Unresolved."""
        outcome = self._known.get(body)
        if outcome is None:
            try:
                outcome = self._resolve(body)
            except Unresolved as error:
                outcome = error
            self._known[body] = outcome
        if isinstance(outcome, Unresolved):
            raise outcome
        return outcome

    def _resolve(self, body: str) -> Resolved:
        kind, colon, argument = body.partition(":")
        if not colon:
            return Resolved(_WORDS[kind](self._environ), "")
        if "${" in argument:
            what = f"${{{kind}:…}} holds another reference, which is not replaced"
            remedy = (
                "Write the path itself: ~ is the home directory." if kind == "file" else "Write the name."
            )
            raise Unresolved(what, remedy)
        return self._file(argument) if kind == "file" else self._secret(kind, argument)

    def _secret(self, kind: str, name: str) -> Resolved:
        if not is_secret_name(name):
            what = f"${{{kind}:…}} does not name a secret: names are made of letters, digits and . _ -"
            raise Unresolved(what, "Write ${keyring:NAME}, and set it: mcp-workbench secret set NAME")
        set_it = f"mcp-workbench secret set {name}"
        try:
            value = self._lookup(name)
        except StoreError as error:
            raise Unresolved(
                f"the secret {name} cannot be read: {error}",
                f"Unlock the keyring, and save the configuration file again. Or store it again: {set_it}",
            ) from None
        if value is None:
            raise Unresolved(f"there is no secret {name}", set_it)
        return Resolved(value, f"${{keyring:{name}}}")

    def _file(self, path: str) -> Resolved:
        if not path.strip():
            raise Unresolved("${file:} names no file", "Write for example ${file:~/.config/token}")
        try:
            text = read_small_text(self.path_of(path))
        except UnusableFile as error:
            raise Unresolved(f"${{file:{path}}}: {error.what}", error.remedy) from None
        # As a shell's `$(cat FILE)` does, but one line break only: more may be meant.
        value = text.removesuffix("\n")
        if len(value) < len(text):
            value = value.removesuffix("\r")
        return Resolved(value, f"${{file:{path}}}")


def _workspace_folder(environ: Mapping[str, str]) -> str:
    folder = environ.get(WORKSPACE_VARIABLE)
    if not folder:
        what = "${workspaceFolder} is the folder that an editor has open, and is not known here"
        raise Unresolved(what, f"export {WORKSPACE_VARIABLE}=/path/to/project    (or write the path itself)")
    return folder


def _workspace_name(environ: Mapping[str, str]) -> str:
    return os.path.basename(os.path.normpath(_workspace_folder(environ)))


def _separator(_environ: Mapping[str, str]) -> str:
    return os.sep


_WORDS: Final[dict[str, Callable[[Mapping[str, str]], str]]] = {
    "userHome": home_directory,
    "workspaceFolder": _workspace_folder,
    "workspaceRoot": _workspace_folder,
    "workspaceFolderBasename": _workspace_name,
    "pathSeparator": _separator,
    "/": _separator,
}
"""The words that editors replace, each with the function that returns its value."""
