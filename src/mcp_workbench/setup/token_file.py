"""Adds tokens to a token file in place, with its comments and formatting kept.

Owns what may be added to such a file. `config/tokens.py` owns its format, and reads it to serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_workbench.config.documents import open_document
from mcp_workbench.errors import EditRefused
from mcp_workbench.setup.file_changes import FileChange, apply, read_for_change
from mcp_workbench.storage.backups import CONFIG
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKENS: Final = "tokens"
_KEYS: Final = {"$schema", TOKENS}


def add_token(path: str, name: str, entry: Mapping[str, object], environ: Mapping[str, str]) -> bool:
    """Add the entry of a token to the file at `path`, and return whether the file is new.

    Raises EditRefused if the file has a token of that name or is no token file, DocumentError if it cannot be
    parsed, and CannotChange if it cannot be written.
    """
    before = read_for_change(path)
    document = open_document("json", before or b"")
    tokens = document.data.get(TOKENS, {})
    if not isinstance(tokens, dict) or not document.data.keys() <= _KEYS:
        raise EditRefused(f"{show_name(path)} is not a token file, and was not changed")
    if name in tokens:
        remedy = "Choose another name, or delete that line first"
        raise EditRefused(f"{show_name(path)} has a token for {name} already. {remedy}")
    document.set((TOKENS, name), entry)
    apply(FileChange(path, before, document.encode()), environ, subject=CONFIG, command="token")
    return before is None
