"""The admission of a real process: which requests it serves, and what happens to clients that lose their
token.
"""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from mcp_workbench.serve.admission.access_tokens import LEEWAY_SECONDS
from tests.cli.commands import Bench
from tests.grid.benches import conversing_server
from tests.grid.questions import form
from tests.serve.admission.issuer import RESOURCE, SCOPES, running
from tests.serve.admission.shared import TokenClient, sharing
from tests.serve.admission.test_tokens import ALICE, BOB, OTHER, write_tokens
from tests.support.client import write_config
from tests.support.configs import server, toolboxes
from tests.support.journal import Journal
from tests.support.sessions import text_of
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.serve.admission.issuer import Issuer
    from tests.serve.admission.shared import Shared, Stream
    from tests.support.client import Json
    from tests.support.sessions import Era

CONFIG = toolboxes(dev={"echo": server()}, docs={"echo": server()})
PAGE = "https://app.example.com"
CHANGES = {"toolsListChanged": True}


def asked_in(stream: Stream) -> list[Json]:
    """The questions among all that is said there."""
    return [message for message in stream.messages if "id" in message]


@asynccontextmanager
async def trusting(home: Path, **http: object) -> AsyncIterator[tuple[Issuer, Shared]]:
    """A workbench that takes the access tokens of an issuer, and that issuer."""
    async with running() as issuer:
        oauth = {"issuer": issuer.address, "resource": RESOURCE, "scopes": SCOPES}
        async with sharing(home, CONFIG | {"http": {"oauth": oauth, **http}}) as shared:
            yield issuer, shared


both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])


@both_eras
async def test_on_loopback_without_tokens_everybody_is_served(tmp_path: Path, era: Era) -> None:
    async with sharing(tmp_path, CONFIG) as shared:
        client = await shared.client(None, era)
        assert text_of(await client.use_tool("dev", "echo", "echo")) == "{}"


@both_eras
async def test_without_a_valid_token_no_request_is_served_and_the_answer_says_why(
    tmp_path: Path, era: Era
) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]))
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        assert text_of(await (await shared.client(ALICE, era)).use_tool("dev", "echo", "echo")) == "{}"
        refused = [await TokenClient(shared, token, era).send("tools/list") for token in (None, OTHER)]
    assert [response.status_code for response in refused] == [401, 401]
    challenges = [response.headers["www-authenticate"] for response in refused]
    assert challenges[0] == 'Bearer realm="mcp-workbench"'
    assert challenges[1].startswith('Bearer realm="mcp-workbench", error="invalid_token"')
    assert "Authorization: Bearer" in refused[0].json()["error"]["message"]
    assert ALICE not in shared.log
    assert OTHER not in shared.log


async def test_a_request_of_a_strange_host_or_page_is_refused(tmp_path: Path) -> None:
    config = CONFIG | {"http": {"allowedOrigins": [PAGE]}}
    async with sharing(tmp_path, config) as shared:
        client = TokenClient(shared, None, "modern")
        message, headers = client.dressed("tools/list", {})
        strange = [{"host": "evil.example"}, {"origin": "https://evil.example"}]
        refused = [await shared.post(message, headers | more) for more in strange]
        allowed = await shared.post(message, headers | {"origin": PAGE})
        asked = await shared.http.options(
            shared.url,
            headers={"origin": PAGE, "access-control-request-headers": "mcp-method"},
        )
    assert [response.status_code for response in refused] == [421, 403]
    assert "allowedHosts" in refused[0].text
    assert "allowedOrigins" in refused[1].text
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert (asked.status_code, asked.headers["access-control-allow-headers"]) == (204, "mcp-method")
    assert "evil.example" in shared.log


