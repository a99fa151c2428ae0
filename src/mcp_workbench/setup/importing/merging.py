"""Merges the servers that several clients have, with each other and with those of the configuration.

Nothing is widened and nothing is lost: servers that differ in what they are, or in what they are limited to,
stay apart under different names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.masking.token_shapes import known_tokens
from mcp_workbench.setup.importing.grouping import free_name
from mcp_workbench.setup.importing.identity import LOCAL, NO_LIMITS, TUNING, limits_of
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MAX_NAME_CHARACTERS: Final = 64
"""Length of the longest name that is taken over from a client."""

_UNKNOWN_REFERENCE: Final = r"\\\$\\\{keyring:[^}\"]*\\\}"
"""Pattern of a reference without a value, in a text that `re.escape` has made."""
_ANY_TEXT: Final = r'(?:[^"\\]|\\.)*'
"""Pattern of the rest of a JSON string."""
_MERGED_LATER: Final = frozenset((*TUNING, "disabled"))


class Candidate(msgspec.Struct, frozen=True):
    """A server of a client, in the words of the configuration, that is to be imported."""

    name: str
    entry: dict[str, object]
    identity: str
    ending: str
    """What tells it from another server of the same name: the id of the client."""
    secrets: int = 0
    """Number of literal secrets in the entry. Of equal entries the one with the fewest is taken."""
    project: str = ""
    file: str = ""
    """The path of the client's file."""
    inputs: dict[str, str] = {}
    """Names of secrets that the entry refers to and no file has, each with the question for its value."""


class KnownServer(msgspec.Struct, frozen=True):
    """A server that the configuration has already. `identity` is empty if it cannot be compared."""

    toolbox: str
    name: str
    entry: dict[str, object]
    identity: str
    missing: tuple[str, ...] = ()
    """What the server needs before it can start: variables and secrets without a value."""


class Newcomer(msgspec.Struct, frozen=True):
    """A server that the import adds, merged from one or more candidates."""

    name: str
    entry: dict[str, object]
    project: str = ""
    file: str = ""
    inputs: dict[str, str] = {}


class Fate(msgspec.Struct, frozen=True):
    """What becomes of one candidate: the configuration has it already, or it becomes a newcomer."""

    becomes: KnownServer | int
    """The server of the configuration, or the index of the newcomer."""
    is_first: bool
    """Whether the newcomer gets its name from this candidate."""
    notes: tuple[str, ...]


class Merged(msgspec.Struct, frozen=True):
    """The servers to add, and what becomes of each candidate."""

    newcomers: list[Newcomer]
    fates: list[Fate]


def merge(candidates: Sequence[Candidate], known: Sequence[KnownServer]) -> Merged:
    """Return the servers to add, and what becomes of each candidate, in the order of the candidates."""
    groups: list[list[Candidate]] = []
    fates: list[Fate] = []
    for candidate in candidates:
        if same := _known_as(candidate, known):
            fates.append(Fate(same, is_first=False, notes=_differences(candidate, same)))
            continue
        index = next((at for at, group in enumerate(groups) if _are_equal(group[0], candidate)), len(groups))
        if index == len(groups):
            groups.append([])
        groups[index].append(candidate)
        fates.append(Fate(index, is_first=len(groups[index]) == 1, notes=()))
    taken = {server.name for server in known}
    newcomers: list[Newcomer] = []
    for group in groups:
        newcomers.append(_newcomer(group, taken))
        taken.add(newcomers[-1].name)
    return Merged(newcomers, [_with_notes(fate, candidates[at], groups) for at, fate in enumerate(fates)])


def usable_name(name: str, secrets: Collection[str] = ()) -> str:
    """Return the name of a client's server as people and models can write it: the last part of a path.

    `secrets` are values that must not be shown: a name that has one in it is replaced.
    """
    cleaned = " ".join(clean_text(name).replace("${", "").split())
    # Some clients call a server by the address of its source.
    last = re.split(r"[\\/]", cleaned.rstrip("\\/"))[-1].strip()[:MAX_NAME_CHARACTERS].strip()
    is_secret = any(known_tokens(last)) or any(secret in last for secret in secrets)
    return "server" if not last or is_secret else last


