"""Errors as tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.sanitise import clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError


def error_result(error: CallError, advice: str = "") -> tuple[bytes, ...]:
    """A failure that the model should know of, and what it can do about it."""
    text = clean_text(str(error)) + (f"\n{advice}" if advice else "")
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)
