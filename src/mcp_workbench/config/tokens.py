"""Loads the token file (`--token-file`): who may connect over HTTP with which token, and call what.

Owns the format of the file, and which of its values are secret. From here on a token is known by its digest
only, which is all that the file has to hold.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.config import expiry
from mcp_workbench.config.masking.secrets import Secrets
from mcp_workbench.config.model.policy import NO_POLICY, PolicyConfig
from mcp_workbench.config.source.expand import expand, no_secrets
from mcp_workbench.config.source.parse import parse, paste_this
from mcp_workbench.config.source.reading import Stamp, read, stamp_of
from mcp_workbench.config.source.rights import warn_of_writers
from mcp_workbench.config.validation.fields import as_object, check_keys, kind_of
from mcp_workbench.config.validation.http import read_toolboxes
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.config.validation.server import read_policy_of
from mcp_workbench.errors import ConfigError, NoTokens, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.config.source.expand import SecretLookup
    from mcp_workbench.config.validation.problems import Place
    from mcp_workbench.errors import StrPath

EXAMPLE = """\
{
  "tokens": {
    "alice": { "token": "${ALICE_TOKEN}", "toolboxes": ["*"] }
  }
}"""
USUAL_NAME = "tokens.json"
HASHED = "sha256:"
"""Prefix of a digest in the place of a token."""
MIN_TOKEN_CHARACTERS = 16
"""Length of the shortest token that is accepted."""
GOOD_TOKEN_CHARACTERS = 32
"""Length from which on a token is accepted without a warning."""

_ENTRY = '{ "token": "${ALICE_TOKEN}", "toolboxes": ["*"] }'
_HARM = "give themselves access"
"""What other users could do who can write to the file, for the warning about them."""
_MAKE_ONE = "mcp-workbench token NAME creates one."
# Other kinds of principals have an empty name, or one with a space in it.
_NAME = re.compile(r"[\w.@+-]{1,100}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
# RFC 6750 allows these characters in an `Authorization` header.
_SENDABLE = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class TokenConfig(msgspec.Struct, frozen=True):
    """A token of the token file: its digest, and what its holder may use."""

    digest: bytes
    toolboxes: tuple[str, ...]
    expires: float | None = None
    """Time in seconds since 1970 from which on the token is refused; None for never."""
    policy: PolicyConfig = NO_POLICY
    """What its holder may call, beside what the configuration says."""


class LoadedTokens(msgspec.Struct, frozen=True):
    """The tokens of a valid token file by the names of their holders, and the warnings about the file."""

    tokens: dict[str, TokenConfig]
    path: str
    warnings: tuple[str, ...]
    secrets: Secrets
    stamp: Stamp
    """The state of the file when it was read, by which a later change is noticed."""


def is_name(text: str) -> bool:
    """Whether a text can be the name of the holder of a token."""
    return _NAME.fullmatch(text) is not None


def digest_of(token: bytes) -> bytes:
    """Return the SHA-256 digest by which the workbench knows a token."""
    return hashlib.sha256(token).digest()


def load_tokens(
    path: StrPath, environ: Mapping[str, str], *, lookup: SecretLookup = no_secrets
) -> LoadedTokens:
    """Return the tokens in the file at `path`. `lookup` returns the secrets that it refers to by name.

    Raises ConfigError with all the problems if the file cannot be used, and NoTokens if it holds no token.
    """
    path = os.path.expanduser(path)
    problems = Problems()
    try:
        data, status = read(path, usual_name=USUAL_NAME, explain_missing=_missing)
    except ConfigError as error:
        if _is_gone(path):
            raise NoTokens(path, error.problems) from None
        raise
    if not data.removeprefix(BOM_UTF8).strip():
        raise NoTokens(path, [Problem("", "the file is empty", paste_this(EXAMPLE))])
    try:
        tree = parse(path, data, problems, EXAMPLE)
        directory = os.path.dirname(path)
        expansion = expand(tree, dict(environ), problems, directory=directory, lookup=lookup)
    except RecursionError:
        raise ConfigError(path, [Problem("", "the JSON is nested too deeply", "Flatten it.")]) from None
    reader = _Reader(problems)
    reader.read(expansion.tree)
    if reader.is_empty:
        raise NoTokens(path, problems.found)
    if problems.found:
        raise ConfigError(path, problems.found)
    from_variables = [value for value in expansion.values if value]
    holds_secrets = any(not any(value in token for value in from_variables) for token in reader.plain)
    warn_of_writers(path, status, _HARM, environ, problems)
    if holds_secrets:
        _warn_of_readers(status, problems)
    secrets = Secrets(expansion.values | reader.plain)
    return LoadedTokens(reader.tokens, path, tuple(problems.warnings), secrets, stamp_of(status))


def _is_gone(path: str) -> bool:
    """Whether there is no file. A file that cannot be read at the moment is still there."""
    try:
        # Container engines create a directory in the place of a mounted file that is missing.
        return stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _missing() -> Problem:
    remedy = f"{_MAKE_ONE}\n    {paste_this(EXAMPLE)}"
    return Problem("", "there is no such file", remedy)


def _warn_of_readers(status: os.stat_result, problems: Problems) -> None:
    if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        problems.warn((), "other users can read the tokens in this file: chmod 600")


class _Reader:
    """Reads the tokens from the tree of one file, and collects the problems in it."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._names: dict[bytes, str] = {}
        self.tokens: dict[str, TokenConfig] = {}
        self.plain: dict[str, str] = {}
        """The tokens that stand in the file as they are, and the label to show in the place of each."""
        self.is_empty = False
        """Whether the file has no token at all, not even one with a mistake."""

    def read(self, tree: dict[str, object]) -> None:
        """Read the tokens of the file into `tokens`, and report every mistake."""
        meant = check_keys(tree, ("$schema", "tokens"), (), self._problems)
        written = meant.get("tokens")
        if written is None:
            self._problems.add((), '"tokens" is missing', paste_this(EXAMPLE))
            self.is_empty = not {*tree} - {"$schema"}
            return
        example = f'"tokens": {{ "alice": {_ENTRY} }}'
        entries = as_object(tree[written], (written,), example, self._problems)
        self.is_empty = not tree[written]
        if entries == {}:
            self._problems.add((written,), "there is no token, so no client is accepted", _MAKE_ONE)
        for name, value in (entries or {}).items():
            self._read_entry(name, value, (written, name))

    def _read_entry(self, name: str, value: object, place: Place) -> None:
        if not is_name(name):
            what = "is not a name: it is made of letters, digits and . _ - + @, up to 100 of them"
            self._problems.add(place, what, "Give its holder another name here.")
        entry = as_object(value, place, f'"{name}": {_ENTRY}', self._problems)
        if entry is None:
            return
        meant = check_keys(entry, ("token", "toolboxes", "expires", "policy"), place, self._problems)
        for key, example in (("token", '"${ALICE_TOKEN}"'), ("toolboxes", '["*"]')):
            if key not in meant:
                self._problems.add((*place, key), "is missing", f'Write "{key}": {example}')
        if not {"token", "toolboxes"} <= meant.keys():
            return
        expires = None
        if (written := meant.get("expires")) is not None:
            expires = self._read_expiry(entry[written], (*place, written))
        policy = read_policy_of(entry, meant, "token", place, self._problems)
        toolboxes = read_toolboxes(entry[meant["toolboxes"]], (*place, meant["toolboxes"]), self._problems)
        digest = self._read_token(name, entry[meant["token"]], (*place, meant["token"]))
        if digest is None:
            return
        if digest in self._names:
            what = f"is the token of {self._names[digest]} too"
            self._problems.add((*place, "token"), what, f"Give each a token of its own. {_MAKE_ONE}")
        self._names[digest] = name
        self.tokens[name] = TokenConfig(digest, tuple(toolboxes), expires, policy)

    def _read_expiry(self, value: object, place: Place) -> float | None:
        remedy = f'Write for example "expires": "{expiry.EXAMPLE}"'
        if not isinstance(value, str):
            self._problems.add(place, f"should be a string, not {kind_of(value)}", remedy)
            return None
        try:
            expires = expiry.read_expiry(value)
        except ValueError as error:
            self._problems.add(place, str(error), remedy)
            return None
        if expires <= time.time():
            self._problems.warn(place, f"this token has expired, and is refused. {_MAKE_ONE}")
        return expires

    def _read_token(self, name: str, token: object, place: Place) -> bytes | None:
        if not isinstance(token, str):
            self._problems.add(place, f"should be a string, not {kind_of(token)}", _MAKE_ONE)
            return None
        if token.startswith(HASHED):
            hexadecimal = token.removeprefix(HASHED)
            if not _DIGEST.fullmatch(hexadecimal):
                what = "should have 64 hexadecimal digits after sha256:"
                self._problems.add(place, what, _MAKE_ONE)
                return None
            return bytes.fromhex(hexadecimal)
        if len(token) < MIN_TOKEN_CHARACTERS:
            what = f"is too short for a secret: it has less than {MIN_TOKEN_CHARACTERS} characters"
            self._problems.add(place, what, _MAKE_ONE)
            return None
        if not _SENDABLE.fullmatch(token):
            what = "has characters that cannot be sent: a token is made of letters, digits and . _ ~ + / -"
            self._problems.add(place, what, _MAKE_ONE)
            return None
        if len(token) < GOOD_TOKEN_CHARACTERS:
            what = f"is short, and may be guessed: use {GOOD_TOKEN_CHARACTERS} random characters"
            self._problems.warn(place, what)
        self.plain[token] = f"<token of {name}>"
        return digest_of(token.encode())
