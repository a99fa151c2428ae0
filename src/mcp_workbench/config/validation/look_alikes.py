"""Warns of names that are easily confused: they differ by case, invisible characters or similar letters.

Owns which names look alike, and the warning about them. It changes no name, and all of them work.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_workbench.config.validation.problems import Place, Problems

MAX_CODE_POINTS: Final = 5
"""Unusual characters of a name that the warning lists with their code points, at most."""

_LIKE: Final = {
    "'": "\u02bc\u2018\u2019",
    "-": "\u02d7\u2010\u2012\u2013\u2014\u2015\u2212",
    "/": "\u2044\u2215",
    "4": "\u13ce",
    "A": "\u0391\u0410\u13aa",
    "B": "\u0392\u0412\u13f4",
    "C": "\u03f9\u0421\u13df",
    "D": "\u13a0",
    "E": "\u0395\u0415\u13ac",
    "G": "\u050c\u13c0",
    "H": "\u0397\u041d\u13bb",
    "I": "\u0399\u0406\u04c0",
    "J": "\u037f\u0408\u13ab",
    "K": "\u039a\u041a\u13e6",
    "L": "\u13de",
    "M": "\u039c\u041c\u13b7",
    "N": "\u039d",
    "O": "\u039f\u041e\u0555",
    "P": "\u03a1\u0420\u13e2",
    "Q": "\u051a",
    "R": "\u13a1\u13d2",
    "S": "\u0405\u13d5\u13da",
    "T": "\u03a4\u0422\u13a2",
    "U": "\u054d",
    "W": "\u051c\u13b3\u13d4",
    "X": "\u03a7\u0425",
    "Y": "\u03a5\u0423\u04ae\u13a9",
    "Z": "\u0396\u13c3",
    "a": "\u0251\u03b1\u0430",
    "c": "\u03f2\u0441",
    "d": "\u0501",
    "e": "\u0435",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0131\u0269\u03b9\u0456",
    "j": "\u0237\u03f3\u0458\u0575",
    "k": "\u03ba\u043a",
    "l": "\u04cf",
    "m": "\u043c",
    "n": "\u0578",
    "o": "\u03bf\u043e\u0585",
    "p": "\u03c1\u0440",
    "q": "\u051b",
    "s": "\u0455",
    "t": "\u0442",
    "u": "\u03c5\u057d",
    "v": "\u03bd",
    "w": "\u051d",
    "x": "\u0445",
    "y": "\u03b3\u0443\u04af",
}
"""Most letters of Unicode (UTS #39) that look like an ASCII character: Cyrillic, Greek, Armenian, Cherokee,
Latin. Letters that NFKC makes equal, such as full-width ones, are not needed here."""

_INVISIBLE_LETTERS: Final = (
    r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
"""Characters that Unicode counts as letters or marks, although they are invisible."""


def warn_of_look_alikes(names: Iterable[str], noun: str, place: Place, problems: Problems) -> None:
    """Warn of each name that looks like an earlier one; `place` is that of the object with the names."""
    seen: dict[tuple[str, str], str] = {}
    for name in names:
        forms = looks(name)
        other = next((seen[form] for form in forms if form in seen), None)
        for form in forms:
            seen.setdefault(form, name)
        if other is not None:
            alike = f"{_spelled(other, name)} and {_spelled(name, other)}"
            problems.warn((*place, name), f"the names of the {noun} {alike} look alike: rename one of them")


def as_latin(text: str) -> str:
    """Return the text with Latin letters and ASCII signs in place of those that look like them."""
    return text.translate(_table())


def has_invisible_letters(text: str) -> bool:
    """Whether a text that `str.isprintable` accepts still has invisible characters."""
    return _invisible_letters().search(text) is not None


@cache
def _invisible_letters() -> re.Pattern[str]:
    return re.compile(f"[{_INVISIBLE_LETTERS}]")


@cache
def _table() -> dict[int, str]:
    return {ord(letter): like for like, letters in _LIKE.items() for letter in letters}


def looks(name: str) -> tuple[tuple[str, str], ...]:
    """Return a name without case, and in Latin letters: names that look alike are equal in one of these."""
    if name.isascii() and name.isprintable():
        plain = _in_one_line(name.casefold())
        return ("folded", plain), ("latin", plain)
    import unicodedata  # noqa: PLC0415 - for few names, and start-up stays lean

    def fold(text: str) -> str:
        return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())

    visible = _invisible_letters().sub("", unicodedata.normalize("NFKC", name))
    # Controls and format characters are left out; line ends and tabs are spaces.
    visible = "".join(
        one for one in visible if one.isspace() or unicodedata.category(one) not in ("Cc", "Cf")
    )
    # Before and after folding: a capital may look like a Latin letter where the small one does not.
    latin = as_latin(fold(as_latin(visible)))
    return ("folded", _in_one_line(fold(visible))), ("latin", _in_one_line(latin))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _spelled(name: str, other: str) -> str:
    """Return a name in ASCII, with the code points of the characters that the other name lacks."""
    written = json.dumps(name)
    odd = [
        one for one in dict.fromkeys(name) if one not in other and not (one.isascii() and one.isprintable())
    ]
    if not odd:
        return written
    import unicodedata  # noqa: PLC0415 - as above

    points = [f"U+{ord(one):04X} {unicodedata.name(one, '')}".rstrip() for one in odd[:MAX_CODE_POINTS]]
    return f"{written} ({', '.join(points)})"
