"""Prepares the texts of a tool for the scanner, so that simple disguises do not work.

Owns how a text is read: hidden characters out, look-alike letters as Latin ones, letters that are spaced out
joined, names of tools and parameters marked, and the text cut into sentences. What the sentences mean is up
to `rules`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from mcp_workbench.workbench.text.sanitise import clean_text, has_hidden

OWN_TOOL: Final = "\ue000"
"""Stands before the name of the tool that is scanned."""
OWN_PARAMETER: Final = "\ue001"
"""Stands before the name of a parameter of that tool."""
OTHER_NAME: Final = "\ue002"
"""Stands before any other name that is written like one of a program: a tool, as a rule."""
QUOTED_WORD: Final = "\ue003"
"""Stands before a word in quotes, which may be the name of a tool, or a value."""
MARKS: Final = (OWN_TOOL, OWN_PARAMETER, OTHER_NAME, QUOTED_WORD)

MAX_SENTENCE_CHARACTERS: Final = 700
"""Longer sentences are cut, which bounds the time that a pattern takes."""
MIN_ENCODED_CHARACTERS: Final = 32
"""Shorter runs of letters and digits are not decoded: they are names and identifiers."""
MAX_ENCODED_CHARACTERS: Final = 20_000
"""Characters of one encoded run that are decoded."""


class NamesOfTool(NamedTuple):
    """The names that a definition may speak of as its own, in small letters."""

    own: str
    parameters: frozenset[str]
    siblings: frozenset[str]
    """The tools of the same server."""


_SIGNS: Final = ("<", "[", ":", "!", "@", "+", "~", *MARKS)
"""Signs that count as words."""
_BREAKS: Final = str.maketrans(
    dict.fromkeys("`'\"\u201c\u201d\u2018\u2019()[]{}<>,.;:!?*_|/\\#=+-~@$%" + "".join(MARKS), " ")
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, and the signs in it that count as words."""
    words = text.lower().translate(_BREAKS).split()
    words += [sign for sign in _SIGNS if sign in text]
    return words


def readable(text: str) -> str:
    """Return a text as a model may understand it: without hidden characters, and in Latin look-alikes."""
    if "&" in text:
        text = _entities().sub(lambda found: _ENTITY_TEXTS[found[1]], text)
    if not text.isascii():
        text = _in_latin(clean_text(_tags_as_letters(text)) if has_hidden(text) else text)
    if _spaced_letters().search(text) is not None:
        text = _spaced_letters().sub(lambda found: re.sub(r"[\W_]", "", found[0]), text)
    return text


def is_split_into_words(text: str) -> bool:
    """Whether the words of a text can be told apart: not so in Chinese and Japanese, nor here in Russian."""
    return text.isascii() or _other_scripts().search(text) is None


def may_have_names(text: str) -> bool:
    """Whether a text has anything that a name is recognised by. Most texts have nothing."""
    return any(sign in text for sign in _NAME_SIGNS) or _name_parts().search(text) is not None


_NAME_SIGNS: Final = ("_", "`", '"', " '", "('", "\n'", "\u201c", "the tool ")


def has_long_run(text: str) -> bool:
    """Whether a text has a run without spaces that is long enough to be an encoded text."""
    return max(map(len, text.split()), default=0) >= MIN_ENCODED_CHARACTERS


def sentences(text: str, names: NamesOfTool | None) -> list[str]:
    """Return the sentences of a readable text in small letters, with marks before the names in it.

    Without `names`, no name is marked.
    """
    text = text.replace("**", "").replace("__", "")
    marked = text if names is None else _mark_names(text, names)
    parts = (" ".join(part.lower().split()) for part in _sentence_ends().split(marked))
    return [
        part[start : start + MAX_SENTENCE_CHARACTERS]
        for part in parts
        if part
        for start in range(0, len(part), MAX_SENTENCE_CHARACTERS)
    ]


def _mark_names(text: str, names: NamesOfTool) -> str:
    def mark(found: re.Match[str]) -> str:
        name = found[1] or found[2] or found[3] or found[4]
        lowered = name.lower()
        if lowered == names.own:
            return OWN_TOOL + name
        if lowered in names.siblings:
            return name
        if lowered in names.parameters:
            return OWN_PARAMETER + name
        is_word = name.isalnum() and (name.isupper() or name[1:].islower())
        return (QUOTED_WORD if is_word else OTHER_NAME) + name

    return _names().sub(mark, text)


def decoded(text: str) -> list[str]:
    """Return the readable texts that are hidden in a text in base64, hexadecimal digits or escapes."""
    found = []
    for run in _encoded_runs().findall(text):
        plain = _decode(run[:MAX_ENCODED_CHARACTERS])
        if plain is not None and _is_language(plain):
            found.append(plain)
    return found


