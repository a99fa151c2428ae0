"""Which of some names a mistyped name may stand for. Case, `-`, `_` and camelCase make no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SIMILAR_NAMES: Final = 3
"""Similar names that an error suggests."""

_SEPARATORS: Final = str.maketrans("", "", "-_. /:")


def fold_name(name: str) -> str:
    """Return the name without case and separators, so that `GIT_STATUS` and `gitStatus` are the same."""
    return name.translate(_SEPARATORS).casefold() or name


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that a mistyped name may stand for: the same but for its form, else similar ones."""
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(fold_name(candidate), []).append(candidate)
    wanted = fold_name(name)
    if (same := folded.get(wanted)) is not None:
        return same[:MAX_SIMILAR_NAMES]
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for mistyped names

    near = get_close_matches(wanted, folded, n=MAX_SIMILAR_NAMES)
    return [candidate for form in near for candidate in folded[form]][:MAX_SIMILAR_NAMES]
