"""Recognises literal secrets in the entry of a server, so that they can be stored and referred to instead.

Owns where secrets stand in an entry, and which part of a string is one. In doubt a value under a name like a
secret's is one; under other names only what no setting looks like.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.config.masking.secret_values import SENSITIVE_NAME
from mcp_workbench.config.masking.token_shapes import (
    is_placeholder,
    is_random,
    is_setting,
    is_uuid,
    is_words,
    known_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MIN_SECRET_CHARACTERS: Final = 4
"""Length of the shortest value that can be a secret."""
MIN_MIXED_CHARACTERS: Final = 8
"""Length of the shortest value that is a secret under a name that only may be that of one."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9]+")
_PASSWORD_NAME: Final = re.compile(r"(?:^|_)(?:PASSWORD|PASSWD|PASS_?PHRASE|PASS|PWD|PW|PIN)$|PASSWORD$")
_SECRET_NAME: Final = re.compile(
    r"(?:SECRET|TOKEN|BEARER|JWT|COOKIE|CREDENTIALS?|PAT|API_?KEY|AUTH|AUTHORIZATION|SALT)$"
    r"|(?:^|_)(?:ACCESS|SECRET|PRIVATE|SIGNING|SERVICE|SUBSCRIPTION|ENCRYPTION|MASTER|LICENSE|ROLE|APP)_?KEY$"
)
_KEY_NAME: Final = re.compile(r"(?:^|_)KEY$")
"""Names of keys, which may be secrets, and may be those of a database."""
_HARMLESS_NAME: Final = re.compile(
    r"(?:^|_)(?:FILE|PATH|DIR|DIRECTORY|HOME|HOST|HOSTNAME|PORT|ID|IDS|NAME|USER|USERNAME|EMAIL|TYPE|MODE|METHOD"
    r"|LENGTH|LIMIT|TIMEOUT|TTL|EXPIRY|REGION|ENABLED|DISABLED|VERSION|SHA|COMMIT|REV|REF|HASH|DIGEST|CHECKSUM"
    r"|IMAGE|TAG|MODEL|SCOPES?|AUTHOR|SOCK|STRATEGY|PROVIDER|ALGORITHM|FORMAT|PARALLELISM|TOKENS|PUBLIC_KEY)$"
)
_FLAG: Final = re.compile(r"--?([A-Za-z][\w.-]*)")
_OPTION: Final = re.compile(r"--?([A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
_COMMAND_FLAG: Final = re.compile(r"-[a-z]*c|(?i:-command|/c|/k)")
"""An option of a shell, after which a whole command line is one argument."""
_WORD: Final = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
_QUOTES: Final = re.compile(r"[\"']")
_HEADER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*):\s*(\S.*)", re.DOTALL)
_SCHEME: Final = re.compile(r"(?i:Basic|Bearer|Token|ApiKey|Bot|Key) +(\S+)\s*")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^:/?#\s@]*):([^/?#\s]+)@")
_USER: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^:/?#\s@]+)@")
_SEGMENT: Final = re.compile(r"(?<=[^/:]/)[^/\s]+")
_COMMIT: Final = re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b")
_PARAMETER: Final = re.compile(r"[?&;]([^=&#\s]+)=([^&#\s]+)")
_MEMBER: Final = re.compile(r'"([^"\\]{1,80})"\s*:\s*"((?:[^"\\]|\\.)*)"')
_REFERENCE: Final = re.compile(r"\$\$\{|\$\{[^}]*\}")

_Part = tuple[str, str]
"""A name for a secret, and the part of a text that is the secret."""


class LiteralSecret(msgspec.Struct, frozen=True):
    """A secret that stands in an entry as it is, and a name under which it could be stored."""

    place: tuple[str | int, ...]
    """The keys and indexes that lead from the entry to the string."""
    value: str
    """The part of the string that is secret."""
    suggested_name: str


