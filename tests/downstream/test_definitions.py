"""What a definition says live is what the catalogue says: secrets are masked in both, nothing else is."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.downstream import definitions
from tests.downstream.servers import server
from tests.support.configs import server as scripted
from tests.support.configs import tool
from tests.support.waiting import PATIENCE
from tests.wire.loops import ON_BOTH_LOOPS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.support.sessions import Era

pytestmark = ON_BOTH_LOOPS

SECRET = "hunter2-and-more"  # noqa: S105 - made up for these tests
LABELS = {SECRET: "<env TOKEN>", "production": "<env MODE>", "/srv/files": "${ROOT}"}
TELLING = tool("tell", description=f'Uses "{SECRET}", or {base64.b64encode(SECRET.encode()).decode()}')
PLAIN = tool("plain", description="Reads /srv/files in production \u00e9 \\u00e9")


async def test_a_secret_is_masked_live_as_it_is_in_the_catalogue(tmp_path: Path, server_era: Era) -> None:
    entry = scripted(era=server_era, tools=[TELLING, PLAIN])
    async with server(entry, tmp_path, LABELS) as it:
        live = (await it.connect(modern=True)).listed
    record = it.recalled()
    assert record is not None
    assert [bytes(definition) for definition in live] == [bytes(kept) for kept in record.tools]
    telling, plain = (json.loads(bytes(definition)) for definition in live)
    assert telling["description"] == 'Uses "<env TOKEN>", or <env TOKEN>'
    # Words and paths of the configuration are what a model has to know.
    assert plain == json.loads(PLAIN)


async def test_a_tool_with_a_secret_in_its_name_is_left_out_of_both_with_a_note(tmp_path: Path) -> None:
    entry = scripted(tools=[tool(f"call_{SECRET}"), PLAIN])
    async with server(entry, tmp_path, LABELS) as it:
        connection = await it.connect(modern=True)
        live, (note,) = connection.listed, connection.notes
    assert [json.loads(bytes(definition))["name"] for definition in live] == ["plain"]
    assert note == "left out the tool 'call_<env TOKEN>': its name contains a secret"
    record = it.recalled()
    assert record is not None
    assert [json.loads(bytes(kept))["name"] for kept in record.tools] == ["plain"]


async def test_a_changed_list_is_masked_too_and_a_long_one_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(definitions, "INLINE_BYTES", 0)
    async with server(scripted(tools=[TELLING, PLAIN]), tmp_path, LABELS) as it:
        connection = await it.connect(modern=True)
        live = connection.listed
        await connection.list_tools(PATIENCE)
        again = connection.listed
    assert again == live
    assert SECRET not in str([bytes(definition) for definition in live])


async def test_a_definition_without_a_secret_stays_the_same_object() -> None:
    raws = tuple(msgspec.Raw(text.encode()) for text in (PLAIN, '{"name":"a", "x" : 1.0e3}', "7"))
    masked, notes = definitions.masked_tools(raws, lambda text: text.replace("nothing", "x"))
    assert notes == []
    assert all(before is after for before, after in zip(raws, masked, strict=True))
