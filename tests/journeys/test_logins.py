"""A remote server that wants a login: from the error that names the command, to calls that renew it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.logins import FILE_ONLY, log_in_by_command, remote
from tests.support.authorizing import CLIENTS
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect
    from tests.support.authorizing import Authority
    from tests.support.sessions import Session

COMMAND = "Run this in a terminal: mcp-workbench login team/wiki"


@pytest.fixture
async def server(authority: Authority) -> Authority:
    await authority.reset()
    return authority


async def call(session: Session) -> str:
    return text_of(await session.use_tool("team", "wiki", "whoami"))


async def refused(session: Session) -> str:
    return failure_of(await session.use_tool("team", "wiki", "whoami"))


async def test_a_login_is_asked_for_made_used_renewed_and_asked_for_again(
    tmp_path: Path, server: Authority, connect_modern: Connect
) -> None:
    session = await connect_modern(remote(server.url), "--log-level", "debug", env=FILE_ONLY)
    assert COMMAND in failure_of(await session.open_toolbox("team"))
    assert COMMAND in await refused(session)

    await log_in_by_command(tmp_path, server)
    assert await call(session) == "somebody"

    await server.expire()
    assert await call(session) == "somebody"
    assert await server.renewals() == 1

    await server.set(needed_scope="write")
    assert f"{COMMAND} --scope write" in await refused(session)
    await server.set(needed_scope="", answer="invalid_grant")
    await server.expire()
    assert COMMAND in await refused(session)

    await server.set(answer="works")
    await log_in_by_command(tmp_path, server)
    assert await call(session) == "somebody"

    secrets = await server.secrets()
    shown = f"{session.client.stderr}{session.client.received}"
    assert [secret for secret in secrets if secret in shown] == []


async def test_credentials_need_no_login(server: Authority, connect_modern: Connect) -> None:
    oauth = {
        "grant": "client_credentials",
        "clientId": "known",
        "clientSecret": CLIENTS["known"],
        "issuer": f"{server.base}/one",
    }
    session = await connect_modern(remote(server.url, oauth=oauth))
    assert await call(session) == "somebody"
    await server.expire()
    assert await call(session) == "somebody"
