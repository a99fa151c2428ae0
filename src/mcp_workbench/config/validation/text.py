"""Strings that are of the right type and still cannot be used.

Owns which characters a name, a shown text, and a text for the operating system may hold.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_workbench.config.validation.problems import Place, Problems

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_NOT_FOR_US = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer")
)
"""Headers that are about one connection or one body."""

_HALF_CHARACTER = "contains half of a character (a lone surrogate), which cannot be written anywhere"


def check_name(name: str, noun: str, place: Place, findings: Problems) -> None:
    """The name of a toolbox or a server: shown to people and models, and given back by them."""
    if not name.strip():
        findings.problem(place, f"the name of a {noun} cannot be empty", f"Give the {noun} a name.")
    check_text(name, place, findings)


def check_names_differ(names: Collection[str], noun: str, place: Place, findings: Problems) -> None:
    """Warn of names that can be taken for each other; `place` is that of the object with the names."""
    are_plain = all(
        name.isascii() and name.isprintable() and name == " ".join(name.split()) for name in names
    )
    if are_plain and len({name.casefold() for name in names}) == len(names):
        return
    from mcp_workbench.config.validation.look_alikes import warn_of_look_alikes  # noqa: PLC0415 - for few files

    warn_of_look_alikes(names, noun, place, findings)


def check_text(text: str, place: Place, findings: Problems) -> None:
    """Text that goes out as JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        findings.problem(place, _HALF_CHARACTER, "Write the whole character.")


def check_os_text(text: str, place: Place, findings: Problems) -> None:
    """Text that the operating system takes: a command, an argument, a path, a variable."""
    if "\0" in text:
        findings.problem(
            place, "contains a NUL character, which no program can be given", "Delete the \\u0000."
        )
    try:
        # What a variable held in another encoding passes here, because it goes back as the bytes that it was.
        os.fsencode(text)
    except UnicodeEncodeError:
        findings.problem(place, _HALF_CHARACTER, "Write the whole character.")


def check_header(name: str, value: str, place: Place, findings: Problems) -> None:
    """A header of HTTP, which a line break would turn into two."""
    if not name.strip():
        findings.problem(place, "the name of a header cannot be empty", "Give the header a name.")
    elif name.lower() in _NOT_FOR_US:
        what = "is a header that HTTP itself sets"
        findings.problem(place, what, "Delete it.")
    elif not set(name) <= _TOKEN and not set(name) & set("\0\r\n"):
        what = "is not the name of a header"
        findings.problem(place, what, "Write letters, digits and hyphens only, as in X-Api-Key.")
    if any(character in f"{name}{value}" for character in "\0\r\n"):
        findings.problem(
            place, "contains a line break or a NUL character", "Delete it: a header is one line."
        )
