"""A toolbox that a client may not use does not exist for it, whatever the client asks.

Bob may use `dev`, Alice all toolboxes. Bob gets the same answers about `vault` as about a toolbox that does
not exist.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB, write_tokens
from tests.support.configs import tool, toolboxes
from tests.support.sessions import failure_of, text_of
from tests.support.stocks import listing, stock
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.admission.shared import Shared, TokenClient
    from tests.support.client import Json
    from tests.support.sessions import Era

GOODS = {
    "resources/list": listing("resources", '{"uri":"file:///secret","name":"secret"}'),
    "resources/templates/list": listing(
        "resourceTemplates", '{"uriTemplate":"file:///secret/{name}","name":"secret"}'
    ),
    "prompts/list": listing("prompts", '{"name":"secret"}'),
    "prompts/get": '{"resultType":"complete","messages":[]}',
    "completion/complete": '{"resultType":"complete","completion":{"values":["secret"]}}',
}
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
CHANGES = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}
UNKNOWN = "nothing"
"""As long as `vault`, give or take, and in no configuration."""


def config() -> Json:
    behaviours: Any = {"crash": {"do": "crash"}}
    tools = [tool("secret"), tool("crash")]
    vault: Any = stock("modern", answers=GOODS, has=["file:///secret"], tools=tools, behaviours=behaviours)
    dev: Any = stock("modern", answers={"prompts/list": listing("prompts", '{"name":"public"}')})
    return toolboxes(dev={"work": dev}, vault={"keys": vault})


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Shared]:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["dev", "gone"]))
    async with sharing(tmp_path, config(), "--token-file", str(tokens)) as shared:
        alice = await shared.client(ALICE, "modern")
        await alice.open_toolbox("vault")
        yield shared


@pytest.fixture
async def bob(shared: Shared, client_era: Era) -> TokenClient:
    return await shared.client(BOB, client_era)


LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")

pytestmark = pytest.mark.parametrize("client_era", ["legacy", "modern"])


async def test_alice_sees_it(shared: Shared, client_era: Era) -> None:
    alice = await shared.client(ALICE, client_era)
    everything = [alice.greeting, *[await alice.request(method) for method in LISTS]]
    assert ["vault" in json.dumps(seen) for seen in everything] == [True] * 5
    assert text_of(await alice.use_tool("vault", "keys", "secret")) == "{}"


async def test_it_is_in_no_list_and_in_no_description(bob: TokenClient) -> None:
    opened = await bob.open_toolbox("dev")
    text = json.dumps([bob.greeting, opened, *[await bob.request(method) for method in LISTS]])
    assert "dev/work/public" in text
    for word in ("vault", "keys", "secret"):
        assert word not in text


ASKED: list[tuple[str, Json]] = [
    ("tools/call", {"name": "open_toolbox", "arguments": {"toolbox_name": "BOX"}}),
    (
        "tools/call",
        {"name": "use_tool", "arguments": {"tool": {"toolbox": "BOX", "server": "keys", "tool": "secret"}}},
    ),
    (
        "tools/call",
        {"name": "use_tool", "arguments": {"tool": {"toolbox": "BOX", "server": "no", "tool": "no"}}},
    ),
    ("resources/read", {"uri": "workbench:BOX/keys/file:///secret"}),
    ("prompts/get", {"name": "BOX/keys/secret"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "BOX/keys/secret"}, "argument": {"name": "a", "value": ""}},
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "workbench:BOX/keys/file:///secret/{name}"},
            "argument": {"name": "name", "value": ""},
        },
    ),
]


async def test_asking_for_it_by_name_gets_the_words_for_what_does_not_exist(bob: TokenClient) -> None:
    for method, params in ASKED:
        answers = []
        for name in ("vault", UNKNOWN):
            response = await bob.send(method, json.loads(json.dumps(params).replace("BOX", name)))
            answers.append((response.status_code, response.text.replace(name, "BOX")))
        hidden, absent = answers
        assert hidden == absent
        assert "not found" in hidden[1]


async def test_no_search_finds_anything_in_it(shared: Shared, bob: TokenClient, client_era: Era) -> None:
    alice = await shared.client(ALICE, client_era)
    found = await alice.call("open_toolbox", {"query": "secret"})
    assert found["structuredContent"]["tools"][0]["toolbox_name"] == "vault"
    seen = (await bob.call("open_toolbox", {"query": ["secret", "crash"], "limit": 100}))["structuredContent"]
    assert [result["tools"] for result in seen["results"]] == [[], []]
    assert "vault" not in json.dumps(seen)
    hidden = failure_of(await bob.call("open_toolbox", {"tools": ["secret"]}))
    absent = failure_of(await bob.call("open_toolbox", {"tools": ["absent"]}))
    assert hidden.replace("secret", "absent") == absent


async def test_a_resource_without_a_place_is_not_looked_for_there(bob: TokenClient) -> None:
    hidden = await bob.send("resources/read", {"uri": "file:///secret"})
    absent = await bob.send("resources/read", {"uri": "file:///absent"})
    assert (hidden.status_code, hidden.text.replace("secret", "absent")) == (absent.status_code, absent.text)
    assert "error" in hidden.json()


async def test_subscribing_to_its_resources_is_like_subscribing_to_nothing(
    bob: TokenClient, client_era: Era
) -> None:
    uris = [f"workbench:{name}/keys/file:///secret" for name in ("vault", UNKNOWN)]
    if client_era == "modern":
        async with bob.listening({"resourceSubscriptions": uris}) as stream:
            await poll(lambda: stream.messages)
            assert stream.messages[0]["params"]["notifications"].get("resourceSubscriptions", []) == []
        return
    hidden, absent = [await bob.request("resources/subscribe", {"uri": uri}) for uri in uris]
    assert "error" in hidden
    assert json.dumps(hidden).replace("vault", UNKNOWN) == json.dumps(absent)


async def test_what_happens_in_it_is_told_to_nobody_who_may_not_use_it(
    shared: Shared, bob: TokenClient, client_era: Era
) -> None:
    alice = await shared.client(ALICE, client_era)
    changed = "notifications/resources/list_changed"
    async with bob.listening(CHANGES) as heard, alice.listening(CHANGES) as known:
        if client_era == "modern":
            await poll(lambda: heard.messages and known.messages)
        await alice.use_tool("vault", "keys", "crash")
        await alice.use_tool("vault", "keys", "secret")
        await poll(lambda: changed in known.methods)
        assert changed not in heard.methods
        await alice.use_tool("dev", "work", "echo")
        await poll(lambda: changed in heard.methods)
    assert heard.methods.count(changed) == 1
