"""With the credentials of a client the workbench gets its tokens by itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from mcp_workbench.config import OAuthConfig
from mcp_workbench.errors import TokenUnavailable
from tests.downstream.oauth.logins import AS_IN_SERVICE, Site, post
from tests.support.authorizing import CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.authorizing import Authority

pytestmark = AS_IN_SERVICE

KEYS: dict[str, Callable[[], rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey]] = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


def machine(
    home: Path,
    server: Authority,
    *,
    issuer: str | None = None,
    secret: str = CLIENTS["known"],
    scopes: str = "",
) -> Site:
    oauth = OAuthConfig(
        grant="client_credentials", client_id="known", client_secret=secret, issuer=issuer, scopes=scopes
    )
    return Site(home, server, oauth)


@pytest.mark.parametrize(("methods", "by"), [(None, "basic"), (["client_secret_post"], "post")])
async def test_a_token_is_had_with_a_secret_and_shared(
    tmp_path: Path, server: Authority, methods: list[str] | None, by: str
) -> None:
    await server.set(auth_methods=methods)
    site = machine(tmp_path, server, issuer=f"{server.base}/one")
    async with site.client() as client:
        assert await asyncio.gather(*(post(client, site) for _ in range(20))) == [200] * 20
        assert await post(client, site) == 200
    assert [event["by"] for event in await server.journal("proof")] == [by]
    assert [event["resource"] for event in await server.journal("token")] == [server.url]
    (tokens,) = (event["tokens"] for event in await server.journal("issued"))
    assert site.hidden.mask(tokens[0]) == "<access token>"
    assert not site.file.exists()


@pytest.mark.parametrize("kind", KEYS)
async def test_a_token_is_had_with_a_key_of_any_usual_kind(
    tmp_path: Path, server: Authority, kind: str
) -> None:
    key = KEYS[kind]()
    private, public = serialization.PrivateFormat.PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo
    pem = serialization.Encoding.PEM
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))
    await server.reset({"robot": key.public_key().public_bytes(pem, public).decode()})
    oauth = OAuthConfig(
        grant="client_credentials", client_id="robot", private_key_file=str(file), issuer=f"{server.base}/one"
    )
    site = Site(tmp_path, server, oauth)
    async with site.client() as client:
        assert await post(client, site) == 200
    assert [event["by"] for event in await server.journal("proof")] == ["assertion"]


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), ("no key", "is not a key in PEM")])
async def test_a_key_that_is_of_no_use_is_told(
    tmp_path: Path, server: Authority, content: str | None, why: str
) -> None:
    file = tmp_path / "key.pem"
    if content is not None:
        file.write_text(content)
    oauth = OAuthConfig(grant="client_credentials", client_id="robot", private_key_file=str(file))
    site = Site(tmp_path, server, oauth)
    async with site.client() as client:
        with pytest.raises(TokenUnavailable, match=why):
            await post(client, site)


async def test_a_token_that_is_refused_or_near_its_end_is_replaced(tmp_path: Path, server: Authority) -> None:
    site = machine(tmp_path, server, issuer=f"{server.base}/one")
    async with site.client() as client:
        assert await post(client, site) == 200
        await server.set(expires_in=0)
        await server.expire()
        with pytest.raises(TokenUnavailable, match="does not accept the token"):
            await post(client, site)
        await server.set(expires_in=3600)
        refused = len(await server.journal("refused"))
        assert await post(client, site) == 200
    assert len(await server.journal("refused")) == refused
    assert len(await server.journal("issued")) == 3


async def test_what_is_configured_is_what_is_asked_for(tmp_path: Path, server: Authority) -> None:
    site = machine(tmp_path, server, issuer=f"{server.base}/one", scopes="read write")
    await server.set(needed_scope="write")
    async with site.client() as client:
        assert await post(client, site) == 200


async def test_a_scope_that_is_missing_is_told_with_where_to_add_it(
    tmp_path: Path, server: Authority
) -> None:
    site = machine(tmp_path, server, issuer=f"{server.base}/one")
    await server.set(needed_scope="write")
    async with site.client() as client:
        with pytest.raises(TokenUnavailable, match=r"the scope 'write'.*Add it to \"scopes\""):
            await post(client, site)


@pytest.mark.parametrize("known_by", ["the configuration", "the first token"])
async def test_the_credentials_go_to_no_other_issuer(
    tmp_path: Path, server: Authority, known_by: str
) -> None:
    issuer = f"{server.base}/one" if known_by == "the configuration" else None
    site = machine(tmp_path, server, issuer=issuer)
    async with site.client() as client:
        assert await post(client, site) == 200
        await server.set(issuer="two")
        with pytest.raises(TokenUnavailable, match="issuer mismatch"):
            await post(client, site)
    assert {event["issuer"] for event in await server.journal("token")} == {"one"}


async def test_credentials_that_are_refused_are_told_and_not_shown(tmp_path: Path, server: Authority) -> None:
    site = machine(tmp_path, server, secret="wrong-secret")  # noqa: S106 - it is wrong
    async with site.client() as client:
        with pytest.raises(TokenUnavailable, match="invalid_client") as raised:
            await post(client, site)
    assert "wrong-secret" not in str(raised.value)


async def test_an_authorization_server_that_is_not_well_is_asked_again(
    tmp_path: Path, server: Authority
) -> None:
    site = machine(tmp_path, server)
    await server.set(answer="fails")
    async with site.client() as client:
        with pytest.raises(TokenUnavailable, match="500"):
            await post(client, site)
        await server.set(answer="works")
        assert await post(client, site) == 200
