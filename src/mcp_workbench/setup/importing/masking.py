"""Hides the secrets of server entries in texts for people, such as the diff of an import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.config.masking.secret_values import is_plain
from mcp_workbench.config.masking.secrets import MIN_SECRET_CHARACTERS, Secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LABEL = "<secret>"


class ShownText:
    """Masks the secrets of some entries. References to secrets stay readable, and so do plain settings."""

    def __init__(self, entries: Iterable[Mapping[str, object]]) -> None:
        """Collect the secrets of the entries, which may be in the words of any client."""
        values: set[str] = set()
        for entry in entries:
            values.update(_settings(entry))
            values.update(secret.value for secret in find_secrets(entry))
        self._secrets = Secrets(dict.fromkeys(values, _LABEL))
        self._short = sorted(value for value in values if 0 < len(value) < MIN_SECRET_CHARACTERS)

    def mask(self, text: str) -> str:
        """Return the text with each secret replaced."""
        masked = self._secrets.mask(text)
        for value in self._short:
            masked = masked.replace(value, _LABEL)
        return masked


def _settings(entry: Mapping[str, object]) -> Iterator[str]:
    """Yield the literal values that stand under a name in an entry, and are no plain settings."""
    for settings in entry.values():
        for name, value in settings.items() if isinstance(settings, dict) else ():
            if isinstance(value, str) and "${" not in value and not is_plain(f"<env {name}>", value):
                yield value
