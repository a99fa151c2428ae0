"""Makes the entry of a new server from the words of a command line.

Owns the rules of these words. Whether the entry is a valid one is checked with the whole file.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.config.masking.recognition import find_secrets
from mcp_workbench.errors import EditRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config.masking.recognition import LiteralSecret


def entry_of(
    words: Sequence[str],
    program: Sequence[str],
    env: Sequence[str],
    headers: Sequence[str],
    *,
    directory: Path | None,
) -> dict[str, object]:
    """Return the entry of a program, or of the remote server whose URL is the only word.

    `env` has texts like `NAME=VALUE`, and `headers` like `Name: value`. A program that is given files of the
    working directory `directory` is started there. Raises EditRefused if the words do not fit together.
    """
    if len(words) + bool(program) != 1:
        raise EditRefused(_usage(words))
    entry = _program_entry(program, env, headers, directory) if program else None
    entry = entry or _remote_entry(words[0], env, headers)
    if secrets := find_secrets(entry):
        raise EditRefused(_literal_secrets(secrets))
    return entry


def _program_entry(
    program: Sequence[str], env: Sequence[str], headers: Sequence[str], directory: Path | None
) -> dict[str, object]:
    if headers:
        raise EditRefused("--header is for a remote server, and this is a program. Use --env")
    command, *args = program
    if directory is not None and "/" in command:
        # Joining leaves an absolute path as it is.
        command = os.path.normpath(directory / command)
    entry: dict[str, object] = {"command": command}
    if args:
        entry["args"] = args
    if env:
        entry["env"] = _pairs(env, "=", "--env NAME=VALUE")
    if directory is not None and any(_is_in(directory, argument) for argument in args):
        entry["cwd"] = str(directory)
    return entry


def _remote_entry(url: str, env: Sequence[str], headers: Sequence[str]) -> dict[str, object]:
    if not url.lower().startswith(("http://", "https://")):
        raise EditRefused(_usage([url]))
    if env:
        raise EditRefused("--env is for a program, and this is a remote server. Use --header")
    return {"url": url} | ({"headers": _pairs(headers, ":", "--header 'NAME: VALUE'")} if headers else {})


def _pairs(texts: Sequence[str], separator: str, usage: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if separator == ":":
            name, value = name.strip(), value.strip()
        if not found or not name:
            # Without the text itself, which may be a secret.
            raise EditRefused(f"write {usage}")
        if name in pairs:
            raise EditRefused(f"{usage.partition(' ')[0]} has {name} twice")
        pairs[name] = value
    return pairs


def _is_in(directory: Path, argument: str) -> bool:
    """Whether an argument is the path of a file relative to a directory."""
    path = Path(argument.partition("=")[2] if argument.startswith("-") else argument)
    try:
        return path.parts != () and not path.is_absolute() and (directory / path).exists()
    except (OSError, ValueError):
        return False  # no path at all: too long, or with a null character


def _literal_secrets(secrets: Sequence[LiteralSecret]) -> str:
    names = list(dict.fromkeys(secret.suggested_name for secret in secrets))
    keys = ", ".join(str(secret.place[-1] if secret.place[0] != "args" else "args") for secret in secrets)
    lines = [f"this looks like a secret, which should not be in the file: {keys}"]
    for name in names:
        lines.append(f"  Store it: mcp-workbench secret set {name}")
        lines.append(f"  Then write '${{keyring:{name}}}' in its place, in single quotes")
    lines.append("  If it is not a secret, write it into the file by hand")
    return "\n".join(lines)


def _usage(words: Sequence[str]) -> str:
    if words and "://" not in words[0]:
        return f"write the program after two dashes: mcp-workbench add NAME -- {shlex.join(words)}"
    return "write mcp-workbench add NAME -- COMMAND ARGUMENTS, or mcp-workbench add NAME URL"
