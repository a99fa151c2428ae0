"""Tool results of our own making: the listing of a toolbox, and errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode
from mcp_workbench.workbench.sanitise import clean_definition, clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError, StartError
    from mcp_workbench.workbench.shelf import Index
    from mcp_workbench.workbench.toolbox import Opening

    Note = dict[str, str]

log = logging.getLogger(__name__)

NAMES_SHOWN = 10

OURS = ("name", "toolbox_name", "source_server", "description")


def opening_result(opening: Opening) -> tuple[bytes, ...]:
    """The result of `open_toolbox`: one JSON object, as text and as structured content. In parts, for it may
    have megabytes."""
    toolbox = opening.toolbox
    tools: list[bytes] = []
    notes: list[Note] = []
    for shelf, index in opening.tools:
        server = shelf.server.name
        tools += _tools(toolbox.name, server, index, notes)
        notes += [_note(server, note) for note in shelf.notes]
    head = b'{"toolbox":%b,"description":%b,"servers_connected":%d,"tools":[' % (
        encode(toolbox.name),
        encode(toolbox.description),
        len(opening.tools),
    )
    others = {
        "starting_servers": [_starting(server, toolbox.open_deadline) for server in opening.starting],
        "failed_servers": [_failure(failure) for failure in opening.failures],
        "notes": notes,
    }
    rest = b"".join(b',"%b":%b' % (key.encode(), encode(value)) for key, value in others.items() if value)
    listing = b"".join((head, b",".join(tools), b"]", rest, b"}"))
    # The text is what the model reads: no white space that it would pay for. The structure keeps every byte.
    text = encode(msgspec.json.format(listing, indent=-1).decode())
    return b'{"content":[{"type":"text","text":', text, b'}],"structuredContent":', listing, b"}"


def error_result(error: CallError) -> tuple[bytes, ...]:
    """A failure that the model should know of."""
    text = clean_text(str(error))
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)


def _tools(toolbox: str, server: str, index: Index, notes: list[Note]) -> list[bytes]:
    cleaned: list[str] = []
    tools: list[bytes] = []
    for name, raw in index.items():
        definition, removed = clean_definition(bytes(raw))
        if removed:
            cleaned.append(name)
        tools.append(_tool(toolbox, server, name, definition))
    if cleaned:
        shown = ", ".join(clean_text(name) for name in cleaned[:NAMES_SHOWN])
        more = f" and {len(cleaned) - NAMES_SHOWN} more" if len(cleaned) > NAMES_SHOWN else ""
        note = f"hidden characters were removed from the definitions of these tools: {shown}{more}"
        log.warning("%s", note, extra={"server": f"{toolbox}/{server}"})
        notes.append(_note(server, note))
    return tools


def _tool(toolbox: str, server: str, name: str, definition: bytes) -> bytes:
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