def _are_equal(one: Candidate, other: Candidate) -> bool:
    return (
        one.identity == other.identity
        and limits_of(one.entry) == limits_of(other.entry)
        and all(one.entry.get(key) == other.entry.get(key) for key in LOCAL)
    )


def _known_as(candidate: Candidate, known: Sequence[KnownServer]) -> KnownServer | None:
    # All else a person may have changed since; without its variables it is another server.
    inherited = candidate.entry.get("inheritEnv")
    same = [
        server
        for server in known
        if _has_identity(server, candidate) and inherited in (None, server.entry.get("inheritEnv"))
    ]
    if not same:
        return None

    def difference(server: KnownServer) -> tuple[bool, bool]:
        return limits_of(server.entry) != limits_of(candidate.entry), server.name != candidate.name

    return min(same, key=difference)


def _has_identity(server: KnownServer, candidate: Candidate) -> bool:
    if not server.identity or server.identity == candidate.identity:
        return bool(server.identity)
    if server.name not in (candidate.name, f"{candidate.name}-{candidate.ending}"):
        return False
    # Imported before, and a secret of it is not to be found now, or only a person knows it: whatever the
    # other one has in its place is the same.
    return _matches(server.identity, candidate.identity) or _matches(candidate.identity, server.identity)


def _matches(identity: str, other: str) -> bool:
    """Whether the other identity is the same, but for the values of references that have none here."""
    pattern = re.sub(_UNKNOWN_REFERENCE, lambda _: _ANY_TEXT, re.escape(identity))
    return re.fullmatch(pattern, other) is not None


def _differences(candidate: Candidate, known: KnownServer) -> tuple[str, ...]:
    notes = list(known.missing)
    where = f"{known.toolbox}/{known.name}"
    if limits_of(candidate.entry) not in (limits_of(known.entry), NO_LIMITS):
        notes.append(f'the client limits its tools more than {where} does: see "toolFilters"')
    if known.entry.get("disabled") is True and candidate.entry.get("disabled") is not True:
        notes.append(f"{where} is disabled: mcp-workbench enable {known.name}")
    elif candidate.entry.get("disabled") is True and known.entry.get("disabled") is not True:
        notes.append(f"the client has it disabled, and {where} is enabled")
    return tuple(notes)


def _newcomer(group: Sequence[Candidate], taken: Collection[str]) -> Newcomer:
    best = min(group, key=lambda candidate: candidate.secrets)
    entry = {key: value for key, value in best.entry.items() if key not in _MERGED_LATER}
    for key in sorted(TUNING):
        if seconds := _longest([candidate.entry.get(key) for candidate in group]):
            entry[key] = seconds
    if all(candidate.entry.get("disabled") is True for candidate in group):
        entry["disabled"] = True
    first = group[0]
    name = free_name(first.name, taken, endings=(first.ending,) if first.ending else ())
    # A server that a client has for all projects is not one of this project.
    project = "" if any(not candidate.project for candidate in group) else first.project
    return Newcomer(name, entry, project, best.file, best.inputs)


def _longest(values: Sequence[object]) -> float | None:
    numbers = [value for value in values if isinstance(value, int | float)]
    return max(numbers, default=None)


def _with_notes(fate: Fate, candidate: Candidate, groups: Sequence[Sequence[Candidate]]) -> Fate:
    if isinstance(fate.becomes, KnownServer) or candidate.entry.get("disabled") is not True:
        return fate
    if all(other.entry.get("disabled") is True for other in groups[fate.becomes]):
        return msgspec.structs.replace(fate, notes=("disabled, as in the client",))
    return msgspec.structs.replace(fate, notes=("disabled in this client, enabled in another: enabled",))
