"""Tool results of our own making: the listing of a toolbox, and errors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode
from mcp_workbench.workbench.sanitise import clean_definition, clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError, StartError
    from mcp_workbench.workbench.toolbox import Opening

log = logging.getLogger(__name__)

OURS = ("name", "toolbox_name", "source_server", "description")


def opening_result(opening: Opening) -> tuple[bytes, ...]:
    """The result of `open_toolbox`: one JSON object, as text and as structured content. In parts, for it may
    have megabytes."""
    toolbox = opening.toolbox
    tools = [
        _tool(toolbox.name, server, name, raw)
        for server, index in opening.tools
        for name, raw in index.items()
    ]
    head = b'{"toolbox":%b,"description":%b,"servers_connected":%d,"tools":[' % (
        encode(toolbox.name),
        encode(toolbox.description),
        len(opening.tools),
    )
    listing = b"".join((head, b",".join(tools), b"]", _failures(opening.failures), b"}"))
    # The text is what the model reads: no white space that it would pay for. The structure keeps every byte.
    text = encode(msgspec.json.format(listing, indent=-1).decode())
    return b'{"content":[{"type":"text","text":', text, b'}],"structuredContent":', listing, b"}"


def error_result(error: CallError) -> tuple[bytes, ...]:
    """A failure that the model should know of."""
    text = clean_text(str(error))
    return (b'{"content":[{"type":"text","text":%b}],"isError":true}' % encode(text),)


def _tool(toolbox: str, server: str, name: str, raw: msgspec.Raw) -> bytes:
    """A definition as it came, with our identifying fields and the origin before its description."""
    definition, removed = clean_definition(bytes(raw))
    if removed:
        log.warning(
            "[%s/%s] hidden characters removed from the tool '%s': %d", toolbox, server, name, removed
        )
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


def _failures(failures: list[StartError]) -> bytes:
    if not failures:
        return b""
    described = []
    for failure in failures:
        entry: dict[str, object] = {"server": failure.server, "error": clean_text(str(failure))}
        if failure.stderr:
            entry["stderr"] = [clean_text(line) for line in failure.stderr]
        if failure.hint:
            entry["hint"] = failure.hint
        described.append(entry)
    return b',"failed_servers":%b' % encode(described)
