"""Access tokens of an issuer: which are good, and what they allow."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mcp_workbench.config import HttpConfig, IssuerConfig
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission import metadata, metadata_paths
from mcp_workbench.serve.admission.access_tokens import LEEWAY_SECONDS
from mcp_workbench.serve.admission.credentials import metadata_url
from mcp_workbench.workbench.principal import Principal
from tests.serve.admission.admissions import AdmissionHarness, challenge_of
from tests.serve.admission.issuer import EC_KEY, ED_KEY, OTHER_RSA_KEY, RESOURCE, RSA_KEY, public, running
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.serve.admission.issuer import Issuer, PrivateKey

METADATA_URL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
NO_TIME = "not a time: it must be a number"
NO_TIMES: tuple[object, ...] = (
    "soon",
    "9999999999",
    True,
    [],
    {},
    float("nan"),
    float("inf"),
    -1,
    1e300,
    10**400,
)
WHERE = f'resource_metadata="{METADATA_URL}", scope="mcp mcp:dev mcp:docs"'


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running() as issuer:
        yield issuer


@pytest.fixture
async def harness(issuer: Issuer) -> AsyncIterator[AdmissionHarness]:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config()))
    yield harness
    harness.admission.close()


def unsigned(header: dict[str, Any], claims: object) -> str:
    parts = [json.dumps(part).encode() for part in (header, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), ""])


async def test_a_good_token_names_its_subject_and_allows_the_toolboxes_of_its_scopes(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    one, two, every = [
        await harness.admit_token(issuer.sign(scope=scope))
        for scope in ("mcp:dev", "openid mcp:docs mcp:dev", "mcp:dev mcp")
    ]
    address = issuer.address
    assert one == Principal(f'{address} "mcp:dev" alice', frozenset({"dev"}))
    assert two == Principal(f'{address} "mcp:dev mcp:docs" alice', frozenset({"dev", "docs"}))
    assert every == Principal(f'{address} "mcp mcp:dev" alice', None)


@pytest.mark.parametrize("claims", [{"scope": ["mcp:dev"]}, {"scp": "mcp:dev"}, {"scp": ["x", "mcp:dev", 1]}])
async def test_scopes_are_read_as_issuers_write_them(
    harness: AdmissionHarness, issuer: Issuer, claims: dict[str, Any]
) -> None:
    token = issuer.sign(**({"scope": None} | claims))
    assert (await harness.admit_token(token)).toolboxes == frozenset({"dev"})


@pytest.mark.parametrize("scope", [None, "", "openid", "mcp:de", 7, {"mcp": 1}])
async def test_a_token_without_a_scope_of_ours_is_forbidden_and_told_the_scopes(
    harness: AdmissionHarness, issuer: Issuer, scope: object
) -> None:
    denied = await harness.refusal(issuer.sign(scope=scope))
    assert denied.status == 403
    assert challenge_of(denied) == (
        'Bearer realm="mcp-workbench", error="insufficient_scope", '
        f'error_description="The token has none of the scopes that allow something here", {WHERE}'
    )


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.example"}, "The token is of another issuer"),
        ({"iss": None}, "The token has no iss"),
        ({"aud": "https://mcp.example.com/other"}, "The token is for another audience"),
        ({"aud": ["a", "b"]}, "The token is for another audience"),
        ({"aud": None}, "The token has no aud"),
        ({"exp": 1}, "The token has expired"),
        ({"exp": time.time() - 120}, "The token has expired"),
        ({"exp": None}, "The token has no exp"),
        *(({"exp": no_time}, f"The token's exp is {NO_TIME}") for no_time in NO_TIMES),
        *(({"nbf": no_time}, f"The token's nbf is {NO_TIME}") for no_time in NO_TIMES),
        *(({"iat": no_time}, f"The token's iat is {NO_TIME}") for no_time in NO_TIMES),
        ({"nbf": time.time() + 600}, "The token is not valid yet"),
        ({"iat": time.time() + 600}, "The token is not valid yet"),
        ({"sub": None}, "The token has no sub"),
        ({"sub": ""}, "The token does not say whose it is"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_invalid(
    harness: AdmissionHarness, issuer: Issuer, claims: dict[str, Any], reason: str
) -> None:
    denied = await harness.refusal(issuer.sign(**claims))
    assert (denied.status, denied.reason) == (401, reason)
    assert challenge_of(denied) == (
        f'Bearer realm="mcp-workbench", error="invalid_token", error_description="{reason}", {WHERE}'
    )


@pytest.mark.parametrize("kind", ["at+jwt", "AT+JWT", "application/at+jwt"])
async def test_under_the_profile_of_access_tokens_one_of_the_right_type_is_accepted(
    issuer: Issuer, kind: str
) -> None:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config(profile="rfc9068")))
    token = issuer.sign(headers={"typ": kind}, jti="1", client_id="c", iat=time.time())
    assert (await harness.admit_token(token)).toolboxes == frozenset({"dev"})


@pytest.mark.parametrize("kind", ["JWT", "jwt", "id+jwt", "", "xat+jwt", 7, None, ["at+jwt"]])
async def test_under_the_profile_of_access_tokens_an_id_token_is_refused(
    issuer: Issuer, kind: object
) -> None:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config(profile="rfc9068")))
    # All that an access token has, and what makes it an ID token.
    claims: dict[str, Any] = {"jti": "1", "client_id": "c", "iat": time.time(), "nonce": "n", "at_hash": "h"}
    denied = await harness.refusal(issuer.sign(headers={"typ": kind}, **claims))
    assert (denied.status, denied.reason) == (401, "The token is not an access token: its typ is not at+jwt")


@pytest.mark.parametrize("missing", ["iat", "jti", "client_id"])
async def test_under_the_profile_of_access_tokens_its_claims_are_required(
    issuer: Issuer, missing: str
) -> None:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config(profile="rfc9068")))
    claims: dict[str, Any] = {"jti": "1", "client_id": "c", "iat": time.time()} | {missing: None}
    denied = await harness.refusal(issuer.sign(headers={"typ": "at+jwt"}, **claims))
    assert (denied.status, denied.reason) == (401, f"The token has no {missing}")


async def test_one_of_several_audiences_may_be_us_and_clocks_may_differ_a_little(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    alice = Principal(f'{issuer.address} "mcp:dev" alice', frozenset({"dev"}))
    assert await harness.admit_token(issuer.sign(aud=["other", RESOURCE])) == alice
    assert await harness.admit_token(issuer.sign(exp=time.time() - 5, nbf=time.time() + 5)) == alice


async def test_an_audience_of_its_own_replaces_the_resource(issuer: Issuer) -> None:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config(audience="workbench")))
    assert (
        await harness.admit_token(issuer.sign(aud="workbench"))
    ).name == f'{issuer.address} "mcp:dev" alice'
    assert (await harness.refusal(issuer.sign())).status == 401


async def test_a_token_that_the_issuer_did_not_sign_is_invalid(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    forged = issuer.sign(OTHER_RSA_KEY)
    assert (await harness.refusal(forged)).reason == "The signature of the token is wrong"
    head, _, signature = issuer.sign().split(".")
    other = issuer.sign(sub="mallory").split(".")[1]
    assert (await harness.refusal(f"{head}.{other}.{signature}")).status == 401


async def test_a_token_without_a_signature_is_invalid(harness: AdmissionHarness, issuer: Issuer) -> None:
    claims = {"iss": issuer.address, "aud": RESOURCE, "sub": "x", "exp": time.time() + 600, "scope": "mcp"}
    for algorithm in ("none", "None", "NONE", ""):
        denied = await harness.refusal(unsigned({"alg": algorithm, "kid": "one"}, claims))
        assert denied.status == 401


async def test_a_public_key_is_no_shared_secret(harness: AdmissionHarness, issuer: Issuer) -> None:
    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    # PyJWT itself refuses to sign so: the signature is made as an attacker would.
    body = unsigned({"alg": "HS256", "kid": "one"}, {"sub": "mallory"}).rstrip(".")
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(body.encode(), pem)
    token = f"{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert (
        await harness.refusal(token)
    ).reason == "The token is signed with an algorithm that is not accepted"


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA_KEY, "RS256"), (RSA_KEY, "RS512"), (RSA_KEY, "PS256"), (EC_KEY, "ES256"), (ED_KEY, "EdDSA")],
    ids=["RS256", "RS512", "PS256", "ES256", "EdDSA"],
)
async def test_every_asymmetric_algorithm_is_accepted_with_a_key_of_its_kind(
    harness: AdmissionHarness, issuer: Issuer, key: PrivateKey, algorithm: str
) -> None:
    issuer.keys = {"keys": [public(key, kid="one"), public(OTHER_RSA_KEY, kid="two")]}
    assert (await harness.admit_token(issuer.sign(key, algorithm))).toolboxes == frozenset({"dev"})
    two = issuer.sign(key, algorithm, {"kid": "two"})
    assert (await harness.refusal(two)).status == 401


async def test_a_key_for_one_algorithm_is_good_for_no_other(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    denied = await harness.refusal(issuer.sign(algorithm="PS256"))
    assert denied.reason == "The token is signed with an algorithm that is not accepted"


async def test_a_token_that_names_no_key_may_have_been_signed_with_the_only_one(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    assert (await harness.admit_token(issuer.sign(headers={}))).name == f'{issuer.address} "mcp:dev" alice'


async def test_a_token_that_names_no_key_of_several_is_invalid(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    issuer.keys = {"keys": [public(RSA_KEY, kid="one"), public(OTHER_RSA_KEY, kid="two")]}
    assert (await harness.refusal(issuer.sign(headers={}))).status == 401


@pytest.mark.parametrize(
    "token",
    [
        "..",
        "a.b.c",
        "\u00e9.x.y",
        unsigned({"alg": "RS256", "kid": 7}, {}),
        unsigned({"alg": "RS256", "kid": ["one"]}, {}),
        unsigned({"alg": 5, "kid": "one"}, {}),
        unsigned({"alg": "RS256", "kid": "one", "crit": ["b64"], "b64": False}, {}),
        base64.urlsafe_b64encode(b"[" * 9000).decode() + ".x.y",
        "x" * 20_000 + ".y.z",
    ],
    ids=lambda token: token[:20],
)
async def test_what_is_no_token_at_all_is_invalid(harness: AdmissionHarness, token: str) -> None:
    denied = await harness.refusal(token)
    assert denied.status == 401
    assert 'error="invalid_token"' in challenge_of(denied)


async def test_a_token_is_verified_once_and_known_from_then_on(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    token = issuer.sign()
    header = (b"authorization", f"Bearer {token}".encode())
    headers = [(b"host", b"localhost"), header]
    first = harness.admission.admit(headers)
    assert not isinstance(first, Principal)
    principal = await first
    assert harness.admission.admit(headers) is principal


async def test_a_known_token_is_verified_anew_when_its_time_is_up(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {issuer.sign()}".encode())]
    first = harness.admission.admit(headers)
    assert not isinstance(first, Principal)
    await first
    now = time.time()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now + 301)
        again = harness.admission.admit(headers)
    assert not isinstance(again, Principal)
    assert (await again).name == f'{issuer.address} "mcp:dev" alice'


async def test_who_has_no_good_token_any_more_is_released_and_who_has_a_new_one_is_not(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    soon = time.time() - LEEWAY_SECONDS + 3
    alice = await harness.admit_token(issuer.sign(exp=soon))
    await harness.admit_token(issuer.sign(exp=soon + 600))
    bob = await harness.admit_token(issuer.sign(exp=soon, sub="bob"))
    await poll(lambda: harness.is_released(bob))
    assert not harness.is_released(alice)
    assert not harness.is_over(bob)
    again = await harness.admit_token(issuer.sign(sub="bob"))
    assert (again, len(harness.releases)) == (bob, 1)


async def test_another_setting_does_not_make_tokens_last_longer(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    alice = await harness.admit_token(issuer.sign(exp=time.time() - LEEWAY_SECONDS + 3))
    harness.admission.reconfigure(HttpConfig(oauth=issuer.config(), allowed_hosts=["other.example"]))
    await poll(lambda: harness.is_released(alice))


@pytest.mark.parametrize("sent", [None, "Basic YTpi", "Bearer ", "Bearer", "Bearertoken"])
async def test_who_sends_no_token_is_told_where_to_get_one(
    harness: AdmissionHarness, sent: str | None
) -> None:
    with pytest.raises(Denied, match="A token is needed") as raised:
        await harness.admit(*([] if sent is None else [("authorization", sent)]))
    assert raised.value.status == 401
    assert challenge_of(raised.value) == f'Bearer realm="mcp-workbench", {WHERE}'


@pytest.mark.parametrize(
    ("resource", "path", "url"),
    [
        (RESOURCE, "/mcp", METADATA_URL),
        ("https://x.example", "", "https://x.example/.well-known/oauth-protected-resource"),
        ("https://x.example/a/mcp", "/a/mcp", "https://x.example/.well-known/oauth-protected-resource/a/mcp"),
    ],
)
def test_the_metadata_says_what_the_specification_asks_for(resource: str, path: str, url: str) -> None:
    config = IssuerConfig(issuer="https://login.example.com", resource=resource, scopes={"mcp": ["*"]})
    assert json.loads(metadata(config)) == {
        "resource": resource,
        "authorization_servers": ["https://login.example.com"],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCP Workbench",
    }
    root = "/.well-known/oauth-protected-resource"
    assert set(metadata_paths(config)) == {root, f"{root}/mcp", f"{root}{path}"}
    assert metadata_url(config) == url
