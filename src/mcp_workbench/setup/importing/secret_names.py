"""Gives names to the secrets of imported entries, under which they are stored and referred to.

A name never stands for two secrets: a server must not get the secret of another one.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Final, cast

import msgspec

from mcp_workbench.config.masking.recognition import find_secrets, replace_secrets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.setup.importing.merging import Newcomer

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

    def replace(self, newcomer: Newcomer) -> Newcomer:
        """Return the server with its literal secrets replaced by references. Raises StoreError."""
        names = {}
        for secret in find_secrets(newcomer.entry):
            place = f"{newcomer.name}: {' '.join(map(str, secret.place))}"
            names[secret.value] = self._name_of(secret.value, secret.suggested_name, newcomer.name, place)
        return msgspec.structs.replace(newcomer, entry=replace_secrets(newcomer.entry, names))

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


class InputNames:
    """Gives names to secrets that no file has, and that a person is asked for.

    Clients ask for them by an id that is unique in one file only.
    """

    def __init__(self, lookup: SecretLookup, reserved: Collection[str]) -> None:
        """Take the stored secrets, and the names that servers of the configuration refer to."""
        self._lookup = lookup
        self._reserved = frozenset(reserved)
        self._names: dict[tuple[str, str], str] = {}
        self.questions: dict[str, str] = {}
        """The names that the store has no value for, each with the question for it."""

    def settle(self, newcomer: Newcomer) -> Newcomer:
        """Return the server with references to names that are its own. Raises StoreError."""
        names = {wanted: self._name_of(wanted, newcomer) for wanted in newcomer.inputs}
        for wanted, name in names.items():
            if self._lookup(name) is None:
                self.questions[name] = newcomer.inputs[wanted]
        entry = cast("dict[str, object]", _renamed(newcomer.entry, names))
        return msgspec.structs.replace(newcomer, entry=entry)

    def _name_of(self, wanted: str, newcomer: Newcomer) -> str:
        key = (newcomer.file, wanted)
        if key not in self._names:
            taken = {*self._names.values(), *self._reserved}
            free = (name for name in _names(wanted, newcomer.name, is_clear=True) if name not in taken)
            # A file that came with a project may ask for a name to get at the secret of another server.
            self._names[key] = next(
                name
                for name in free
                if self._lookup(name) is None or (name == wanted and not newcomer.project)
            )
        return self._names[key]


def _renamed(node: object, names: Mapping[str, str]) -> object:
    """Return a tree with other names in its references to secrets."""
    if isinstance(node, dict):
        return {key: _renamed(value, names) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(item, names) for item in node]
    if not isinstance(node, str) or not names:
        return node
    pattern = r"(?<!\$)\$\{keyring:(" + "|".join(map(re.escape, names)) + r")\}"
    return re.sub(pattern, lambda found: f"${{keyring:{names[found[1]]}}}", node)


def _names(suggested: str, server: str, *, is_clear: bool = False) -> Iterator[str]:
    """Yield the names that a secret may get, best first; with `is_clear` the suggested one says enough."""
    word = re.sub(r"[^A-Z0-9]+", "_", server.upper()).strip("_")
    prefixed = f"{'_' if word[:1].isdigit() else ''}{word}_{suggested}" if word else suggested
    if is_clear or suggested not in _GENERAL_NAMES:
        yield suggested
    yield prefixed
    for number in count(2):
        yield f"{prefixed}_{number}"
