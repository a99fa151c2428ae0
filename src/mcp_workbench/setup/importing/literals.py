"""Gives names to the literal secrets of imported entries, under which they are stored and referred to."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.masking.recognition import find_secrets, replace_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mcp_workbench.config.source.expand import SecretLookup

_GENERAL_NAMES: Final = frozenset(
    ("ACCESS_TOKEN", "API_KEY", "API_TOKEN", "AUTH", "AUTHORIZATION", "AUTH_TOKEN", "KEY", "PASSWORD")
) | frozenset(("SECRET", "TOKEN", "X_API_KEY"))
"""Names that say nothing without the name of the server."""


class NewSecret(msgspec.Struct, frozen=True):
    """A literal secret of one or more entries that is to be stored under a name."""

    name: str
    value: str
    places: tuple[str, ...]
    """Where it was found, as people read it: server and key, never the value."""
    is_stored: bool
    """Whether the store has the same value under this name already."""


class SecretNames:
    """Gives names to literal secrets: equal values share a name, and no name stands for two values."""

    def __init__(self, lookup: SecretLookup, reserved: Collection[str]) -> None:
        """Take the stored secrets, and the names that something else refers to."""
        self._lookup = lookup
        self._reserved = frozenset(reserved)
        self._by_value: dict[str, NewSecret] = {}

    @property
    def secrets(self) -> tuple[NewSecret, ...]:
        """The secrets that have a name by now."""
        return tuple(self._by_value.values())

    def replace(self, server: str, entry: Mapping[str, object]) -> dict[str, object]:
        """Return the entry with its literal secrets replaced by references. Raises StoreError."""
        names = {}
        for secret in find_secrets(entry):
            place = f"{server}: {' '.join(map(str, secret.place))}"
            names[secret.value] = self._name_of(secret.value, secret.suggested_name, server, place)
        return replace_secrets(entry, names)

    def _name_of(self, value: str, suggested: str, server: str, place: str) -> str:
        known = self._by_value.get(value)
        if known is None:
            taken = {secret.name for secret in self._by_value.values()}
            free = (name for name in _names(suggested, server) if name not in taken)
            name, is_stored = next(
                (name, fits) for name in free if (fits := self._has(name, value)) is not None
            )
            known = NewSecret(name, value, (), is_stored)
        self._by_value[value] = msgspec.structs.replace(known, places=(*known.places, place))
        return known.name

    def _has(self, name: str, value: str) -> bool | None:
        """Whether the store has this value under the name; None if the name stands for something else."""
        stored = self._lookup(name)
        if stored is None:
            # A server of the file waits for a secret of this name, and must not get another one's.
            return None if name in self._reserved else False
        return True if stored == value else None


def _names(suggested: str, server: str) -> Iterator[str]:
    """Yield the names that a secret may get, best first."""
    word = re.sub(r"[^A-Z0-9]+", "_", server.upper()).strip("_")
    prefixed = f"{'_' if word[:1].isdigit() else ''}{word}_{suggested}" if word else suggested
    if suggested not in _GENERAL_NAMES:
        yield suggested
    yield prefixed
    for number in count(2):
        yield f"{prefixed}_{number}"
