"""Whatever a server lists can be written to the lock and read again, and then is what was approved."""

from __future__ import annotations

import msgspec
import pytest

from mcp_workbench.storage.trust.lock_file import FILE_NAME, LockedServer, decode_lock, encode_lock
from mcp_workbench.storage.trust.pin_records import ServerPin, ToolPin
from mcp_workbench.workbench.trust.differences import tool_changes
from mcp_workbench.workbench.trust.digests import definition_digest, program_digest, text_digest
from mcp_workbench.workbench.trust.lock_entries import differences, locked_tool, pinned_server

PLAIN = msgspec.Raw(
    b'{"name": "t", "description": "Does it", "annotations": {"readOnlyHint": true}, "icons": []}'
)
ODD = {
    "a member twice": b'{"name": "t", "description": "one", "description": "two"}',
    "a member of a schema twice": b'{"name": "t", "inputSchema": {"type": "object", "type": "string"}}',
    "a lone surrogate": rb'{"name": "t", "description": "a\ud800"}',
    "hidden characters": '{"name": "t", "description": "a\u202e\u200b\U000e0041"}'.encode(),
    "numbers": b'{"name": "t", "inputSchema": {"a": 1.0, "b": 1e30, "c": 123456789012345678901234567890}}',
}


def server(definition: msgspec.Raw) -> LockedServer:
    tools = {"t": locked_tool(definition)}
    return LockedServer(identity=program_digest("p"), program="p", tools=tools)


@pytest.mark.parametrize("definition", ODD.values(), ids=ODD)
def test_an_odd_definition_survives_and_is_not_the_plain_one(definition: bytes) -> None:
    raw = msgspec.Raw(definition)
    data = encode_lock({("d", "s"): server(raw)})
    read = decode_lock(FILE_NAME, data, definition_digest)["d", "s"]
    assert read.tools["t"].digest == definition_digest(raw)
    assert differences(read, server(raw)) == []
    assert tool_changes(PLAIN, raw)


def test_a_number_that_json_cannot_hold_cannot_be_locked() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        locked_tool(msgspec.Raw(b'{"name": "t", "inputSchema": {"maximum": 1e999}}'))


def test_what_is_pinned_becomes_an_entry_and_lost_texts_are_left_out() -> None:
    digest = definition_digest(PLAIN)
    pins = {
        name: ToolPin(digest=known, hints={"readOnlyHint": True}, since=0.0, by="first")
        for name, known in (("t", digest), ("lost", "sha256:" + "0" * 64))
    }
    said = text_digest("Be nice.")
    pin = ServerPin(identity=program_digest("p"), program="p", instructions=said, tools=pins)
    entry = pinned_server(pin, {digest: PLAIN, said: msgspec.Raw(b'"Be nice."')})
    expected = msgspec.structs.replace(server(PLAIN), instructions="Be nice.")
    assert entry == expected
    assert bytes(entry.tools["t"].definition) == b'{"name": "t", "description": "Does it"}'
