"""The results that the echo server sends and the client expects: text or rows, of about a given size.

Imports nothing, because the echo server's start is part of what is measured.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TEXT = "text"
STRUCTURED = "structured"

SENTENCES = (
    "The reader asked for one page and was handed the whole of a library.",
    'A note in the margin said: "see below", and below there was nothing.',
    "Every morning the harbour counts its boats, and every night it loses",
    "one; nobody has found out why, and by now nobody is trying very hard.",
)
TEXT_FRAME = len('{"content":[{"type":"text","text":""}]}')
STRUCTURED_FRAME = len('{"content":[{"type":"text","text":"0000 rows"}],"structuredContent":{"rows":[]}}')
# How long a row is as JSON, its comma included.
ROW_SIZE = 119


def result(kind: str, size: int) -> dict[str, Any]:
    """A tool's result that takes about `size` bytes as JSON, and never less than its frame."""
    if kind == STRUCTURED:
        rows = [_row(number) for number in range((size - STRUCTURED_FRAME) // ROW_SIZE)] or [{"id": 0}]
        summary = f"{len(rows)} rows"
        return {"content": [{"type": "text", "text": summary}], "structuredContent": {"rows": rows}}
    text = "\n".join(SENTENCES) + "\n"
    # A line break takes two bytes as JSON, and so does a quotation mark.
    encoded_length = len(text) + text.count("\n") + text.count('"')
    wanted = max(0, size - TEXT_FRAME)
    # Cut by what has to be left off when encoded; a few bytes more or less do not matter.
    length = wanted * len(text) // encoded_length
    repeated = text * (length // len(text) + 1)
    return {"content": [{"type": "text", "text": repeated[:length]}]}


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"entry-{number:07d}",
        "size": (number * 7919) % 1_000_003,
        "ratio": (number % 97) / 8,
        "active": number % 3 == 0,
        "note": SENTENCES[number % 4][:32],
    }
