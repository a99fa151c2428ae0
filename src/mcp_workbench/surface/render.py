"""Tool results of our own making: the listing of a toolbox, and errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode
from mcp_workbench.workbench.sanitise import clean_definition, clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_workbench.errors import CallError, StartError
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.shelf import Index
    from mcp_workbench.workbench.toolbox import Opening

    Note = dict[str, str]

log = logging.getLogger(__name__)

NAMES_SHOWN = 10

OURS = ("name", "toolbox_name", "source_server", "description")


def opening_result(opening: Opening) -> tuple[Body, ...]:
    """The result of `open_toolbox`: one JSON object, as text and as structured content. In parts, for it may
    have megabytes."""
    toolbox = opening.toolbox
    listing = _Listing()
    notes: list[Note] = []
    listing.add(
        b'{"toolbox":%b,"description":%b,"servers_connected":%d,"tools":['
        % (encode(toolbox.name), encode(toolbox.description), len(opening.tools))
    )
    comma = b""
    for shelf, index in opening.tools:
        server = shelf.server.name
        for tool in _tools(toolbox.name, server, index, notes):
            listing.add(comma)
            listing.add_foreign(tool)
            comma = b","
        notes += [_note(server, note) for note in shelf.notes]
    listing.add(b"]")
    others = {
        "starting_servers": [_starting(server, toolbox.open_deadline) for server in opening.starting],
        "failed_servers": [_failure(failure) for failure in opening.failures],
        "notes": notes,
    }
    for key, value in others.items():
        if value:
            listing.add(b',"%b":%b' % (key.encode(), encode(value)))
    listing.add(b"}")
    return listing.result()


class _Listing:
    """Grows as text and as structure, without the whole of it being held in any other form."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._structure = bytearray()

    def add(self, piece: bytes) -> None:
        """A piece of our own making."""
        self._structure += piece
        self._text += encode(piece.decode())[1:-1]

    def add_foreign(self, value: bytes) -> None:
        """A value that came from a server."""
        self._structure += value
        # The text is what the model reads: no white space that it would pay for. The structure keeps it all.
        self._text += encode(msgspec.json.format(value, indent=-1).decode())[1:-1]

    def result(self) -> tuple[Body, ...]:
        """The result of a call, in parts."""
        text, structure = memoryview(self._text), memoryview(self._structure)
        return b'{"content":[{"type":"text","text":"', text, b'"}],"structuredContent":', structure, b"}"


def error_result(error: CallError, advice: str = "") -> tuple[bytes, ...]:
    """A failure that the model should know of, and what it can do about it."""
    text = clean_text(str(error)) + (f"\n{advice}" if advice else "")
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)


def _tools(toolbox: str, server: str, index: Index, notes: list[Note]) -> Iterator[bytes]:
    cleaned: list[str] = []
    for name, raw in index.items():
        definition, removed = clean_definition(bytes(raw))
        if removed:
            cleaned.append(name)
        yield tool_definition(toolbox, server, name, definition)
    if cleaned:
        shown = ", ".join(clean_text(name) for name in cleaned[:NAMES_SHOWN])
        more = f" and {len(cleaned) - NAMES_SHOWN} more" if len(cleaned) > NAMES_SHOWN else ""
        note = f"hidden characters were removed from the definitions of these tools: {shown}{more}"
        log.warning("%s", note, extra={"server": f"{toolbox}/{server}"})
        notes.append(_note(server, note))


def tool_definition(toolbox: str, server: str, name: str, definition: bytes) -> bytes:
    """A definition as it came, with our identifying fields and the origin before its description."""
    members = decode_members(definition)
    description = decode_text(members.get("description", ABSENT)) or ""
    head = b'{"name":%b,"toolbox_name":%b,"source_server":%b,"description":%b' % (
        encode(name),
        encode(toolbox),
        encode(server),
        encode(f"[{toolbox}/{server}] {description}"),
    )
    rest = [b",%b:%b" % (encode(key), value) for key, value in members.items() if key not in OURS]
    return b"".join([head, *rest, b"}"])


def _note(server: str, note: str) -> Note:
    return {"server": server, "note": clean_text(note)}


def _starting(server: str, deadline: float) -> Note:
    message = (
        f"still starting after {deadline:g} s. It goes on: call open_toolbox again in a while for its tools, "
        "or use_tool, which waits until it is ready"
    )
    return {"server": server, "message": message}


def _failure(failure: StartError) -> dict[str, object]:
    entry: dict[str, object] = {"server": failure.server, "error": clean_text(str(failure))}
    if failure.stderr:
        entry["stderr"] = [clean_text(line) for line in failure.stderr]
    if failure.hint:
        entry["hint"] = failure.hint
    return entry
