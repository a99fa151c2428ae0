"""Hides the secrets of a client's file in a preview of its change.

A file may hold values that only its owner should see on a screen: everything under `env` and `headers`,
values whose key or form is that of a secret, and passwords in addresses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp_workbench.config.documents import open_document
from mcp_workbench.config.masking.recognition import is_literal_secret, secrets_in_argument
from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME, credentials_in_url
from mcp_workbench.config.masking.secrets import MIN_SECRET_CHARACTERS, Secrets
from mcp_workbench.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.config.documents import Format

_SECRET_OBJECTS: Final = frozenset(
    ("env", "environment", "envs", "headers", "http_headers", "requestInit", "auth", "oauth")
)
_HIDDEN: Final = "(hidden: the file cannot be parsed, so its secrets are not known)"
_DIFF_HEADERS: Final = ("--- ", "+++ ", "@@ ")


def mask_of(
    format_: Format, *contents: bytes | None, is_public: Callable[[object], bool] = lambda _: False
) -> Callable[[str], str]:
    """Return a function that masks the secrets of a file in one line of a diff.

    `is_public` says of an object in the file whether its values are to be shown, such as our own entry. If
    the file cannot be parsed, the lines of the diff are hidden.
    """
    collector = _Collector(is_public)
    for content in contents:
        try:
            collector.visit("", open_document(format_, content or b"").data)
        except DocumentError:
            return _hide
    return collector.mask()


def _hide(line: str) -> str:
    return line if line.startswith(_DIFF_HEADERS) else f"{line[:1]}{_HIDDEN}"


class _Collector:
    """Collects the secrets of a tree, with the labels that stand in their place."""

    def __init__(self, is_public: Callable[[object], bool]) -> None:
        self._is_public = is_public
        self._labels: dict[str, str] = {}
        self._short: dict[tuple[str, str], str] = {}
        """Labels of values too short to be masked wherever they stand, by key and value."""

    def visit(self, key: str, node: object) -> None:
        """Collect the secrets in a value that stands under a key."""
        if isinstance(node, dict):
            if self._is_public(node):
                return
            for name, value in node.items():
                if name in _SECRET_OBJECTS or (re.search(SENSITIVE_NAME, name) and isinstance(value, dict)):
                    self._add_all(name, value)
                else:
                    self.visit(name, value)
        elif isinstance(node, list):
            for item in node:
                self.visit(key, item)
                if isinstance(item, str):
                    self._labels |= dict.fromkeys(secrets_in_argument(item), "<secret>")
        elif isinstance(node, str):
            if re.search(SENSITIVE_NAME, key) or is_literal_secret(key, node):
                self._add(key, node)
            self._labels |= dict.fromkeys(credentials_in_url(node), "<secret>")

    def mask(self) -> Callable[[str], str]:
        secrets = Secrets(self._labels)
        short = [
            (re.compile(rf"({re.escape(key)}[\"']?\s*[:=]\s*[\"']?){re.escape(value)}(?!\w)"), label)
            for (key, value), label in self._short.items()
        ]

        def mask(line: str) -> str:
            for pattern, label in short:
                line = pattern.sub(lambda found, label=label: f"{found[1]}{label}", line)  # type: ignore[misc]
            return secrets.mask(line)

        return mask

    def _add_all(self, key: str, node: object) -> None:
        if isinstance(node, dict):
            for name, value in node.items():
                self._add_all(name, value)
        elif isinstance(node, list):
            for item in node:
                self._add_all(key, item)
        elif node is not None and not isinstance(node, bool):
            self._add(key, str(node))

    def _add(self, key: str, value: str) -> None:
        label = f"<{key}>"
        if len(value) >= MIN_SECRET_CHARACTERS:
            self._labels[value] = label
        elif value:
            self._short[key, value] = label