async def test_a_session_is_good_only_for_whoever_has_opened_it(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        alice = await shared.client(ALICE, "legacy")
        stolen = alice.headers | {"authorization": f"Bearer {BOB}"}
        message, _ = alice.dressed("tools/list", {})
        posted = await shared.post(message, stolen)
        ended = await shared.http.delete(shared.url, headers=stolen)
        assert [posted.status_code, ended.status_code] == [404, 404]
        assert "result" in await alice.request("tools/list")


@both_eras
async def test_a_token_that_is_taken_back_ends_what_its_holder_has_open(tmp_path: Path, era: Era) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        alice, bob = await shared.client(ALICE, era), await shared.client(BOB, era)
        async with alice.listening(CHANGES) as kept, bob.listening(CHANGES) as lost:
            write_tokens(tmp_path, alice=(ALICE, ["*"]))
            await poll(lambda: lost.has_ended)
            assert not kept.has_ended
            assert (await bob.send("tools/list")).status_code == 401
            assert "result" in await alice.request("tools/list")


@both_eras
@pytest.mark.parametrize("how", ["emptied", "deleted"])
async def test_a_leaked_last_token_is_taken_back_by_an_emptied_or_deleted_file(
    tmp_path: Path, era: Era, how: str
) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]))
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        alice = await shared.client(ALICE, era)
        async with alice.listening(CHANGES) as stream:
            if how == "emptied":
                tokens.write_bytes(b"")
            else:
                tokens.unlink()
            await poll(lambda: stream.has_ended)
        assert (await alice.send("tools/list")).status_code == 401
        nobody = TokenClient(shared, None, era)
        assert (await nobody.send("tools/list")).status_code == 401
        write_tokens(tmp_path, alice=(ALICE, ["*"]))
        await poll(lambda: "the tokens are reloaded" in shared.log)
        again = await shared.client(ALICE, era)
        assert "result" in await again.request("tools/list")
        assert shared.log.count("has no tokens any more") == 1


@both_eras
async def test_what_somebody_has_open_ends_when_the_token_of_the_file_expires(
    tmp_path: Path, era: Era
) -> None:
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    tree = json.loads(tokens.read_text(encoding="utf-8"))
    soon = datetime.now(UTC) + timedelta(seconds=5)
    tree["tokens"]["alice"]["expires"] = soon.isoformat()
    tokens.write_text(json.dumps(tree), encoding="utf-8")
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        alice, bob = await shared.client(ALICE, era), await shared.client(BOB, era)
        async with alice.listening(CHANGES) as ending, bob.listening(CHANGES) as kept:
            await poll(lambda: ending.has_ended)
            assert datetime.now(UTC) >= soon
            assert not kept.has_ended
        refused = await alice.send("tools/list")
        assert refused.status_code == 401
        assert "The token has expired" in refused.headers["www-authenticate"]
        assert "result" in await bob.request("tools/list")
        await poll(lambda: "the token of alice has expired" in shared.log)
        assert ALICE not in shared.log


@both_eras
async def test_what_a_token_allows_may_change_and_counts_at_once(tmp_path: Path, era: Era) -> None:
    tokens = write_tokens(tmp_path, bob=(BOB, ["*"]))
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        assert "docs" in (await shared.client(BOB, era)).greeting["instructions"]
        write_tokens(tmp_path, bob=(BOB, ["dev"]))
        await poll(lambda: "the tokens are reloaded" in shared.log)
        bob = await shared.client(BOB, era)
        assert "docs" not in bob.greeting["instructions"]
        assert "not found" in json.dumps(await bob.open_toolbox("docs"))


@both_eras
async def test_an_access_token_of_the_issuer_lets_in_to_the_toolboxes_of_its_scopes(
    tmp_path: Path, era: Era
) -> None:
    async with trusting(tmp_path, allowedOrigins=[PAGE]) as (issuer, shared):
        token = issuer.sign()
        client = await shared.client(token, era)
        assert text_of(await client.use_tool("dev", "echo", "echo")) == "{}"
        assert "docs" not in client.greeting["instructions"]
        expired, poor = [
            await TokenClient(shared, it, era).send("tools/list")
            for it in (issuer.sign(exp=1), issuer.sign(scope="openid"))
        ]
        assert [expired.status_code, poor.status_code] == [401, 403]
        where = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in expired.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in poor.headers["www-authenticate"]
        root = shared.url.removesuffix("/mcp")
        described = await shared.http.get(root + urlsplit(where).path, headers={"origin": PAGE})
        assert described.json()["authorization_servers"] == [issuer.address]
        assert described.headers["access-control-allow-origin"] == PAGE
        assert token not in shared.log


