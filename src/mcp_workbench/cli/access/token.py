"""`mcp-workbench token`: creates a token for a client over HTTP, or lists the tokens of a file."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_workbench.cli.setup.failures import report_failures
from mcp_workbench.cli.slips import is_config_file
from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.config.expiry import expiry_after, format_time
from mcp_workbench.config.model.access import ALL
from mcp_workbench.config.tokens import HASHED, digest_of, is_name, load_tokens
from mcp_workbench.errors import ConfigError
from mcp_workbench.setup.token_file import add_token
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

TOKEN_BYTES = 32
"""Number of random bytes in a token."""
PREFIX = "mcpw_"
"""Beginning of every token, by which people and secret scanners recognise one."""


USAGE = "mcp-workbench token NAME --token-file FILE, or mcp-workbench token --list --token-file FILE"


def run(options: argparse.Namespace) -> int:
    """Create a token, or list those of a file. Return 0, 1 (a file cannot be written) or 2 (misuse)."""
    name, token_file = options.name, options.token_file
    if options.list and name is not None and token_file is None and Path(name).is_file():
        complain(f"write: mcp-workbench token --list --token-file {shlex.quote(name)}")
        return 2
    if name is not None and token_file is None and is_config_file(name):
        complain(f"name the token's holder too: mcp-workbench token NAME --token-file {shlex.quote(name)}")
        return 2
    if options.list == (name is not None) or (options.list and token_file is None):
        complain(f"write {USAGE}")
        return 2
    return _list(token_file) if options.list else _create(name, options.expires, token_file)


def _create(name: str, expires: str | None, token_file: str | None) -> int:
    """Create a token. Its digest goes into the file, or on stdout; the token itself goes to stderr.

    Return 0, 1 if the file cannot be written, or 2 if the name, the expiry or the file is wrong.
    """
    if not is_name(name):
        complain("a name is made of letters, digits and . _ - + @")
        return 2
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    digest = digest_of(token.encode()).hex()
    entry: dict[str, object] = {"token": f"{HASHED}{digest}", "toolboxes": [ALL]}
    if expires is not None:
        try:
            entry["expires"] = expiry_after(expires, datetime.now(UTC))
        except ValueError as error:
            complain(f"--expires {expires}: {error}; write 90d or 2027-01-31")
            return 2
    if token_file is None:
        print(f'{{\n  "tokens": {{\n    {json.dumps(name)}: {json.dumps(entry)}\n  }}\n}}')
        _show(name, token, "The token file is on stdout. It has the token's digest only.")
        if _is_file(1):
            add = f"mcp-workbench token {name} --token-file FILE"
            complain(f"note: > replaces a file. To add a token to an existing one: {add}")
        return 0
    return report_failures(token_file, lambda: _add(name, token, entry, token_file))


def _add(name: str, token: str, entry: dict[str, object], token_file: str) -> int:
    is_new = add_token(token_file, name, entry, os.environ)
    say(f"Added {name} to {show_name(token_file)}{' (new file)' if is_new else ''}")
    _show(name, token, "The file has the token's digest only. A running workbench reads it within seconds.")
    return 0


def _show(name: str, token: str, note: str) -> None:
    print(f"Token for {name} (shown once, not stored):\n\n  {token}\n\n{note}", file=sys.stderr)


def _is_file(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _list(token_file: str) -> int:
    """Print the tokens of a file with toolboxes, expiry and last use. Return 0, or 2 for a bad file."""
    from mcp_workbench.storage.secret_lookup import secret_lookup
    from mcp_workbench.storage.token_use import TokenUseFile, tag_of

    try:
        loaded = load_tokens(token_file, os.environ, lookup=secret_lookup(os.environ))
    except ConfigError as error:
        complain(str(error))
        return 2
    uses = TokenUseFile(loaded.path, os.environ).read()
    now = datetime.now(UTC).timestamp()
    rows = [("name", "toolboxes", "expires", "last used")]
    for name, token in loaded.tokens.items():
        has_expired = token.expires is not None and token.expires <= now
        expires = "never" if token.expires is None else format_time(token.expires)
        used_at = uses.get(tag_of(token.digest))
        rows.append(
            (
                name,
                ", ".join(map(show_name, token.toolboxes)),
                f"{expires} (expired)" if has_expired else expires,
                "not known" if used_at is None else format_time(used_at),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
