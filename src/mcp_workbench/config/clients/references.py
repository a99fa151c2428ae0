"""Converts the references in an entry, such as `${env:X}` or `{env:X}`, into our own.

Owns the syntax of each client, as a table of patterns. What cannot be looked up here is a refusal. Text that
is no reference for the client is escaped, so that it is none for us either.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcp_workbench.config.entries.translate import is_variable, reference_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.config.clients.found import FileContext
    from mcp_workbench.config.clients.machine import Machine
    from mcp_workbench.config.clients.model import References

_PATTERNS: dict[References, re.Pattern[str]] = {
    "none": re.compile(r"\$\{"),
    "shell": re.compile(r"\$\{(?P<shell>[^}]+)\}|\$\{"),
    "dollar": re.compile(r"\$\{(?P<shell>[^}]+)\}|\$(?P<bare>[A-Za-z_]\w*)|\$\{"),
    "command": re.compile(r"(?P<program>\$\(|`)|\$\{(?P<shell>[^}]+)\}|\$(?P<bare>[A-Za-z_]\w*)|\$\{"),
    "editor": re.compile(r"\$\{(?P<editor>[^}]+)\}|\$\{"),
    "opencode": re.compile(r"\{env:(?P<env>[^}]+)\}|\{file:(?P<file>[^}]+)\}|\$\{(?!env:|file:)"),
    "continue": re.compile(r"\$\{\{\s*(?:secrets|inputs)\.(?P<secret>[\w.-]+)\s*\}\}|(?P<other>\$\{\{)|\$\{"),
}
_NOT_IN_A_SECRET = re.compile(r"[^A-Za-z0-9_.-]+")
_FOLDERS = ("workspaceFolder", "workspaceRoot")


class ReferenceConverter:
    """Converts the texts of one entry, and collects what a person has to be asked or told."""

    def __init__(self, context: FileContext, machine: Machine, directory: str) -> None:
        self._context = context
        self._machine = machine
        self._directory = directory
        """The directory of the file, which relative paths of files are relative to."""
        self.known: dict[str, str] = {}
        """Variables that the entry itself gives a value: what to write in place of a reference to them."""
        self.inputs: dict[str, str] = {}
        self.refusals: list[str] = []
        self.notes: list[str] = []

    def tree(self, node: object, style: References, special: Mapping[str, References]) -> object:
        """Return a value with its references converted; `special` has the styles under certain keys."""
        if style == "ours" and not special:
            return node
        if isinstance(node, str):
            return self.text(node, style)
        if isinstance(node, list):
            return [self.tree(item, style, {}) for item in node]
        if isinstance(node, dict):
            return {
                self.text(key, "none"): self.tree(value, special.get(key, style), {})
                for key, value in node.items()
            }
        return node

    def text(self, text: str, style: References) -> str:
        """Return a text with its references converted, and everything else escaped."""
        if style == "ours" or not ("$" in text or "{" in text or "`" in text):
            return text
        converted: list[str] = []
        end = 0
        for token in _PATTERNS[style].finditer(text):
            converted.append(text[end : token.start()])
            written = self._written(token)
            if written.startswith("${") and converted[-1].endswith("$"):
                self.refusals.append('a "$" directly before a reference cannot be written here')
            converted.append(written)
            end = token.end()
        return "".join((*converted, text[end:]))

    def secret(self, name: str, prompt: str) -> str:
        """Return a reference to a secret that the person will be asked for."""
        safe = _NOT_IN_A_SECRET.sub("-", name)
        if not re.match(r"[A-Za-z_]", safe):
            safe = f"_{safe}"
        self.inputs[safe] = prompt
        return f"${{keyring:{safe}}}"

    def _written(self, token: re.Match[str]) -> str:
        kind, body = token.lastgroup, token[token.lastgroup] if token.lastgroup else ""
        if kind is None:
            return _literal(token[0])
        handlers: dict[str, Callable[[str, str], str]] = {
            "shell": self._variable,
            "bare": self._bare,
            "env": self._environment,
            "editor": self._editor,
            "file": self._file,
            "secret": lambda _whole, name: self.secret(name, name),
            "program": self._program,
            "other": self._unknown,
        }
        return handlers[kind](token[0], body)

    def _variable(self, whole: str, body: str) -> str:
        name, has_default, default = body.partition(":-")
        if not is_variable(name):
            return _literal(whole)
        if name in self.known:
            return self.known[name]
        reference = reference_to(name)
        return f"{reference[:-1]}:-{default}}}" if has_default else reference

    def _bare(self, whole: str, name: str) -> str:
        # A password may hold a `$` too: the clients leave a variable as it is that is not set.
        is_meant = name in self.known or name.isupper() or name in self._machine.environ
        return self._variable(whole, name) if is_meant else whole

    def _environment(self, whole: str, name: str) -> str:
        return reference_to(name) if is_variable(name) else _literal(whole)

    def _editor(self, whole: str, body: str) -> str:
        kind, colon, rest = body.partition(":")
        if colon:
            named = {"env": self._environment, "input": self._input, "file": self._file}
            if kind in named:
                return named[kind](whole, rest)
            if kind in ("command", "config", *_FOLDERS):
                return self._unknown(whole, body)
            return _literal(whole)
        return self._place(whole, body)

    def _place(self, whole: str, word: str) -> str:
        project = self._context.project
        if word == "userHome":
            return _literal(self._machine.home)
        if word in ("pathSeparator", "/"):
            return os.sep
        if word in _FOLDERS:
            return _literal(project) if project else "${workspaceFolder}"
        if word == "workspaceFolderBasename":
            return _literal(os.path.basename(project)) if project else self._unknown(whole, word)
        return _literal(whole)

    def _input(self, _whole: str, name: str) -> str:
        described = self._context.inputs.get(name)
        if described is not None and described.default is not None:
            self.notes.append(f"is not asked for, and has its default value: {described.prompt}")
            return _literal(described.default)
        return self.secret(name, described.prompt if described is not None else name)

    def _file(self, _whole: str, path: str) -> str:
        if path.startswith("~/"):
            path = f"{self._machine.home}{path[1:]}"
        return f"${{file:{os.path.normpath(os.path.join(self._directory, path))}}}"

    def _program(self, _whole: str, _body: str) -> str:
        self.refusals.append("has the output of a command in it, $(…): write the value, or a variable")
        return _literal(_whole)

    def _unknown(self, whole: str, body: str) -> str:
        shown = body if re.fullmatch(r"[\w:.-]{1,64}", body) else "…"
        self.refusals.append(f"needs ${{{shown}}}, which only the client itself knows")
        return _literal(whole)


def _literal(text: str) -> str:
    return text.replace("${", "$${")
