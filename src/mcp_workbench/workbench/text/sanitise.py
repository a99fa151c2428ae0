"""Removes text that a person cannot see from what servers say about their tools.

Owns which characters hide something: controls, terminal escape sequences, and the invisible characters of
Unicode wherever they have no visible effect. Visible text stays as it is, emoji and every script included,
and so does everything in a definition except changed strings. A tool's name is never changed, because it has
to stay callable. Text for people only can show hidden characters as escapes instead.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clean_definition", "clean_text", "has_hidden", "show_name", "show_text"]


def clean_definition(raw: bytes) -> tuple[bytes, int]:
    """Return a tool definition (JSON in UTF-8) without hidden characters, and their number."""
    if _is_plain(raw):
        return raw, 0
    text = raw.decode()
    if _suspicion().search(text) is None:
        return raw, 0
    cleaned, removed = _clean_strings(text)
    return (cleaned.encode(), removed) if removed else (raw, 0)


def clean_text(text: str) -> str:
    """Return the text without hidden characters."""
    if text.isascii() and text.isprintable():
        return text  # most texts, for which the pattern is not even compiled
    return _hidden_or_shown().sub(_what_is_shown, text)


def has_hidden(text: str) -> bool:
    """Whether a text may have hidden characters: it has some that hide in most places."""
    return _hidden().search(text) is not None


def show_text(text: str, spell: Callable[[str], str] | None = None) -> str:
    """Return the text with its hidden characters written out, as in `\\x1b` and `\\u202e`, for a terminal.

    Line feeds and tabs stay. Other line ends, which move a cursor or fake a line, are written out. `spell`
    writes each character that cannot be shown.
    """
    if text.isascii() and text.isprintable():
        return text
    write_out = spell or _spell

    def shown(found: re.Match[str]) -> str:
        if _what_is_shown(found):
            return found[0]
        # The letters of a terminal sequence are visible; only its first character is written out.
        return _hidden().sub(lambda one: write_out(one[0]), found[0])

    return re.sub("[\r\u2028\u2029]", lambda one: write_out(one[0]), _hidden_or_shown().sub(shown, text))


def show_name(name: str) -> str:
    """Return a name on one line, with its hidden characters written out."""
    return re.sub("[\t\n]", lambda one: _spell(one[0]), show_text(name))


def _spell(character: str) -> str:
    return character.encode("unicode_escape").decode()


# --- JSON: strings are rewritten where they stand, so that all else keeps its spelling, at any depth ------

_CONTROL_BYTES: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r"))
_BACKSLASH: Final = 0x5C


def _is_plain(raw: bytes) -> bool:
    """Whether a definition cannot contain hidden characters: true for most, without decoding them."""
    if not raw.isascii() or len(raw.translate(None, _CONTROL_BYTES)) != len(raw):
        return False
    # Finding one byte is ten times as fast as finding two, and most definitions contain no backslash.
    return _BACKSLASH not in raw or not any(escape in raw for escape in (b"\\u", b"\\b", b"\\f"))


def _clean_strings(text: str) -> tuple[str, int]:
    # Neither at start-up nor in the usual case: msgspec, which is loaded, refuses lone surrogates.
    from json import JSONDecoder, dumps  # noqa: PLC0415 - keeps start-up lean, see above

    decode = JSONDecoder(strict=False).decode
    tokens = list(_token().finditer(text))
    keys = {decode(token["string"]) for token in tokens if token["colon"]}
    pieces: list[str] = []
    copied_to = removed = depth = 0
    at_name = False
    for token in tokens:
        if token["string"] is None:
            depth += 1 if token[0] in "{[" else -1
            at_name = False
            continue
        was = decode(token["string"])
        is_key = token["colon"] is not None
        cleaned = was if at_name and not is_key else clean_text(was)
        hidden = len(was) - len(cleaned)
        at_name = is_key and depth == 1 and was == "name"
        if not hidden:
            continue
        if is_key:
            cleaned = _unused(cleaned, keys)
            keys.add(cleaned)
        pieces += text[copied_to : token.start("string")], dumps(cleaned, ensure_ascii=False)
        copied_to = token.end("string")
        removed += hidden
    return "".join((*pieces, text[copied_to:])), removed


def _unused(key: str, keys: set[str]) -> str:
    """Return a key that is not used yet.

    Cleaning must not make a second "name" of "na<hidden>me": parsers differ on which of two counts.
    """
    while key in keys:
        key += "\ufffd"
    return key


@cache
def _token() -> re.Pattern[str]:
    return re.compile(r'[\[\]{}]|(?P<string>"(?:[^"\\]|\\.)*+")(?P<colon>\s*+:)?', re.DOTALL)


@cache
def _suspicion() -> re.Pattern[str]:
    return re.compile(rf"[{_HIDDEN}]|\\[ubf]")


# --- Unicode: what hides, and where the same characters do visible work -----------------------------------

_HIDDEN: Final = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # the controls, but for tab and line ends
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # (up to here Unicode's Default_Ignorable_Code_Point, the controls of direction among them)
    r"\ufff9-\ufffb"  # interlinear annotation
    r"\ud800-\udfff"  # surrogates: lone ones, for a pair is one character by now
)

# Ranges a little wider than the emoji in them: what they let through follows a visible character.
_EMOJI: Final = (
    r"\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23fa\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    r"\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_SKIN_TONE: Final = r"[\U0001f3fb-\U0001f3ff]"
_IDEOGRAPH: Final = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"

_SHOWN: Final = (
    # Flags of regions spell a short code in tag characters; anything longer is a message.
    r"\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f",
    rf"[{_EMOJI}](?:\ufe0e|{_SKIN_TONE}?\ufe0f?(?:\u200d[{_EMOJI}]{_SKIN_TONE}?\ufe0f?)*)",
    r"[0-9#*]\ufe0f\u20e3",
    rf"{_IDEOGRAPH}[\ufe00-\ufe02\U000e0100-\U000e01ef]",
    r"[\u1820-\u18aa][\u180b-\u180d\u180f]",  # Mongolian letters have selectors of their own
)

_TERMINAL_SEQUENCE: Final = (
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]",
    # A string that never ends would swallow what follows, so only one that does end goes whole.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x90-\x9f]*+(?:\x07|\x1b\\|\x9c)",
    r"\x1b[ -/]*+[0-~]",
)


@cache
def _hidden_or_shown() -> re.Pattern[str]:
    shown, sequence = "|".join(_SHOWN), "|".join(_TERMINAL_SEQUENCE)
    return re.compile(rf"(?P<shown>{shown})|{sequence}|(?P<joiner>[\u200c\u200d])|[{_HIDDEN}]")


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(f"[{_HIDDEN}]")


def _what_is_shown(found: re.Match[str]) -> str:
    if found["shown"] or (found["joiner"] and _joins_letters(found.string, found.start())):
        return found[0]
    return ""


# Arabic, Syriac, N'Ko, Mandaic; the scripts of India and Sri Lanka; Tibetan, Burmese, Khmer, Mongolian,
# those of Java, Bali and Sumatra; then their later blocks.
_JOINING_SCRIPT: Final = (
    r"[\u0600-\u061b\u061d-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17d3\u1807\u180a\u1820-\u18aa"
    r"\u1a00-\u1aad\u1b00-\u1bff\ua840-\ua8ff\ua980-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010ac0-\U00010aff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
_VIRAMA: Final = 9
"""The combining class of the sign that removes an Indic consonant's vowel."""


def _joins_letters(text: str, at: int) -> bool:
    """Whether a joiner changes how letters are drawn: between two of them, or after a virama."""
    import unicodedata  # noqa: PLC0415 - hardly any text has a joiner, and start-up stays lean

    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    before_joins, after_joins = (
        re.match(_JOINING_SCRIPT, side) is not None and unicodedata.category(side)[0] in "LM"
        for side in (before, after)
    )
    ends_with_half_form = text[at] == "\u200d" and before_joins and unicodedata.combining(before) == _VIRAMA
    return (before_joins and after_joins) or ends_with_half_form
