"""The official SDKs on both sides: their clients in every way they connect, their server in both eras."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from mcp import Client

from tests.grid.features import proves
from tests.grid.sdks import KINDS, Kind, Step, Talk
from tests.real.clients import LEGACY, MODERN, Program, parameters, plain
from tests.servers.official import NOTE
from tests.structure.package import ROOT
from tests.support.client import clean_environment, serve_command, write_config
from tests.support.configs import toolboxes
from tests.support.talking import ROOTS, using
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_types import ServerNotification

    from tests.support.client import Json
    from tests.support.sessions import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

SDK = "Python SDK server"
ERAS: tuple[Era, Era] = ("legacy", "modern")


def workbench(home: Path) -> Program:
    """Two copies of the server, which serves either era as it is spoken to."""
    entry = {"command": sys.executable, "args": ["-m", "tests.servers.official"], "cwd": str(ROOT)}
    servers = {"legacy": {**entry, "protocol": "legacy"}, "modern": {**entry, "protocol": MODERN}}
    _, *args = serve_command(write_config(home, toolboxes(dev=servers)))
    return Program(sys.executable, args, clean_environment(home))


def steps_with(server: Era) -> dict[str, Step]:
    silent = ("greet", "interview", "think", "look_around", "visit", "mutter")
    calls: dict[str, Json] = {**{name: {} for name in silent}, "count": {"steps": 3}}
    reference = {"type": "ref/prompt", "name": f"dev/{server}/review"}
    return {
        **{name: Step("callTool", using(server, told, tool=name)) for name, told in calls.items()},
        "list resources": Step("listResources", {}),
        "list templates": Step("listResourceTemplates", {}),
        "read": Step("readResource", {"uri": f"workbench:dev/{server}/{NOTE}"}),
        "list prompts": Step("listPrompts", {}),
        "get": Step("getPrompt", {"name": f"dev/{server}/review", "arguments": {"language": "C"}}),
        "complete": Step("complete", {"ref": reference, "argument": {"name": "language", "value": "P"}}),
    }


@dataclass(frozen=True)
class Visit:
    """What one client saw of one of the servers."""

    kind: Kind
    server: Era
    talk: Talk

    def at(self, step: str) -> int:
        steps = list(steps_with(self.server))
        return ERAS.index(self.server) * len(steps) + steps.index(step)

    def result(self, step: str) -> Json:
        return self.talk.results[self.at(step)]

    def text(self, step: str) -> str:
        (content,) = self.result(step)["content"]
        text: str = content["text"]
        return text

    def asked(self, method: str) -> list[Json]:
        """By both servers, which ask the same in the same order."""
        asked = [it.get("params", {}) for it in self.talk.asked if it["method"] == method]
        half = len(asked) // 2
        return asked[:half] if self.server == "legacy" else asked[half:]


@pytest.fixture(scope="module", params=KINDS, ids=[f"{it.name} {it.era}" for it in KINDS])
def sdk(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talk(sdk: Kind, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    program = workbench(tmp_path_factory.mktemp("talk"))
    return await sdk.talk(program, [step for era in ERAS for step in steps_with(era).values()])


@pytest.fixture
def visit(sdk: Kind, talk: Talk, server_era: Era) -> Visit:
    assert talk.version == sdk.version
    return Visit(sdk, server_era, talk)


@proves("elicitation-form", by=SDK)
async def test_a_form_is_filled_in(visit: Visit) -> None:
    assert visit.text("greet") == "Hello, Your name?"
    shown = [it["message"] for it in visit.asked("elicitation/create")]
    assert f"[dev/{visit.server}] Your name?" in shown


@proves("elicitation-url", by=SDK)
async def test_an_address_is_visited(visit: Visit) -> None:
    assert visit.text("visit") == "accept"
    (asked,) = [it for it in visit.asked("elicitation/create") if it.get("mode") == "url"]
    assert asked["url"] == "https://example.org/sign-in"


@proves("rounds", by=SDK)
async def test_an_interview_takes_two_rounds(visit: Visit) -> None:
    assert visit.text("interview") == "Your name?, And then, Your name??"


@proves("sampling", by=SDK)
async def test_a_model_is_sampled(visit: Visit) -> None:
    assert visit.text("think") == "on tea"


@proves("roots", by=SDK)
async def test_roots_are_listed(visit: Visit) -> None:
    assert visit.text("look_around") == ROOTS[0]["uri"]


@proves("progress", by=SDK)
async def test_progress_is_reported(visit: Visit) -> None:
    told = visit.talk.progress[visit.at("count")]
    assert told == [{"progress": step, "total": 3, "message": f"step {step}"} for step in (1, 2, 3)]
    assert visit.text("count") == "counted"


@proves("logging", by=SDK)
async def test_log_messages_arrive_with_their_origin(visit: Visit) -> None:
    origin = f"dev/{visit.server}"
    own = [it for it in visit.talk.logs if it["logger"].startswith(origin)]
    assert own == [
        {"level": "debug", "logger": f"{origin}/db", "data": "a trifle"},
        {"level": "error", "logger": origin, "data": {"code": 7}},
    ]


@proves("resources", by=SDK)
async def test_resources_and_templates_are_listed(visit: Visit) -> None:
    origin = f"workbench:dev/{visit.server}/"
    uris = [it["uri"] for it in visit.result("list resources")["resources"]]
    templates = [it["uriTemplate"] for it in visit.result("list templates")["resourceTemplates"]]
    assert [uri for uri in uris if uri.startswith(origin)] == [origin + NOTE]
    assert [it for it in templates if it.startswith(origin)] == [origin + "note://{day}/page"]


@proves("read", by=SDK)
async def test_a_resource_is_read(visit: Visit) -> None:
    (contents,) = visit.result("read")["contents"]
    assert (contents["uri"], contents["text"]) == (NOTE, "Nothing today")


@proves("prompts", by=SDK)
async def test_prompts_are_listed_and_fetched(visit: Visit) -> None:
    names = [it["name"] for it in visit.result("list prompts")["prompts"]]
    assert f"dev/{visit.server}/review" in names
    (message,) = visit.result("get")["messages"]
    assert message["content"]["text"] == "Review this C"


@proves("completion", by=SDK)
async def test_an_argument_is_completed(visit: Visit) -> None:
    assert visit.result("complete")["completion"]["values"] == ["review language P"]


@proves("listen", client="modern", server="modern", by=f"Python SDK client, {SDK}")
@proves("subscribe", client="modern", server="modern", by=f"Python SDK client, {SDK}")
async def test_a_client_on_the_python_sdk_listens(tmp_path: Path) -> None:
    uri = f"workbench:dev/modern/{NOTE}"
    async with (
        asyncio.timeout(2 * PATIENCE),
        Client(parameters(workbench(tmp_path)), mode=MODERN) as client,
    ):
        await client.call_tool("open_toolbox", {"toolbox_name": "dev"})
        async with client.listen(resource_subscriptions=[uri], prompts_list_changed=True) as stream:
            told = using("modern", {}, tool="rewrite")
            await client.call_tool(told["name"], told["arguments"])
            seen = {repr(await anext(aiter(stream))) for _ in range(2)}
    assert seen == {f"ResourceUpdated(uri='{uri}')", "PromptsListChanged()"}


@proves("lists-changed", client="legacy", server="legacy", by=f"Python SDK client, {SDK}")
async def test_a_legacy_client_on_the_python_sdk_hears_of_changed_prompts(tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: ServerNotification | Exception) -> None:
        assert not isinstance(message, Exception)
        heard.put_nowait(message.method)

    async with (
        asyncio.timeout(2 * PATIENCE),
        Client(parameters(workbench(tmp_path)), mode="legacy", message_handler=note) as client,
    ):
        assert client.protocol_version == LEGACY
        told = using("legacy", {}, tool="rewrite")
        result = plain(await client.call_tool(told["name"], told["arguments"]))
        assert json.dumps(result["content"])
        while await heard.get() != "notifications/prompts/list_changed":
            pass
