"""Which of some names a mistyped name may stand for. Case, `-`, `_` and camelCase make no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SIMILAR_NAMES: Final = 3
"""Similar names that an error suggests."""

MAX_NAME_CHARACTERS: Final = 500
"""Length of the longest name that is compared: a client may send megabytes."""
MAX_COMPARED_NAMES: Final = 5000
"""Names that are compared for one call, at most. Each takes some 10 µs of the event loop."""

_SEPARATORS: Final = str.maketrans("", "", "-_. /:")


def fold_name(name: str) -> str:
    """Return the name without case and separators, so that `GIT_STATUS` and `gitStatus` are the same."""
    return name.translate(_SEPARATORS).casefold() or name


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that a mistyped name may stand for: the same but for its form, else similar ones."""
    if len(name) > MAX_NAME_CHARACTERS:
        return []
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(fold_name(candidate), []).append(candidate)
    wanted = fold_name(name)
    if (same := folded.get(wanted)) is not None:
        return same[:MAX_SIMILAR_NAMES]
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for mistyped names

    near = get_close_matches(wanted, folded, n=MAX_SIMILAR_NAMES)
    return [candidate for form in near for candidate in folded[form]][:MAX_SIMILAR_NAMES]
