"""A server that tells its secrets in the definitions of its tools tells them to no model."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.support.configs import server, tool, toolboxes

if TYPE_CHECKING:
    from tests.conftest import Connect
    from tests.support.client import Json

SECRET = "hunter2-and-more"  # noqa: S105 - made up for these tests
SPELLED = [SECRET, base64.b64encode(f"ann:{SECRET}".encode()).decode(), SECRET.encode().hex()]
DESCRIPTION = f"Logs in as ann with {' or '.join(SPELLED)}, for production files in /srv/files"
SCHEMA = {"type": "object", "properties": {"mode": {"enum": ["production"], "default": SECRET}}}
ENTRY: Json = {"env": {"API_TOKEN": SECRET, "MODE": "production", "ROOT": "/srv/files"}}


async def test_no_way_to_see_a_definition_shows_a_secret(connect: Connect) -> None:
    tools = [tool("fetch", description=DESCRIPTION, inputSchema=SCHEMA), tool("other")]
    session = await connect(toolboxes(dev={"files": server(entry=ENTRY, tools=tools)}))
    opened = await session.open_toolbox("dev")
    by_name = await session.call("open_toolbox", {"tools": ["fetch"]})
    found = await session.call("open_toolbox", {"query": "log in"})
    for shown in (json.dumps(answer) for answer in (opened, by_name, found)):
        assert "<env API_TOKEN>" in shown
        assert not any(spelled[2:-2] in shown for spelled in SPELLED)
        assert "production files in /srv/files" in shown
    assert "enum" in json.dumps(by_name)
    assert "<env MODE>" not in json.dumps(by_name)
