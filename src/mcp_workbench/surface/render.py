"""Errors as tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.sanitise import clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError


def error_result(error: CallError) -> tuple[bytes, ...]:
    """A failure that the model should know of."""
    text = clean_text(str(error))
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)