@both_eras
async def test_a_stream_ends_with_the_token_of_whoever_listens_and_the_client_can_come_back(
    tmp_path: Path, era: Era
) -> None:
    async with trusting(tmp_path) as (issuer, shared):
        soon = time.time() - LEEWAY_SECONDS + 4
        alice = await shared.client(issuer.sign(exp=soon), era)
        bob = await shared.client(issuer.sign(sub="bob"), era)
        async with alice.listening(CHANGES) as ending, bob.listening(CHANGES) as kept:
            await poll(lambda: ending.has_ended)
            assert not kept.has_ended
        assert (await alice.send("tools/list")).status_code == 401
        alice.headers |= {"authorization": f"Bearer {issuer.sign()}"}
        async with alice.listening(CHANGES) as again:
            assert "result" in await alice.request("tools/list")
            assert not again.has_ended


async def test_a_name_that_is_allowed_while_it_runs_counts_from_then_on(tmp_path: Path) -> None:
    async with sharing(tmp_path, CONFIG) as shared:
        message, headers = TokenClient(shared, None, "modern").dressed("tools/list", {})
        headers["host"] = "mcp.example.com"
        assert (await shared.post(message, headers)).status_code == 421
        write_config(tmp_path, CONFIG | {"http": {"allowedHosts": ["mcp.example.com"]}})
        await poll(lambda: "the configuration is reloaded" in shared.log)
        assert (await shared.post(message, headers)).status_code == 200


async def test_without_an_issuer_there_is_no_metadata(tmp_path: Path) -> None:
    async with sharing(tmp_path, CONFIG) as shared:
        root = shared.url.removesuffix("/mcp")
        assert (await shared.http.get(f"{root}/.well-known/oauth-protected-resource")).status_code == 404


async def test_a_server_asks_no_client_that_may_not_use_it_even_if_it_is_the_only_one(tmp_path: Path) -> None:
    journals = {name: Journal(tmp_path / name) for name in ("dev", "vault")}
    boxes = {name: {"asker": conversing_server("legacy", journal)} for name, journal in journals.items()}
    tokens = write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["dev"]))
    async with sharing(tmp_path, toolboxes(**boxes), "--token-file", str(tokens)) as shared:
        bob, alice = await shared.client(BOB, "legacy"), await shared.client(ALICE, "modern")
        async with bob.listening({}) as heard:
            for name, client in (("vault", alice), ("dev", bob)):
                now = tmp_path / f"{name}-now"
                steps = [{"ask_later": {"question": form(f"from {name}"), "when": str(now)}}]
                await client.use_tool(name, "asker", "converse", {"steps": steps})
                now.touch()
                if name == "vault":
                    await journals[name].wait_until(lambda journal: journal.events("answered"))
            await poll(lambda: asked_in(heard))
    assert "error" in journals["vault"].events("answered")[0]["answer"]
    assert [question["params"]["message"] for question in asked_in(heard)] == ["[dev/asker] from dev"]


def test_beyond_loopback_a_start_without_tokens_ends_with_exit_code_2(tmp_path: Path) -> None:
    write_config(tmp_path, CONFIG)
    done = Bench(tmp_path).run("serve", "--http", "0.0.0.0:0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "mcp-workbench token alice --token-file tokens.json" in done.stderr


def test_a_bad_token_file_ends_the_start_with_all_that_is_wrong(tmp_path: Path) -> None:
    write_config(tmp_path, CONFIG)
    tokens = write_tokens(tmp_path, alice=("short", ["*"]), **{"b b": (BOB, ["*"])})
    done = Bench(tmp_path).run("serve", "--http", "127.0.0.1:0", "--token-file", str(tokens))
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 problems in the configuration" in done.stderr
    assert BOB not in done.stderr
