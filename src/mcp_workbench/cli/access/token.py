"""`mcp-workbench token`: makes a token for a client over HTTP, or lists the tokens of a file."""

from __future__ import annotations

import json
import os
import secrets
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_workbench.cli.terminal import complain
from mcp_workbench.config.expiry import expiry_after, format_time
from mcp_workbench.config.model.access import ALL
from mcp_workbench.config.tokens import HASHED, digest_of, is_name, load_tokens
from mcp_workbench.errors import ConfigError
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

TOKEN_BYTES = 32
"""Number of random bytes in a token."""
PREFIX = "mcpw_"
"""Beginning of every token, by which people and secret scanners recognise one."""


def run(options: argparse.Namespace) -> int:
    """Create a token, or list those of a file. Return 0, or 2 for wrong options or a bad file."""
    if options.list != (options.token_file is not None) or options.list == (options.name is not None):
        usage = "mcp-workbench token NAME [--expires WHEN], or mcp-workbench token --list --token-file FILE"
        complain(f"write {usage}")
        return 2
    return _list(options.token_file) if options.list else _create(options.name, options.expires)


def _create(name: str, expires: str | None) -> int:
    """Print a token file with the digest of a new token on stdout, and the token itself on stderr.

    Return 0, or 2 if the name or the expiry is wrong.
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
    print(f'{{\n  "tokens": {{\n    {json.dumps(name)}: {json.dumps(entry)}\n  }}\n}}')
    print(
        f"The token of {name}, which is shown only now and kept nowhere:\n\n  {token}\n\n"
        "Its line for the file of tokens is on stdout. The file holds no secret.",
        file=sys.stderr,
    )
    return 0


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
