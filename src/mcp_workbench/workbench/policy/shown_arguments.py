"""Shows the arguments of a call to the person who has to approve it, in a few lines of limited length.

Secrets are masked before anything is cut, because half a secret is not recognised. What is left out is
counted, and the person is told: a call must not hide what it does behind arguments that nobody reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.config.masking.in_text import MASKED, mask_in_text
from mcp_workbench.config.masking.recognition import find_secrets, is_always_secret
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MAX_ARGUMENTS: Final = 30
"""Arguments that are shown with their values, of one call. The others are named."""
MAX_LINE_CHARACTERS: Final = 240
MAX_TAIL_CHARACTERS: Final = 60
"""Characters at the end of a long line that stay. The end of a command counts as much as its beginning."""
MAX_KEY_CHARACTERS: Final = 80
"""Length of a name. Without a limit it would fill the line, and hide the value."""
MAX_HEAD_CHARACTERS: Final = 2000
"""Characters of a text that are kept after masking, at its beginning."""
MAX_END_CHARACTERS: Final = 400
"""Characters of a text that are kept after masking, at its end."""
SEARCHED_CHARACTERS: Final = 16 * 1024
"""Characters that are searched for secrets at each end of a long text: more than the longest secret has."""
MAX_SEARCHED_CHARACTERS: Final = 40 * 1024
"""Characters of one argument that are searched for secrets. More would take long, and is not shown."""
MAX_ITEMS: Final = 50
"""Members of an object or a list that are looked at."""
MAX_LEVELS: Final = 8
"""Levels of nested values that are looked at."""
HIDDEN: Final = "not shown here: allow this only if you trust the caller."

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")


def shown_arguments(arguments: Any, mask: Callable[[str], str], known: Collection[str] = ()) -> list[str]:
    """Return the lines about the arguments of a call. Those that are `known` to its tool come first."""
    if not isinstance(arguments, dict) or not arguments:
        return ["Arguments: none"] if arguments == {} else shown_arguments({"value": arguments}, mask)
    names = sorted(arguments, key=lambda name: name not in known)
    excerpt = _Excerpt(mask)
    shown = excerpt.of({name: arguments[name] for name in names[:MAX_ARGUMENTS]})
    lines = ["Arguments:"]
    for name, value in _without_secrets(shown).items():
        lines.append(one_line(whole := f"  {_label(name)}: {_json(value)}"))
        excerpt.is_cut |= lines[-1] != show_name(whole)
    others = names[MAX_ARGUMENTS:]
    if others:
        listed = ", ".join(_label(excerpt.name(name)) for name in others[:MAX_ITEMS])
        lines.append(one_line(f"  and {len(others):,} more: {listed}"))
    if others:
        noun = "argument" if len(others) == 1 else "arguments"
        parts = " and parts of others are" if excerpt.is_cut else " is" if len(others) == 1 else " are"
        lines.append(f"{len(others):,} {noun}{parts} {HIDDEN}")
    elif excerpt.is_cut:
        lines.append(f"Parts of the arguments are {HIDDEN}")
    return lines


def one_line(text: str) -> str:
    """Return a text as one line without hidden characters, with its middle left out if it is long."""
    line = show_name(text)
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    head = line[: MAX_LINE_CHARACTERS - MAX_TAIL_CHARACTERS].rstrip()
    omitted = len(line) - len(head) - MAX_TAIL_CHARACTERS
    return f"{head} … {omitted:,} characters … {line[-MAX_TAIL_CHARACTERS:]}"


class _Excerpt:
    """Takes as much of the arguments of one call as can be shown, and masks secrets in it."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._left = MAX_SEARCHED_CHARACTERS
        self.is_cut = False
        """Whether something was left out."""

    def of(self, value: Any, level: int = -1) -> Any:
        """Return a value of limited size without the secrets in its texts and numbers."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (dict, list)) and level >= MAX_LEVELS:
            self.is_cut = True
            return "…"
        if isinstance(value, dict):
            return self._members(value, level)
        if isinstance(value, list):
            items = [self.of(item, level + 1) for item in value[:MAX_ITEMS]]
            if len(value) > MAX_ITEMS:
                self.is_cut = True
                items.append(f"… {len(value) - MAX_ITEMS:,} more")
            return items
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            masked = self._mask(plain := _json(value))
            return value if masked == plain else masked
        return value

    def name(self, key: str) -> str:
        """Return a name of limited length without secrets."""
        name = self._text(key)
        if len(name) > MAX_KEY_CHARACTERS:
            self.is_cut = True
            name = f"{name[:MAX_KEY_CHARACTERS]}… ({len(key):,} characters)"
        return name

    def _members(self, value: dict[str, Any], level: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key in list(value)[:MAX_ITEMS]:
            if level < 0:  # an argument: long ones must not use up what another needs
                self._left = MAX_SEARCHED_CHARACTERS
            item = value[key]
            name = self.name(key)
            while name in kept:  # two names may differ in what is masked or cut only
                name += "'"
            if _is_reference(key, item):
                kept[name] = self._mask(item)
            else:
                kept[name] = MASKED if _is_secret(key, item) else self.of(item, level + 1)
        if len(value) > MAX_ITEMS:
            self.is_cut = True
            kept["…"] = f"{len(value) - MAX_ITEMS:,} more"
        return kept

    def _text(self, text: str) -> str:
        searched, gap = text, ""
        if len(text) > 2 * SEARCHED_CHARACTERS:
            gap = f"\n… {len(text) - 2 * SEARCHED_CHARACTERS:,} characters …\n"
            searched = f"{text[:SEARCHED_CHARACTERS]}{gap}{text[-SEARCHED_CHARACTERS:]}"
        self._left -= len(searched)
        if self._left < 0:  # to search for secrets in more would take long
            self.is_cut = True
            return f"… {len(text):,} characters …"
        masked = mask_in_text(self._mask(searched))
        if len(text) <= MAX_HEAD_CHARACTERS + MAX_END_CHARACTERS:
            return masked
        if gap and (at := masked.find(gap)) >= 0:
            # Halves of secrets can stand beside the gap. They must be far from what is shown.
            after = len(masked) - masked.rfind(gap)
            if at < SEARCHED_CHARACTERS // 2 or after < SEARCHED_CHARACTERS // 2:
                self.is_cut = True
                return MASKED
        if len(masked) <= MAX_HEAD_CHARACTERS + MAX_END_CHARACTERS:
            return masked
        self.is_cut = True
        omitted = max(len(text), len(masked)) - MAX_HEAD_CHARACTERS - MAX_END_CHARACTERS
        return f"{masked[:MAX_HEAD_CHARACTERS]} … {omitted:,} characters … {masked[-MAX_END_CHARACTERS:]}"


def _is_reference(key: str | int, value: Any) -> bool:
    """Whether a value is the handle of a kept result: it looks random, and says which result is sent."""
    if key != "$result" or not isinstance(value, str):
        return False
    from mcp_workbench.workbench.kept.client_results import is_handle  # noqa: PLC0415 - few calls have one

    return is_handle(value)


def _is_secret(key: str, value: Any) -> bool:
    """Whether the name of a value says that it is a secret, or a list of them."""
    if not value or isinstance(value, bool):
        return False
    return is_always_secret(key) or (isinstance(value, list) and is_always_secret(key.removesuffix("s")))


def _without_secrets(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without the values that their names, their neighbours or their looks betray."""
    by_place: dict[tuple[str | int, ...], list[str]] = {}
    for secret in find_secrets(arguments):
        by_place.setdefault(secret.place, []).append(secret.value)

    def masked(value: Any, place: tuple[str | int, ...]) -> Any:
        if isinstance(value, str):
            if _is_reference(place[-1], value):
                return value
            for secret in sorted(by_place.get(place, ()), key=len, reverse=True):
                value = value.replace(secret, MASKED)
            return value
        if isinstance(value, dict):
            return {key: masked(item, (*place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [masked(item, (*place, at)) for at, item in enumerate(value)]
        return value

    found: dict[str, Any] = masked(arguments, ())
    return found


def _label(name: str) -> str:
    """Return a name, in quotes if it could look like another argument with its value."""
    return name if _PLAIN_NAME.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    from json import dumps  # noqa: PLC0415 - msgspec refuses lone surrogates, which a client may send

    return dumps(value, ensure_ascii=False)
