"""Resources, prompts and completions of a real server: the same through the workbench, but for the names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.real import servers
from tests.real.results import substance
from tests.support.client import Json, RawClient, clean_environment
from tests.support.configs import toolboxes
from tests.support.sessions import LegacySession, Session, result_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect

OURS = "real/server/"
RESOURCE = "demo://resource/dynamic/text/1"
TEMPLATE = "demo://resource/dynamic/text/{resourceId}"
LISTS = ("resources/list", "resources/templates/list", "prompts/list")


def requests(resource: str, prompt: str) -> list[tuple[str, Json]]:
    """What is asked for, with this before a resource's URI and that before a prompt's name."""
    teams = {"type": "ref/prompt", "name": f"{prompt}completable-prompt"}
    template = {"type": "ref/resource", "uri": resource + TEMPLATE}
    return [
        ("resources/read", {"uri": resource + RESOURCE}),
        ("resources/read", {"uri": f"{resource}demo://resource/static/document/features.md"}),
        ("prompts/get", {"name": f"{prompt}simple-prompt"}),
        ("prompts/get", {"name": f"{prompt}args-prompt", "arguments": {"city": "Århus"}}),
        (
            "prompts/get",
            {"name": f"{prompt}resource-prompt", "arguments": {"resourceType": "Text", "resourceId": "1"}},
        ),
        ("completion/complete", {"ref": teams, "argument": {"name": "department", "value": "E"}}),
        ("completion/complete", {"ref": template, "argument": {"name": "resourceId", "value": "1"}}),
    ]


async def answers(session: Session, asked: list[tuple[str, Json]]) -> list[Json]:
    """The results, without the time of day and what every modern hop adds."""
    results = [substance(result_of(await session.request(method, params))) for method, params in asked]
    told: list[Json] = json.loads(re.sub(r"\d+:\d\d:\d\d [AP]M", "now", json.dumps(results)))
    return [{key: it[key] for key in it if key not in ("ttlMs", "cacheScope")} for it in told]


async def test_contents_of_a_real_server_are_the_same_through_the_workbench(
    connect: Connect, tmp_path: Path
) -> None:
    entry = servers.everything()
    lists: list[tuple[str, Json]] = [(method, {}) for method in LISTS]
    async with RawClient([entry["command"], *entry["args"]], clean_environment(tmp_path)) as client:
        direct = LegacySession(client)
        await direct.greet()
        listed, fetched = await answers(direct, lists), await answers(direct, requests("", ""))

    session = await connect(toolboxes(real={"server": entry}))
    await session.open_toolbox("real")
    ours = json.dumps(await answers(session, lists))
    assert json.loads(ours.replace(f"workbench:{OURS}", "").replace(OURS, "")) == listed
    assert await answers(session, requests(f"workbench:{OURS}", OURS)) == fetched


async def test_links_of_a_real_server_can_be_read(connect: Connect) -> None:
    session = await connect(toolboxes(real={"server": servers.everything()}))
    linked = await session.use_tool("real", "server", "get-resource-links", {"count": 4})
    uris = [content["uri"] for content in linked["content"] if content["type"] == "resource_link"]
    assert len(uris) == 4
    for uri in uris:
        (contents,) = result_of(await session.request("resources/read", {"uri": uri}))["contents"]
        assert contents["uri"] == uri


async def test_updates_of_a_real_server_are_heard(connect: Connect) -> None:
    uri = f"workbench:{OURS}{RESOURCE}"
    session = await connect(toolboxes(real={"server": servers.everything()}))
    if session.era == "legacy":
        assert result_of(await session.request("resources/subscribe", {"uri": uri})) == {}
    else:
        wanted = json.dumps({"notifications": {"resourceSubscriptions": [uri]}})
        await session.begin("subscriptions/listen", wanted)
        await session.client.wait_for(lambda it: it.get("method", "").endswith("/acknowledged"))
    await session.use_tool("real", "server", "toggle-subscriber-updates")
    told = await session.client.wait_for(lambda it: it.get("method") == "notifications/resources/updated")
    assert told["params"]["uri"] == uri
    # A server with its timer running would not leave by itself.
    await session.use_tool("real", "server", "toggle-subscriber-updates")
