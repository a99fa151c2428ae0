"""Estimates the tokens of a text, with one formula wherever tokens are counted.

Uses no tokenizer: every model has its own, and loading one would slow the start.
docs/decisions/0022-token-estimate.md says how the weights were found and how accurate they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["estimate_tokens"]

_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
_UPPER: Final = _LOWER.upper()
_DIGITS: Final = b"0123456789"
_PUNCTUATION: Final = bytes(set(range(0x21, 0x7F)) - {*_LOWER, *_UPPER, *_DIGITS})
_BREAKS: Final = b"\t\n\r"
_BEYOND_ASCII: Final = bytes(range(0x80, 0x100))


def _shows(marks: Mapping[bytes, bytes]) -> bytes:
    """Return a translation table: one mark for each of these kinds of characters, else a space."""
    table = bytearray(b" " * 256)
    for mark, characters in marks.items():
        for character in characters:
            table[character] = mark[0]
    return bytes(table)


_LETTERS_SHOWN: Final = _shows({b"a": _LOWER, b"A": _UPPER})
_DIGITS_SHOWN: Final = _shows({b"0": _DIGITS})
_PUNCTUATION_SHOWN: Final = _shows({b".": _PUNCTUATION})
_BREAKS_SHOWN: Final = _shows({b"n": _BREAKS})


def estimate_tokens(text: str | bytes) -> int:
    """Estimate the tokens of a text.

    0.75 a word + 0.05 a letter + 0.7 a number + 0.3 a digit + 0.88 a run of punctuation + 0.12 a sign + 1.1 a
    line break + 0.25 a byte of UTF-8 beyond ASCII, rounded up. `camelCase` is two words.
    """
    if isinstance(text, str):
        text = text.encode(errors="replace")
    # Whole passes in C, a kind at a time: a result may have 50 MB.
    shown = text.translate(_LETTERS_SHOWN)
    words = _runs(shown, b"a") + _runs(shown, b"A") + shown.count(b"aA")
    hundredths = 75 * words + 5 * (len(shown) - shown.count(b" "))
    shown = text.translate(_DIGITS_SHOWN)
    hundredths += 70 * _runs(shown, b"0") + 30 * shown.count(b"0")
    shown = text.translate(_PUNCTUATION_SHOWN)
    hundredths += 88 * _runs(shown, b".") + 12 * shown.count(b".")
    hundredths += 110 * _runs(text.translate(_BREAKS_SHOWN), b"n")
    if not text.isascii():
        hundredths += 25 * (len(text) - len(text.translate(None, _BEYOND_ASCII)))
    return max(-(-hundredths // 100), 1) if text else 0


def _runs(shown: bytes, mark: bytes) -> int:
    return shown.count(b" " + mark) + shown.startswith(mark)
