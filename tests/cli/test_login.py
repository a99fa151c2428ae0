"""Logging in to a remote server, from the command to a kept login, against a real authorization server."""

from __future__ import annotations

import json
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import msgspec
import pytest

from mcp_workbench.cli.access import login
from mcp_workbench.config import load_data
from tests.cli.logins import (
    kept,
    log_in,
    log_in_by_command,
    logging_in,
    logging_in_by_command,
    remote,
    running,
)
from tests.support.authorizing import CLIENTS
from tests.support.client import write_config

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.authorizing import Authority

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def server(authority: Authority) -> Authority:
    await authority.reset()
    return authority


async def test_a_login_by_the_printed_address_is_kept_for_its_owner_alone(
    tmp_path: Path, server: Authority
) -> None:
    async with logging_in_by_command(tmp_path, remote(server.url)) as terminal:
        page = await server.browse(await terminal.address())
        assert await terminal.end() == 0
    assert (page.status_code, "You can close this page" in page.text) == (200, True)
    assert "Logged in to team/wiki. The login is kept in a file that only you can read." in terminal.said
    (file,) = kept(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert (await server.journal("served"))[-1]["had_token"]


async def test_no_secret_is_shown(tmp_path: Path, server: Authority) -> None:
    oauth = {"clientId": "known", "clientSecret": CLIENTS["known"]}
    said = await log_in_by_command(tmp_path, server, "--log-level", "debug", oauth=oauth)
    secrets = await server.secrets()
    assert len(secrets) == 3
    assert [secret for secret in secrets if secret in said] == []


async def test_the_authorization_server_is_asked_for_this_server_with_pkce(
    tmp_path: Path, server: Authority
) -> None:
    await log_in(tmp_path, server)
    (asked,) = (event["asked"] for event in await server.journal("authorize"))
    expected = {
        "response_type": "code",
        "code_challenge_method": "S256",
        "scope": "read",
        "resource": server.url,
    }
    assert asked.items() >= expected.items()
    assert [event["resource"] for event in await server.journal("token")] == [server.url]


async def test_the_workbench_registers_itself_once_as_a_native_client(
    tmp_path: Path, server: Authority
) -> None:
    await log_in(tmp_path, server)
    await log_in(tmp_path, server)
    (registered,) = (event["asked"] for event in await server.journal("register"))
    assert (registered["application_type"], registered["client_name"]) == ("native", "MCP Workbench")
    clients = {event["asked"]["client_id"] for event in await server.journal("authorize")}
    assert len(clients) == 1


@pytest.mark.parametrize(
    ("methods", "by"),
    [
        (None, "basic"),
        (["none"], "none"),
        (["client_secret_post"], "post"),
        (["client_secret_basic"], "basic"),
    ],
)
async def test_a_client_that_registers_itself_proves_who_it_is_as_the_server_wants_it(
    tmp_path: Path, server: Authority, methods: list[str] | None, by: str
) -> None:
    await server.set(auth_methods=methods)
    await log_in(tmp_path, server)
    assert [event["by"] for event in await server.journal("proof")] == [by]


@pytest.mark.parametrize(("methods", "by"), [(None, "basic"), (["client_secret_post"], "post")])
async def test_a_client_that_is_registered_already_is_used_as_it_is(
    tmp_path: Path, server: Authority, methods: list[str] | None, by: str
) -> None:
    await server.set(auth_methods=methods, registration=False)
    await log_in(tmp_path, server, oauth={"clientId": "known", "clientSecret": "known-secret"})
    assert await server.journal("register") == []
    assert [event["by"] for event in await server.journal("proof")] == [by]
    (file,) = kept(tmp_path)
    assert "known-secret" not in file.read_text()


async def test_a_metadata_document_is_the_client_where_such_are_supported(
    tmp_path: Path, server: Authority
) -> None:
    document = "https://example.com/mcp-workbench.json"
    await server.set(documents=[document])
    await log_in(tmp_path, server, oauth={"clientMetadataUrl": document})
    assert [event["asked"]["client_id"] for event in await server.journal("authorize")] == [document]
    assert await server.journal("register") == []


async def test_without_such_support_the_workbench_registers_itself(tmp_path: Path, server: Authority) -> None:
    await log_in(tmp_path, server, oauth={"clientMetadataUrl": "https://example.com/mcp-workbench.json"})
    assert len(await server.journal("register")) == 1


async def test_the_port_of_the_browser_can_be_fixed(
    tmp_path: Path, server: Authority, unused_tcp_port_factory: object
) -> None:
    assert callable(unused_tcp_port_factory)
    by_file, by_option = unused_tcp_port_factory(), unused_tcp_port_factory()
    await log_in(tmp_path, server, oauth={"callbackPort": by_file})
    await log_in(tmp_path, server, "--port", str(by_option), oauth={"callbackPort": by_file})
    asked = [event["asked"]["redirect_uri"] for event in await server.journal("authorize")]
    assert asked == [f"http://localhost:{port}/callback" for port in (by_file, by_option)]


async def test_what_is_configured_is_what_is_asked_for(tmp_path: Path, server: Authority) -> None:
    await log_in(tmp_path, server, oauth={"scopes": ["write", "delete"]})
    assert [event["asked"]["scope"] for event in await server.journal("authorize")] == ["write delete"]


async def test_one_more_scope_is_asked_for_with_those_that_were_granted(
    tmp_path: Path, server: Authority
) -> None:
    await log_in(tmp_path, server)
    await server.set(asked_scope="")
    await log_in(tmp_path, server, "--scope", "write")
    assert (await server.journal("authorize"))[-1]["asked"]["scope"] == "read write"


async def test_the_address_that_a_distant_browser_ends_at_can_be_pasted(
    tmp_path: Path, server: Authority
) -> None:
    async with logging_in_by_command(tmp_path, remote(server.url)) as terminal:
        end = await server.consent(await terminal.address())
        await terminal.paste("what?")
        await terminal.read_until("That is not the address of this login")
        await terminal.paste(end)
        assert await terminal.end() == 0
    assert len(kept(tmp_path)) == 1


async def test_an_answer_with_another_state_is_refused_and_the_wait_goes_on(
    tmp_path: Path, server: Authority
) -> None:
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        end = httpx2.URL(await server.consent(await terminal.address()))
        async with httpx2.AsyncClient() as browser:
            forged = await browser.get(end.copy_merge_params({"state": "forged"}))
            bare = await browser.get(end.copy_with(query=b"code=stolen"))
            elsewhere = await browser.get(end.copy_with(path="/elsewhere"))
            honest = await browser.get(end)
        assert [page.status_code for page in (forged, bare, elsewhere, honest)] == [400, 400, 404, 200]
        assert await terminal.end() == 0


@pytest.mark.parametrize("iss", ["wrong", "absent"])
async def test_an_answer_of_another_issuer_is_refused(tmp_path: Path, server: Authority, iss: str) -> None:
    await server.set(iss=iss)
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 1
    assert "iss" in terminal.said
    assert (await server.journal("token"), kept(tmp_path)) == ([], [])


async def test_a_refusal_is_told_without_its_control_characters(tmp_path: Path, server: Authority) -> None:
    await server.set(deny=True)
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        page = await server.browse(await terminal.address())
        assert await terminal.end() == 1
    assert "The login was refused" in page.text
    assert "the authorization server refused: access_denied: She said" in terminal.said
    assert "\x1b" not in terminal.said


async def test_a_refusal_by_another_issuer_is_not_told(tmp_path: Path, server: Authority) -> None:
    await server.set(deny=True, iss="wrong")
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 1
    assert "She said" not in terminal.said
    assert "iss mismatch" in terminal.said


async def test_an_authorization_server_without_pkce_is_not_used(tmp_path: Path, server: Authority) -> None:
    await server.set(pkce=False)
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        assert await terminal.end() == 1
    assert "does not support PKCE" in terminal.said
    assert await server.journal("register") == []


async def test_where_nobody_can_register_the_way_out_is_told(tmp_path: Path, server: Authority) -> None:
    await server.set(registration=False)
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        assert await terminal.end() == 1
    assert 'write its id into the entry: "oauth": { "clientId": "…" }' in terminal.said


async def test_with_another_issuer_the_workbench_registers_anew(tmp_path: Path, server: Authority) -> None:
    await log_in(tmp_path, server)
    await server.set(issuer="two")
    await log_in(tmp_path, server)
    first, second = await server.journal("register")
    assert (first["issuer"], second["issuer"]) == ("one", "two")
    assert (await server.journal("authorize"))[-1]["asked"]["client_id"] == second["client"]


@pytest.mark.parametrize("known_by", ["an earlier login", "the configuration"])
async def test_a_registered_client_is_not_shown_to_another_issuer(
    tmp_path: Path, server: Authority, known_by: str
) -> None:
    oauth = {"clientId": "known", "clientSecret": "known-secret"}
    if known_by == "the configuration":
        oauth["issuer"] = f"{server.base}/one"
    else:
        await log_in(tmp_path, server, oauth=oauth)
    await server.set(issuer="two")
    async with logging_in(tmp_path, remote(server.url, oauth=oauth)) as terminal:
        assert await terminal.end() == 1
    assert f"{server.base}/two" in terminal.said
    seen = [
        event["issuer"] for what in ("register", "authorize", "token") for event in await server.journal(what)
    ]
    assert "two" not in seen


async def test_without_an_answer_it_ends_after_the_time_limit(tmp_path: Path, server: Authority) -> None:
    async with logging_in(tmp_path, remote(server.url), "--timeout", "1") as terminal:
        assert await terminal.end() == 1
    assert "no answer came from the browser within 1 s" in terminal.said
    assert "mcp-workbench logout team/wiki" in terminal.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_without_a_trace(
    tmp_path: Path, server: Authority, number: signal.Signals
) -> None:
    async with logging_in_by_command(tmp_path, remote(server.url)) as terminal:
        await terminal.address()
        terminal.process.send_signal(number)
        assert await terminal.end() == 130
    assert ("Traceback" in terminal.said, kept(tmp_path)) == (False, [])


async def test_a_browser_is_opened_if_there_is_one_and_it_is_wanted(
    tmp_path: Path, server: Authority
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}.draft" && mv "{opened}.draft" "{opened}"\n')
    browser.chmod(0o700)
    env = {"BROWSER": str(browser)}
    async with logging_in_by_command(tmp_path, remote(server.url), "--no-browser", env=env) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 0
    assert not opened.exists()
    async with logging_in_by_command(tmp_path, remote(server.url), env=env) as terminal:
        address = await terminal.address()
        await server.browse(address)
        assert await terminal.end() == 0
    assert opened.read_text() == address


async def test_a_server_that_asks_for_no_login_is_logged_in_to_all_the_same(
    tmp_path: Path, server: Authority
) -> None:
    await server.set(open=True)
    said = await log_in(tmp_path, server)
    assert "It did not ask for a login (HTTP 200). Trying anyway." in said


async def test_a_server_that_neither_asks_for_a_login_nor_offers_one_needs_none(
    tmp_path: Path, server: Authority
) -> None:
    await server.set(open=True, registration=False)
    async with logging_in(tmp_path, remote(server.url)) as terminal:
        assert await terminal.end() == 2
    said = "team/wiki did not ask for a login (HTTP 200), and offers none. To try it: mcp-workbench check"
    assert said in terminal.said


async def test_the_only_remote_server_need_not_be_named(tmp_path: Path) -> None:
    write_config(tmp_path, remote("https://example.com/mcp"))
    async with running(tmp_path, "logout") as terminal:
        assert await terminal.end() == 0
    assert terminal.said == "There was no login to team/wiki.\n"


async def test_a_login_that_cannot_be_renewed_says_so(tmp_path: Path, server: Authority) -> None:
    await server.set(refresh_tokens=False, expires_in=600)
    said = await log_in(tmp_path, server)
    assert "It ends in 10 minutes, and cannot be renewed" in said


async def test_with_a_keyring_the_tokens_are_in_no_file(tmp_path: Path, server: Authority) -> None:
    keyring = tmp_path / "keyring.json"
    env = {
        "PYTHON_KEYRING_BACKEND": "tests.servers.keyrings.backends.Kept",
        "PYTHONPATH": str(ROOT),
        "TEST_KEYRING": str(keyring),
    }
    async with logging_in_by_command(tmp_path, remote(server.url), env=env) as terminal:
        await server.browse(await terminal.address())
        assert await terminal.end() == 0
    assert "The login is kept in the system's keyring." in terminal.said
    (file,) = kept(tmp_path)
    secrets = [token for event in await server.journal("issued") for token in event["tokens"]]
    assert [secret for secret in secrets if secret not in keyring.read_text()] == []
    assert [secret for secret in secrets if secret in file.read_text()] == []
    async with running(tmp_path, "logout", "team/wiki", env=env) as terminal:
        assert await terminal.end() == 0
    assert (kept(tmp_path), json.loads(keyring.read_text())) == ([], {})


async def test_a_logout_forgets_the_login(tmp_path: Path, server: Authority) -> None:
    await log_in(tmp_path, server)
    for said in ("Logged out of team/wiki.\n", "There was no login to team/wiki.\n"):
        async with running(tmp_path, "logout", "team/wiki") as terminal:
            assert (await terminal.end(), terminal.said) == (0, said)
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "team/wikki",
            "there is no server 'team/wikki' in a.json. Did you mean: mcp-workbench login te",
        ),
        ("zzz", "there is no server 'zzz' in a.json. Remote servers: team/wiki, team/blog"),
        (None, "a.json: name the server: mcp-workbench login team/wiki, or mcp-workbench login team/blog"),
        ("local", "team/local is a program that the workbench starts, and needs no login. To try it: mcp-"),
        ("team/keyed", "team/keyed has an Authorization header in its entry, and needs no login"),
        ("team/ci", "team/ci has credentials of its own (client_credentials), and needs no login"),
        ("blog", ""),
        ("team/wiki", ""),
    ],
)
def test_what_cannot_be_logged_in_to_is_told(name: str | None, why: str) -> None:
    url = "https://example.com/mcp"
    oauth = {"grant": "client_credentials", "clientId": "a", "clientSecret": "b", "issuer": "https://a"}
    config = remote(url)
    config["toolboxes"]["team"]["mcpServers"] |= {
        "blog": {"url": url},
        "local": {"command": "x"},
        "keyed": {"url": url, "headers": {"authorization": "Bearer x"}},
        "ci": {"url": url, "oauth": oauth},
    }
    loaded = msgspec.structs.replace(load_data(config, {}), path="a.json")
    if not why:
        assert login._find(loaded, name, "mcp-workbench login")[0][1] in str(name)
        return
    with pytest.raises(login.WrongTarget) as told:
        login._find(loaded, name, "mcp-workbench login")
    assert str(told.value).startswith(why)


@pytest.mark.parametrize("command", ["login", "logout"])
def test_a_server_that_is_not_there_ends_with_code_2(bench: Bench, command: str) -> None:
    bench.write(remote("https://example.com/mcp"))
    done = bench.run(command, "wikki")
    said = "mcp-workbench: there is no server 'wikki' in workbench-config.json."
    meant = f"Did you mean: mcp-workbench {command} team/wiki"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said} {meant}\n")


async def test_a_bad_file_is_told_and_the_exit_code_is_2(tmp_path: Path) -> None:
    write_config(tmp_path, {})
    async with running(tmp_path, "login", "team/wiki") as terminal:
        assert await terminal.end() == 2
    assert '"toolboxes" is missing' in terminal.said


async def test_a_server_that_is_not_there_is_told(tmp_path: Path, unused_tcp_port: int) -> None:
    async with logging_in(tmp_path, remote(f"http://127.0.0.1:{unused_tcp_port}/mcp")) as terminal:
        assert await terminal.end() == 1
    assert "the server could not be reached" in terminal.said
    assert "Check its url" in terminal.said
