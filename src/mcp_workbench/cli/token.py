"""`mcp-workbench token NAME`: a new token for somebody who is to come in over HTTP."""

from __future__ import annotations

import json
import secrets
import sys

from mcp_workbench.config.access import ALL
from mcp_workbench.config.tokens import HASHED, digest_of, is_name

BYTES = 32
PREFIX = "mcpw_"
"""So that whoever finds one somewhere, or looks for them, knows what it is."""


def run(name: str) -> int:
    """Prints a file of tokens on stdout, which holds no secret, and the token itself on stderr."""
    if not is_name(name):
        print("mcp-workbench: a name is made of letters, digits and . _ - + @", file=sys.stderr)
        return 2
    token = PREFIX + secrets.token_urlsafe(BYTES)
    digest = digest_of(token.encode()).hex()
    entry = {"token": f"{HASHED}{digest}", "toolboxes": [ALL]}
    print(f'{{\n  "tokens": {{\n    {json.dumps(name)}: {json.dumps(entry)}\n  }}\n}}')
    print(
        f"The token of {name}, which is shown only now and kept nowhere:\n\n  {token}\n\n"
        "Its line for the file of tokens is on stdout. The file holds no secret.",
        file=sys.stderr,
    )
    return 0