def find_secrets(entry: Mapping[str, object]) -> list[LiteralSecret]:
    """Return the literal secrets in the entry of a server, in the order of the entry.

    Equal values have one suggested name, and other values another.
    """
    found: list[LiteralSecret] = []
    names: dict[str, str] = {}
    taken: set[str] = set()
    for place, parts in _strings(entry, ()):
        values = {value: name for name, value in reversed(parts)}
        for name, value in dict.fromkeys(parts):
            is_inner = any(value != other and value in other for other in values)
            if not is_inner and values[value] == name:
                if value not in names:
                    names[value] = _unique(name, taken)
                found.append(LiteralSecret(place, value, names[value]))
    return found


def replace_secrets(entry: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """Return the entry with literal secrets replaced by references: `names` has the name for each value.

    Only the places are changed in which `find_secrets` finds the values.
    """
    replaced: dict[str, object] = dict(entry)
    places: dict[tuple[str | int, ...], list[str]] = {}
    for secret in find_secrets(entry):
        if secret.value in names:
            places.setdefault(secret.place, []).append(secret.value)
    for place, values in places.items():
        replaced = _with_references(replaced, place, values, names)  # type: ignore[assignment] # of the same type
    return replaced


def is_literal_secret(name: str, value: str) -> bool:
    """Whether a value under a name holds a literal secret: all of it, or a part such as a password."""
    return bool(_parts_of(name, value))


def _with_references(
    node: object, place: tuple[str | int, ...], values: list[str], names: Mapping[str, str]
) -> object:
    if not place:
        # In one pass, because a value may occur in the name of another.
        pattern = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
        return re.sub(rf"(?<!\$)(?:{pattern})", lambda match: f"${{keyring:{names[match[0]]}}}", str(node))
    step, rest = place[0], place[1:]
    if isinstance(node, list) and isinstance(step, int):
        return [
            _with_references(item, rest, values, names) if at == step else item
            for at, item in enumerate(node)
        ]
    if isinstance(node, dict):
        return {
            key: _with_references(value, rest, values, names) if key == step else value
            for key, value in node.items()
        }
    return node


def _strings(
    node: object, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], list[_Part]]]:
    """Yield the place of each string that holds secrets, with its secret parts."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(value, (*place, key))
    elif isinstance(node, list):
        before = ""
        for index, item in enumerate(node):
            if isinstance(item, str):
                if parts := _parts_of_argument(before, item):
                    yield (*place, index), parts
                before = item
            else:
                yield from _strings(item, (*place, index))
    elif isinstance(node, str) and place and (parts := _parts_of(str(place[-1]), node)):
        yield place, parts


def _parts_of_argument(before: str, text: str) -> list[_Part]:
    """Return the secret parts of an argument. The argument before it may be a flag that names it."""
    if option := _OPTION.fullmatch(text):
        return _parts_of_value(option[1], option[2])
    if _COMMAND_FLAG.fullmatch(before) and " " in text:
        return [*_parts_of_command_line(text), *_parts_of("", text)]
    flag = _FLAG.fullmatch(before)
    is_flag = text.startswith("-") and not is_random(text)
    return _parts_of_value(flag[1] if flag and not is_flag else "", text)


def _parts_of_value(option: str, text: str) -> list[_Part]:
    """Return the secret parts of the value of an option, which may have its own name: `-e NAME=value`."""
    if not _is_like_a_secret(_label(option)):
        if assignment := _ASSIGNMENT.fullmatch(text):
            return _parts_of(assignment[1], assignment[2])
        if (header := _HEADER.fullmatch(text)) and not header[2].startswith("//"):
            return _parts_of(header[1], header[2])
    return _parts_of(option, text)


def _parts_of_command_line(text: str) -> Iterator[_Part]:
    before = ""
    for quoted in _WORD.findall(text):
        word = _QUOTES.sub("", quoted)
        yield from (part for part in _parts_of_argument(before, word) if part[1] in text)
        before = word


def _parts_of(name: str, text: str) -> list[_Part]:
    """Return the parts of a text under a name that are secret, each with a name to store it under."""
    label = _label(name)
    parts = [(label if _is_like_a_secret(label) else service, value) for service, value in known_tokens(text)]
    if text.lstrip().startswith("{"):
        for member in _MEMBER.finditer(text):
            parts += _parts_of(member[1], member[2])
    elif _ADDRESS.fullmatch(text.strip()):
        parts += _parts_of_address(label, text)
    elif scheme := _SCHEME.fullmatch(text):
        if not is_placeholder(scheme[1]) and len(scheme[1]) >= MIN_SECRET_CHARACTERS:
            parts.append((label or "TOKEN", scheme[1]))
    elif not parts and _is_secret(label, text):
        parts.append((label or "SECRET", text))
    return [
        (its_name, _with_dollars(text, value)) for its_name, value in parts if not _REFERENCE.search(value)
    ]


def _parts_of_address(label: str, text: str) -> Iterator[_Part]:
    prefix = f"{label}_" if label else ""
    found = _PASSWORD.match(text)
    if found and found[1] != found[2] and not is_placeholder(found[2]):
        yield f"{prefix}PASSWORD", found[2]
    if (user := _USER.match(text)) and is_random(user[1], MIN_MIXED_CHARACTERS):
        yield f"{prefix}TOKEN", user[1]
    # Some services have the key in the path. The id of a commit there is none.
    for segment in _SEGMENT.findall(re.split(r"[?#]", text)[0]):
        if is_random(segment) and not _COMMIT.search(segment):
            yield f"{prefix}TOKEN", segment
    for name, value in _PARAMETER.findall(text):
        if _is_secret(_label(name), value):
            yield _label(name), value


def _is_secret(label: str, text: str) -> bool:
    """Whether a whole text under a name is a secret."""
    if len(text) < MIN_SECRET_CHARACTERS or is_placeholder(text):
        return False
    if _PASSWORD_NAME.search(label):
        return not (is_setting(text) and not text.isdigit())
    if is_setting(text):
        return False
    if _HARMLESS_NAME.search(label):
        return False
    if _SECRET_NAME.search(label) or _KEY_NAME.search(label):
        return not (is_words(text) and len(text) < MIN_MIXED_CHARACTERS) and not _is_phrase(text)
    if re.search(SENSITIVE_NAME, label):
        return is_uuid(text) or is_random(text, MIN_MIXED_CHARACTERS)
    return is_random(text)


def _is_phrase(text: str) -> bool:
    """Whether a text is a phrase in plain words, such as `oauth2-proxy` or `client credentials`."""
    return is_words(text) and not any(character.isdigit() for character in text)


def names_secret(key: str) -> bool:
    """Whether a key, such as `apiKey` or `password`, says that its value is a secret."""
    return _is_like_a_secret(_label(key))


def is_always_secret(key: str) -> bool:
    """Whether a key says that its value is a secret, whatever the value looks like."""
    # Names of keys are excepted: `primary_key` is more often that of a database than a secret.
    label = _label(key)
    return bool(_PASSWORD_NAME.search(label) or _SECRET_NAME.search(label))


def parts_of_address(text: str) -> list[_Part]:
    """Return the parts of a text that are secret if the text is an address, each after a name for it."""
    return list(_parts_of_address("", text)) if _ADDRESS.fullmatch(text) else []


def _is_like_a_secret(label: str) -> bool:
    patterns = (_PASSWORD_NAME, _SECRET_NAME, _KEY_NAME)
    return any(pattern.search(label) for pattern in patterns)


def _label(name: str) -> str:
    """Return a name as a variable would have it: `--api-key` and `apiKey` become `API_KEY`."""
    return _NOT_IN_A_NAME.sub("_", _HUMP.sub("_", name)).strip("_").upper()


def _with_dollars(text: str, value: str) -> str:
    """Return the value with the dollar signs in front of it: `$${` would not begin a reference."""
    start = text.find(value)
    while start > 0 and text[start - 1] == "$":
        start -= 1
        value = f"${value}"
    return value


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, with a number if it is taken, and take it."""
    first = candidate = f"_{name}" if name[:1].isdigit() else name
    number = 1
    while candidate in taken:
        number += 1
        candidate = f"{first}_{number}"
    taken.add(candidate)
    return candidate
