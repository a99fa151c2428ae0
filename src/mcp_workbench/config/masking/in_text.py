"""Masks what looks like a secret in a text of any kind: a command, an address, a letter.

`recognition` reads values whose place says what they are, and is careful, because what it finds is stored.
Here a text is only shown, so that in doubt a part of it is masked. All patterns take time in proportion to
the length of the text.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_workbench.config.masking.recognition import (
    MIN_MIXED_CHARACTERS,
    is_always_secret,
    names_secret,
    parts_of_address,
)
from mcp_workbench.config.masking.spellings import encode_text, unescape
from mcp_workbench.config.masking.token_shapes import is_random, is_words, mask_known_tokens

MASKED: Final = "***"
"""What is shown in the place of a secret."""
MAX_ADDRESS_CHARACTERS: Final = 2000
"""Length of the longest text that is read as one address, with the segments of its path."""

# None of these begins with a repetition: a search would try it at each character of a long word.
_USER_INFO: Final = re.compile(r"(?<=://)([^\s:/?#@]*)(:[^\s/?#]*)?@")
_ASSIGNED: Final = re.compile(r"(?<![\w.%\[\]-])-{0,2}([\w.%\[\]-]{1,80})=(\"[^\"]*\"|'[^']*'|[^\s&#;\"']+)")
_QUOTED: Final = r"""\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|\\?'[^']*'"""
_HEADER: Final = re.compile(
    rf"""(?<![\w-])([A-Za-z][\w-]{{1,60}})(\\?["']?\s{{0,4}}:\s{{0,4}})"""
    rf"""({_QUOTED}|(?:(?i:Basic|Bearer|Token|ApiKey|Bot|Key) +)?[^\s"',;\\]+(?:; ?[\w-]+=[^\s"',;\\]+)*)"""
)
_FLAG: Final = re.compile(rf"(?<!\S)(--([A-Za-z][\w-]{{1,60}})\s{{1,4}})({_QUOTED}|[^\s-]\S*)")
_BEARER: Final = re.compile(r"(?<![\w-])((?i:Basic|Bearer) +)([\w.~+/=-]{8,})")
_IN_A_QUERY: Final = frozenset("?&;#")


def mask_in_text(text: str) -> str:
    """Return a text without tokens of known services, and without the passwords and tokens in it.

    These are the user and the password of an address, values after a name such as `token=`, `password:` or
    `--api-key`, and what follows `Bearer`.
    """
    text = mask_known_tokens(text, MASKED)
    if "://" in text:
        if len(text) <= MAX_ADDRESS_CHARACTERS:
            for value in sorted({value for _, value in parts_of_address(text)}, key=len, reverse=True):
                text = text.replace(value, MASKED)
        text = _USER_INFO.sub(_masked_user, text)
    if "=" in text:
        text = _ASSIGNED.sub(_masked_assignment, text)
    if ":" in text:
        text = _HEADER.sub(_masked_header, text)
    if "--" in text:
        text = _FLAG.sub(_masked_flag, text)
    return _BEARER.sub(_masked_bearer, text)


def _masked_user(found: re.Match[str]) -> str:
    user = MASKED if is_random(found[1], MIN_MIXED_CHARACTERS) else found[1]
    return f"{user}@" if found[2] is None else f"{user}:{MASKED}@"


def _masked_assignment(found: re.Match[str]) -> str:
    # A name in a query may be spelled with escapes, which its reader decodes.
    name = unescape(encode_text(found[1])).decode(errors="replace")
    is_in_query = found.start() > 0 and found.string[found.start() - 1] in _IN_A_QUERY
    if not (names_secret(name) if is_in_query else is_always_secret(name)):
        return found[0]
    return f"{found[0][: found.start(2) - found.start()]}{MASKED}"


def _masked_header(found: re.Match[str]) -> str:
    # `//` follows the scheme of an address, such as `token://`.
    if not is_always_secret(found[1]) or found[3].startswith("//"):
        return found[0]
    return f"{found[1]}{found[2]}{MASKED}"


def _masked_flag(found: re.Match[str]) -> str:
    return f"{found[1]}{MASKED}" if is_always_secret(found[2]) else found[0]


def _masked_bearer(found: re.Match[str]) -> str:
    is_plain = is_words(found[2]) and not any(character.isdigit() for character in found[2])
    return found[0] if is_plain else f"{found[1]}{MASKED}"
