"""The protocol's reference server, which is legacy: all that it asks and tells, to clients of both eras."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.grid.features import proves
from tests.real import servers
from tests.servers.wares import RESERVED, SUBSCRIPTION
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import toolboxes
from tests.support.sessions import RpcError, session_of
from tests.support.talking import ROOTS, Talker, able, oblige, using

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVERYTHING = "server-everything"
STATIC = "demo://resource/static/document/features.md"


@pytest.fixture(scope="module", params=["legacy", "modern"])
def client_era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_talker(client_era: Era, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talker]:
    home = tmp_path_factory.mktemp(client_era)
    command = serve_command(write_config(home, toolboxes(dev={"all": servers.everything()})))
    async with RawClient(command, clean_environment(home)) as client:
        session = session_of(client_era, client)
        session.capabilities = able(client_era)
        await session.greet()
        await session.open_toolbox("dev")
        yield Talker(session)


@pytest.fixture
def talker(shared_talker: Talker) -> Talker:
    shared_talker.begin_anew()
    return shared_talker


async def use(talker: Talker, tool: str, arguments: Json | None = None, meta: Json | None = None) -> str:
    """All the text of a result."""
    result = await talker.request("tools/call", using("all", arguments or {}, tool=tool), meta)
    assert result.get("isError", False) is False, result
    return "\n".join(content["text"] for content in result["content"] if "text" in content)


def answering(talker: Talker, method: str, result: Json) -> None:
    """Answers one kind of question so; the server asks for the roots when it likes to."""
    talker.respond = lambda question: {"result": result} if question["method"] == method else oblige(question)


def asked(talker: Talker, method: str) -> list[Json]:
    return [question["params"] for question in talker.asked if question["method"] == method]


@proves("elicitation-form", server="legacy", by=EVERYTHING)
async def test_it_asks_with_a_form_of_every_kind_of_field(talker: Talker) -> None:
    content = {"name": "Ada", "check": True, "integer": 7, "untitledMultipleSelectEnum": ["Piano", "Bass"]}
    answering(talker, "elicitation/create", {"action": "accept", "content": content})
    text = await use(talker, "trigger-elicitation-request")
    assert json.loads(text.partition("Raw result: ")[2]) == {"action": "accept", "content": content}
    (question,) = asked(talker, "elicitation/create")
    assert len(question["requestedSchema"]["properties"]) == 13


@proves("elicitation-refused", server="legacy", by=EVERYTHING)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_it_understands_a_refusal(talker: Talker, action: str) -> None:
    answering(talker, "elicitation/create", {"action": action})
    text = await use(talker, "trigger-elicitation-request")
    assert json.loads(text.partition("Raw result: ")[2]) == {"action": action}


@proves("elicitation-url", server="legacy", by=EVERYTHING)
async def test_it_sends_the_user_to_an_address(talker: Talker) -> None:
    text = await use(talker, "trigger-url-elicitation", {"url": "https://example.org/a", "message": "Go"})
    (question,) = asked(talker, "elicitation/create")
    assert (question["mode"], question["url"]) == ("url", "https://example.org/a")
    assert question["message"] == "[dev/all] (opens example.org) Go"
    assert "accept" in text


@proves("url-required", server="legacy", by=EVERYTHING)
async def test_it_refuses_a_call_until_an_address_is_visited(talker: Talker) -> None:
    arguments = {"url": "https://example.org/b", "message": "Go", "errorPath": True}
    if talker.session.era == "legacy":
        with pytest.raises(RpcError) as refused:
            await use(talker, "trigger-url-elicitation", arguments)
        assert refused.value.error["code"] == -32042
        (needed,) = refused.value.error["data"]["elicitations"]
        assert needed["url"] == "https://modelcontextprotocol.io"
    # Once the address is visited, the same call goes through; a modern client makes it by itself.
    await use(talker, "trigger-url-elicitation", arguments)
    assert asked(talker, "elicitation/create")[-1]["url"] == "https://example.org/b"


@proves("sampling", server="legacy", by=EVERYTHING)
async def test_it_samples(talker: Talker) -> None:
    said = {"role": "assistant", "content": {"type": "text", "text": "Certainly"}, "model": "raw-model"}
    answering(talker, "sampling/createMessage", said)
    text = await use(talker, "trigger-sampling-request", {"prompt": "Is it?", "maxTokens": 5})
    assert "Certainly" in text
    (question,) = asked(talker, "sampling/createMessage")
    assert question["maxTokens"] == 5


@proves("roots", server="legacy", by=EVERYTHING)
async def test_it_lists_the_roots(talker: Talker) -> None:
    text = await use(talker, "get-roots-list")
    assert str(ROOTS[0]["uri"]) in text


@proves("progress", server="legacy", by=EVERYTHING)
async def test_it_reports_progress(talker: Talker) -> None:
    arguments = {"duration": 0.1, "steps": 3}
    await use(talker, "trigger-long-running-operation", arguments, {"progressToken": "mine"})
    told = [it for it in talker.session.client.notifications if it["method"] == "notifications/progress"]
    assert [it["params"] for it in told] == [
        {"progressToken": "mine", "progress": step, "total": 3} for step in (1, 2, 3)
    ]


@proves("logging", server="legacy", by=EVERYTHING)
async def test_it_logs(talker: Talker) -> None:
    """At once when it is told to, and each five seconds from then on: it is told to stop as well."""
    client = talker.session.client
    meta = {} if talker.session.era == "legacy" else {RESERVED + "logLevel": "debug"}
    await use(talker, "toggle-simulated-logging", {}, meta)
    message = await client.wait_for(
        lambda it: it.get("method") == "notifications/message" and "evel" in str(it["params"]["data"])
    )
    await use(talker, "toggle-simulated-logging", {}, meta)
    assert message["params"]["logger"] == "dev/all"


@proves("resources", server="legacy", by=EVERYTHING)
async def test_its_resources_and_templates_are_listed(talker: Talker) -> None:
    resources = (await talker.request("resources/list", {}))["resources"]
    templates = (await talker.request("resources/templates/list", {}))["resourceTemplates"]
    assert f"workbench:dev/all/{STATIC}" in [it["uri"] for it in resources]
    assert [it["uriTemplate"] for it in templates] == [
        "workbench:dev/all/demo://resource/dynamic/text/{resourceId}",
        "workbench:dev/all/demo://resource/dynamic/blob/{resourceId}",
    ]


@proves("read", server="legacy", by=EVERYTHING)
async def test_its_resources_are_read(talker: Talker) -> None:
    read = await talker.request("resources/read", {"uri": f"workbench:dev/all/{STATIC}"})
    (contents,) = read["contents"]
    assert (contents["uri"], contents["mimeType"]) == (STATIC, "text/markdown")
    assert contents["text"].startswith("# ")


@proves("links", server="legacy", by=EVERYTHING)
async def test_its_links_are_read(talker: Talker) -> None:
    used = using("all", {"count": 4}, tool="get-resource-links")
    _, *links = (await talker.request("tools/call", used))["content"]
    for link in links:
        (contents,) = (await talker.request("resources/read", {"uri": link["uri"]}))["contents"]
        assert contents["uri"] == link["uri"]
    assert len(links) == 4


@proves("subscribe", server="legacy", by=EVERYTHING)
async def test_it_tells_of_updates(talker: Talker) -> None:
    """At once when it is told to, and each five seconds from then on: it is told to stop as well."""
    client, uri = talker.session.client, f"workbench:dev/all/{STATIC}"
    if talker.session.era == "legacy":
        await talker.request("resources/subscribe", {"uri": uri})
    else:
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        await talker.session.begin("subscriptions/listen", json.dumps(wanted), request_id="ear")
        await client.wait_for(lambda it: it.get("method", "").endswith("/acknowledged"))
    await use(talker, "toggle-subscriber-updates")
    note = await client.wait_for(lambda it: it.get("method") == "notifications/resources/updated")
    await use(talker, "toggle-subscriber-updates")
    assert note["params"]["uri"] == uri
    if talker.session.era == "modern":
        assert note["params"]["_meta"][SUBSCRIPTION] == "ear"


@proves("prompts", server="legacy", by=EVERYTHING)
async def test_its_prompts_are_listed_and_fetched(talker: Talker) -> None:
    listed = (await talker.request("prompts/list", {}))["prompts"]
    assert [it["name"] for it in listed] == [
        "dev/all/simple-prompt",
        "dev/all/args-prompt",
        "dev/all/completable-prompt",
        "dev/all/resource-prompt",
    ]
    getting = {"name": "dev/all/args-prompt", "arguments": {"city": "Ulm"}}
    (message,) = (await talker.request("prompts/get", getting))["messages"]
    assert message["content"]["text"] == "What's weather in Ulm?"


@proves("completion", server="legacy", by=EVERYTHING)
async def test_it_completes_with_the_context_of_other_arguments(talker: Talker) -> None:
    reference = {"type": "ref/prompt", "name": "dev/all/completable-prompt"}
    asking = {
        "ref": reference,
        "argument": {"name": "name", "value": "A"},
        "context": {"arguments": {"department": "Engineering"}},
    }
    completed = await talker.request("completion/complete", asking)
    assert completed["completion"]["values"] == ["Alice"]
    template = "workbench:dev/all/demo://resource/dynamic/text/{resourceId}"
    asking = {
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "resourceId", "value": "7"},
    }
    completed = await talker.request("completion/complete", asking)
    assert completed["completion"]["values"] == ["7"]
