"""`mcp-workbench token`: a new token for somebody who uses the workbench over HTTP, or a list of all."""

from __future__ import annotations

import json
import os
import secrets
import sys
from datetime import UTC, datetime

from mcp_workbench.config.expiry import expiry_after, written
from mcp_workbench.config.model.access import ALL
from mcp_workbench.config.tokens import HASHED, digest_of, is_name, load_tokens
from mcp_workbench.errors import ConfigError
from mcp_workbench.workbench.text.sanitise import show_name, show_text

BYTES = 32
PREFIX = "mcpw_"
"""So that whoever finds one somewhere, or looks for them, knows what it is."""


def run(name: str, expires: str | None = None) -> int:
    """Prints a file of tokens on stdout, which holds no secret, and the token itself on stderr."""
    if not is_name(name):
        print("mcp-workbench: a name is made of letters, digits and . _ - + @", file=sys.stderr)
        return 2
    token = PREFIX + secrets.token_urlsafe(BYTES)
    digest = digest_of(token.encode()).hex()
    entry: dict[str, object] = {"token": f"{HASHED}{digest}", "toolboxes": [ALL]}
    if expires is not None:
        try:
            entry["expires"] = expiry_after(expires, datetime.now(UTC))
        except ValueError as error:
            shown = show_text(f"--expires {expires}: {error}")
            print(f"mcp-workbench: {shown}; write 90d or 2027-01-31", file=sys.stderr)
            return 2
    print(f'{{\n  "tokens": {{\n    {json.dumps(name)}: {json.dumps(entry)}\n  }}\n}}')
    print(
        f"The token of {name}, which is shown only now and kept nowhere:\n\n  {token}\n\n"
        "Its line for the file of tokens is on stdout. The file holds no secret.",
        file=sys.stderr,
    )
    return 0


def run_list(token_file: str) -> int:
    """Prints what is known of the tokens in a file, one line for each. 2 if the file cannot be used."""
    from mcp_workbench.storage.token_use import TokenUseFile, tag_of

    try:
        loaded = load_tokens(token_file, os.environ)
    except ConfigError as error:
        print(f"mcp-workbench: {show_text(str(error))}", file=sys.stderr)
        return 2
    uses = TokenUseFile(loaded.path, os.environ).read()
    now = datetime.now(UTC).timestamp()
    rows = [("name", "toolboxes", "expires", "last used")]
    for name, token in loaded.tokens.items():
        has_expired = token.expires is not None and token.expires <= now
        expires = "never" if token.expires is None else written(token.expires)
        used_at = uses.get(tag_of(token.digest))
        rows.append(
            (
                name,
                ", ".join(map(show_name, token.toolboxes)),
                f"{expires} (expired)" if has_expired else expires,
                "not known" if used_at is None else written(used_at),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
