"""Every request carries the token of the login to its server, and a token that ends is renewed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.config import OAuthConfig, ServerConfig
from mcp_workbench.downstream.oauth import authorization
from mcp_workbench.errors import LoginRequired, TokenUnavailable
from tests.downstream.oauth.logins import AS_IN_SERVICE, COMMAND, ORIGIN, Site, post
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.storage.login_record import Login

pytestmark = AS_IN_SERVICE


def aged(login: Login) -> Login:
    """Return the login as if an hour had passed."""
    return msgspec.structs.replace(login, obtained_at=time.time() - 3600, expires_at=time.time() - 1)


async def test_a_request_carries_the_token_of_the_login(site: Site) -> None:
    await site.log_in()
    async with site.client() as client:
        assert [await post(client, site) for _ in range(3)] == [200, 200, 200]
    assert len(await site.server.journal("served")) == 3
    assert await site.server.journal("refused") == []


async def test_a_server_that_wants_no_token_gets_none(site: Site) -> None:
    await site.server.set(open=True)
    async with site.client() as client:
        assert await post(client, site) == 200


async def test_a_server_that_wants_one_says_so_with_the_command_to_run(site: Site) -> None:
    async with site.client() as client:
        with pytest.raises(LoginRequired, match=COMMAND):
            await post(client, site)


async def test_a_header_of_ones_own_wins(tmp_path: Path) -> None:
    config = ServerConfig(url="https://x/mcp", transport="http", headers={"authorization": "Bearer mine"})
    assert authorization(ORIGIN, config, {"XDG_DATA_HOME": str(tmp_path)}, lambda _: None) is None


async def test_a_login_that_is_made_meanwhile_counts_from_the_next_request(site: Site) -> None:
    async with site.client() as client:
        with pytest.raises(LoginRequired):
            await post(client, site)
        await site.log_in()
        assert await post(client, site) == 200


async def test_a_token_that_has_ended_is_renewed_before_it_is_used(site: Site) -> None:
    await site.keep(aged(await site.log_in()))
    await site.server.expire()
    async with site.client() as client:
        assert [await post(client, site), await post(client, site)] == [200, 200]
    assert (await site.server.renewals(), await site.server.journal("refused")) == (1, [])
    assert [event["resource"] for event in await site.server.journal("token")] == [site.server.url] * 2


async def test_a_token_that_is_refused_is_renewed_once(site: Site) -> None:
    await site.log_in()
    await site.server.expire()
    async with site.client() as client:
        assert [await post(client, site), await post(client, site)] == [200, 200]
    assert await site.server.renewals() == 1


async def test_twenty_tasks_of_three_processes_renew_it_once(site: Site) -> None:
    await site.log_in()
    async with site.worker(20) as one, site.worker(20) as two, site.worker(20) as three:
        workers = (one, two, three)
        assert [await worker.says() for worker in workers] == [200, 200, 200]
        await site.server.expire()
        for worker in workers:
            worker.go()
        assert [await worker.says() for worker in workers] == [[200] * 20] * 3
    assert (await site.server.renewals(), await site.server.journal("reuse")) == (1, [])


async def test_a_caller_that_goes_away_in_the_middle_loses_nothing(site: Site) -> None:
    await site.log_in()
    await site.server.expire()
    await site.server.set(answer="hangs")
    async with site.client() as client:
        impatient = asyncio.create_task(post(client, site))
        await site.server.wait_for("token", 2)
        impatient.cancel()
        await asyncio.wait([impatient], timeout=PATIENCE)
        await site.server.set(answer="works")
        assert await post(client, site) == 200
    assert await site.server.renewals() == 1


async def test_a_process_that_is_killed_in_the_middle_leaves_the_login_and_no_lock(site: Site) -> None:
    await site.log_in()
    before = site.file.read_bytes()
    async with site.worker(1) as worker:
        assert await worker.says() == 200
        await site.server.expire()
        await site.server.set(answer="hangs")
        worker.go()
        await site.server.wait_for("token", 2)
        worker.process.kill()
        await worker.process.wait()
    assert site.file.read_bytes() == before
    await site.server.set(answer="works")
    async with site.client() as client:
        assert await post(client, site) == 200


@pytest.mark.parametrize("answer", ["fails", "temporarily_unavailable"])
async def test_a_renewal_that_fails_leaves_the_login_for_the_next_try(site: Site, answer: str) -> None:
    await site.log_in()
    await site.server.expire()
    await site.server.set(answer=answer)
    before = site.file.read_bytes()
    async with site.client() as client:
        with pytest.raises(TokenUnavailable, match="its login could not be renewed"):
            await post(client, site)
        assert site.file.read_bytes() == before
        await site.server.set(answer="works")
        assert await post(client, site) == 200


async def test_a_token_that_is_still_good_is_used_when_it_cannot_be_renewed(site: Site) -> None:
    login = await site.log_in()
    # Of its hour a minute is left.
    soon = msgspec.structs.replace(login, obtained_at=time.time() - 3570, expires_at=time.time() + 30)
    await site.keep(soon)
    await site.server.set(answer="fails")
    async with site.client() as client:
        assert [await post(client, site), await post(client, site)] == [200, 200]
    assert await site.server.renewals() == 1


async def test_a_login_that_has_ended_is_left_as_it_is_and_not_asked_for_again(site: Site) -> None:
    await site.log_in()
    await site.server.expire()
    await site.server.set(answer="invalid_grant")
    before = site.file.read_bytes()
    async with site.client() as client:
        for _ in range(3):
            with pytest.raises(LoginRequired, match=f"'invalid_grant'. {COMMAND}"):
                await post(client, site)
        assert (await site.server.renewals(), site.file.read_bytes()) == (1, before)
        await site.server.set(answer="works")
        await site.log_in()
        assert await post(client, site) == 200


async def test_a_token_that_cannot_be_renewed_at_all_needs_a_login(site: Site) -> None:
    await site.server.set(refresh_tokens=False)
    await site.log_in()
    await site.server.expire()
    async with site.client() as client:
        with pytest.raises(LoginRequired, match="there is no refresh token to renew it with"):
            await post(client, site)


async def test_a_server_that_refuses_new_tokens_too_is_not_renewed_for_at_every_call(site: Site) -> None:
    await site.log_in()
    await site.server.set(issuer="two")
    async with site.client() as client:
        for _ in range(3):
            with pytest.raises(LoginRequired, match="it no longer accepts the login"):
                await post(client, site)
    assert await site.server.renewals() == 1


async def test_a_scope_that_is_missing_stands_in_the_command_to_run(site: Site) -> None:
    await site.log_in()
    await site.server.set(needed_scope="write")
    async with site.client() as client:
        with pytest.raises(LoginRequired, match=f"asks for the scope 'write'.*{COMMAND} --scope write"):
            await post(client, site)


async def test_a_login_of_another_client_is_not_used(site: Site) -> None:
    await site.log_in()
    site.config = msgspec.structs.replace(site.config, oauth=OAuthConfig(client_id="another"))
    async with site.client() as client:
        with pytest.raises(LoginRequired, match='another "clientId"'):
            await post(client, site)
    assert await site.server.journal("served") == []


@pytest.mark.parametrize(("methods", "by"), [(None, "basic"), (["client_secret_post"], "post")])
async def test_a_configured_client_proves_who_it_is_in_a_renewal_too(
    tmp_path: Path, site: Site, methods: list[str] | None, by: str
) -> None:
    await site.server.set(auth_methods=methods)
    known = OAuthConfig(client_id="known", client_secret="known-secret")  # noqa: S106 - it is open to the public
    site = Site(tmp_path, site.server, known)
    await site.log_in()
    await site.server.expire()
    async with site.client() as client:
        assert await post(client, site) == 200
    assert [event["by"] for event in await site.server.journal("proof")] == [by, by]


async def test_all_tokens_are_hidden_before_they_are_used(site: Site) -> None:
    await site.log_in()
    await site.server.expire()
    async with site.client() as client:
        await post(client, site)
    tokens = [token for event in await site.server.journal("issued") for token in event["tokens"]]
    assert len(tokens) == 4
    assert set(site.hidden.mask("\n".join(tokens)).splitlines()) == {"<access token>", "<refresh token>"}
