"""Checks strings that have the right type and may still be unusable.

Owns which characters a name, a shown text, a text for the operating system and a header may hold.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_workbench.config.validation.problems import Place, Problems

_HEADER_NAME_CHARACTERS = frozenset(
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
_HTTP_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer")
)
"""Headers that describe one connection or one body, and are set by the HTTP client."""

_HALF_CHARACTER = "contains half of a character (a lone surrogate), which cannot be written anywhere"


def check_name(name: str, noun: str, place: Place, problems: Problems) -> None:
    """Report a name of a toolbox or a server that people and models could not read or write."""
    if not name.strip():
        problems.add(place, f"the name of a {noun} cannot be empty", f"Give the {noun} a name.")
    check_text(name, place, problems)


def check_names_differ(names: Collection[str], noun: str, place: Place, problems: Problems) -> None:
    """Warn of names that are easily confused; `place` is that of the object with the names."""
    are_plain = all(
        name.isascii() and name.isprintable() and name == " ".join(name.split()) for name in names
    )
    if are_plain and len({name.casefold() for name in names}) == len(names):
        return
    from mcp_workbench.config.validation.look_alikes import warn_of_look_alikes  # noqa: PLC0415 - for few files

    warn_of_look_alikes(names, noun, place, problems)


def check_text(text: str, place: Place, problems: Problems) -> None:
    """Report a text that cannot be encoded in UTF-8, and so not be sent as JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        problems.add(place, _HALF_CHARACTER, "Write the whole character.")


def check_os_text(text: str, place: Place, problems: Problems) -> None:
    """Report a command, argument, path or variable that the operating system would not accept."""
    if "\0" in text:
        problems.add(place, "contains a NUL character, which no program can be given", "Delete the \\u0000.")
    try:
        # The value of a variable in another encoding passes: it is passed on as the same bytes.
        os.fsencode(text)
    except UnicodeEncodeError:
        problems.add(place, _HALF_CHARACTER, "Write the whole character.")


def check_header(name: str, value: str, place: Place, problems: Problems) -> None:
    """Report an HTTP header with a wrong name, or with a line break, which would make two headers of it."""
    if not name.strip():
        problems.add(place, "the name of a header cannot be empty", "Give the header a name.")
    elif name.lower() in _HTTP_HEADERS:
        what = "is a header that HTTP itself sets"
        problems.add(place, what, "Delete it.")
    elif not set(name) <= _HEADER_NAME_CHARACTERS and not set(name) & set("\0\r\n"):
        what = "is not the name of a header"
        problems.add(place, what, "Write letters, digits and hyphens only, as in X-Api-Key.")
    if any(character in f"{name}{value}" for character in "\0\r\n"):
        problems.add(place, "contains a line break or a NUL character", "Delete it: a header is one line.")