def _decode(run: str) -> str | None:
    import base64  # noqa: PLC0415 - for few texts, and the scanner is loaded while a server starts
    import binascii  # noqa: PLC0415 - as above
    from urllib.parse import unquote  # noqa: PLC0415 - as above

    try:
        if "%" in run:
            return unquote(run, errors="strict")
        if "\\" in run:
            return run.encode("ascii").decode("unicode_escape")
        if re.fullmatch(r"(?:0x)?(?:[0-9a-fA-F]{2})+", run):
            return bytes.fromhex(run.removeprefix("0x")).decode()
        standard = run.rstrip("=").replace("-", "+").replace("_", "/")
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        return None


def _is_language(text: str) -> bool:
    """Whether a decoded text is one that a person or a shell could read."""
    return text.isprintable() and re.search(r"[A-Za-z]{2}\W+[A-Za-z~/.-]{2}", text) is not None


_ENTITY_TEXTS: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'", "nbsp": " "}
_TAG_OFFSET: Final = 0xE0000
"""Distance in code points between the invisible tag characters of Unicode and ASCII."""


def _tags_as_letters(text: str) -> str:
    """Return a text in which invisible tag characters are the letters that a model reads in them."""
    return re.sub("[\U000e0020-\U000e007e]", lambda one: chr(ord(one[0]) - _TAG_OFFSET), text)


def _in_latin(text: str) -> str:
    import unicodedata  # noqa: PLC0415 - for few texts, and start-up stays lean

    from mcp_workbench.config.validation.look_alikes import as_latin  # noqa: PLC0415 - as above

    # In small letters first: a small Cyrillic letter may look like none of ours where the capital does.
    lowered = re.sub(
        "[\u0370-\u058f\u13a0-\u13ff]+", lambda some: some[0].lower(), unicodedata.normalize("NFKC", text)
    )
    composed = as_latin(lowered)
    # Accents only where they are above Latin letters: in other scripts they are parts of the letters.
    return re.sub("[\u00c0-\u024f]", lambda one: unicodedata.normalize("NFD", one[0])[0], composed)


@cache
def _name_parts() -> re.Pattern[str]:
    return re.compile(r"[a-z0-9][A-Z]|(?:ing|all|ool) \w{1,40}-")


@cache
def _other_scripts() -> re.Pattern[str]:
    return re.compile("[\u0400-\u04ff\u3040-\u30ff\u3400-\u9fff]")


@cache
def _entities() -> re.Pattern[str]:
    return re.compile("&(lt|gt|amp|quot|#39|nbsp);")


@cache
def _spaced_letters() -> re.Pattern[str]:
    """Letters with a sign between them, such as `i g n o r e` and `i.g.n.o.r.e`: up to 40 at once."""
    return re.compile(r"(?<![^\W_])(?:[A-Za-z][ ._*-]){3,40}[A-Za-z](?![^\W_])")


@cache
def _names() -> re.Pattern[str]:
    """Names in quotes, names that no word of a language is written like, and words that are called tools."""
    return re.compile(
        r"[`'\"\u201c](?<!\w.)[`'\"]?([A-Za-z][\w./:-]{1,63})[`'\"\u201d]{1,2}(?!\w)"
        r"|\b(?:(?<![/.~@-])((?:[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,6}"
        r"|[a-z]{1,40}[0-9]{0,3}[A-Z]\w{0,60})(?![\w/@]))"
        r"|(?:(?<=ing )|(?<=all )|(?<=ool ))(\w{1,40}(?:-\w{1,40}){1,6})(?=[,.;]| tool| to | with | for )"
        r"|(?<=the tool )(?!(?:calls?|is|was|will|can|may|must|should|returns?|and|that|which|itself|for"
        r"|with|name|to)\b)"
        r"([a-z]\w{2,40}))"
    )


@cache
def _sentence_ends() -> re.Pattern[str]:
    """End of a sentence, or a line that begins something new: an item, a heading, a tag."""
    return re.compile(r"[.!?;]+(?=\s|$|\\n)|。|\n\s*\n|\\n|\n(?=\s*(?:[-*\u2022<\[#]|\d+[.)]|\w+:))")


@cache
def _encoded_runs() -> re.Pattern[str]:
    return re.compile(
        rf"(?:%[0-9A-Fa-f]{{2}}){{8,}}+|(?:\\x[0-9A-Fa-f]{{2}}){{8,}}+|(?:\\u[0-9A-Fa-f]{{4}}){{8,}}+"
        rf"|[A-Za-z0-9+/_-]{{{MIN_ENCODED_CHARACTERS},}}+={{0,2}}"
    )
