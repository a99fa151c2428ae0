"""The keys of an issuer: found, fetched as seldom as can be, and kept."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import HttpConfig
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission import keys
from mcp_workbench.serve.admission.keys import metadata_addresses
from tests.serve.admission.admissions import AdmissionHarness
from tests.serve.admission.issuer import EC_KEY, OTHER_RSA_KEY, RSA_KEY, public, running
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.serve.admission.issuer import Issuer

TWO = {"keys": [public(RSA_KEY, kid="one"), public(OTHER_RSA_KEY, kid="two")]}


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running() as issuer:
        yield issuer


@pytest.fixture
async def harness(issuer: Issuer) -> AsyncIterator[AdmissionHarness]:
    harness = AdmissionHarness(HttpConfig(oauth=issuer.config()))
    yield harness
    harness.admission.close()


async def status_of(harness: AdmissionHarness, token: str) -> int:
    """The status that a token leads to; 200 if it is admitted."""
    try:
        await harness.admit_token(token)
    except Denied as denied:
        return denied.status
    return 200


@pytest.mark.parametrize(
    ("path", "metadata_path"),
    [
        ("", "/.well-known/oauth-authorization-server"),
        ("", "/.well-known/openid-configuration"),
        ("/tenant", "/.well-known/oauth-authorization-server/tenant"),
        ("/tenant", "/.well-known/openid-configuration/tenant"),
        ("/tenant/", "/tenant/.well-known/openid-configuration"),
    ],
)
async def test_keys_are_found_through_the_metadata_wherever_it_is(path: str, metadata_path: str) -> None:
    async with running(path) as issuer:
        issuer.metadata_path = metadata_path
        assert await status_of(AdmissionHarness(HttpConfig(oauth=issuer.config())), issuer.sign()) == 200


async def test_keys_at_a_given_address_need_no_metadata(issuer: Issuer) -> None:
    issuer.metadata_path = "/nowhere"
    config = issuer.config(jwks_uri=f"{issuer.address}/jwks")
    assert await status_of(AdmissionHarness(HttpConfig(oauth=config)), issuer.sign()) == 200


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": "http://keys.example.com/jwks"},
        {"jwks_uri": "file:///etc/keys"},
    ],
)
async def test_metadata_of_another_issuer_or_without_safe_keys_is_not_used(
    harness: AdmissionHarness, issuer: Issuer, metadata: dict[str, Any]
) -> None:
    issuer.metadata = metadata
    assert await status_of(harness, issuer.sign()) == 503
    assert issuer.fetches == 0


def test_the_well_known_path_goes_before_that_of_the_issuer() -> None:
    assert list(metadata_addresses("https://x.example:8/a/b")) == [
        "https://x.example:8/.well-known/oauth-authorization-server/a/b",
        "https://x.example:8/.well-known/openid-configuration/a/b",
        "https://x.example:8/a/b/.well-known/openid-configuration",
    ]


async def test_many_requests_at_once_fetch_the_keys_once(harness: AdmissionHarness, issuer: Issuer) -> None:
    tokens = [issuer.sign(sub=f"user-{number}") for number in range(50)]
    assert await asyncio.gather(*(status_of(harness, token) for token in tokens)) == [200] * 50
    assert issuer.fetches == 1


async def test_a_cancelled_wait_for_the_keys_ends_no_other_wait(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    issuer.harness.clear()
    first, second = (asyncio.create_task(status_of(harness, issuer.sign(sub=sub))) for sub in ("a", "b"))
    await poll(lambda: issuer.requests)
    first.cancel()
    await asyncio.wait([first])
    issuer.harness.set()
    assert await second == 200
    assert issuer.fetches == 1


async def test_invented_key_ids_cause_no_fetches(harness: AdmissionHarness, issuer: Issuer) -> None:
    assert await status_of(harness, issuer.sign()) == 200
    made_up = [issuer.sign(OTHER_RSA_KEY, headers={"kid": f"made-up-{number}"}) for number in range(20)]
    assert await asyncio.gather(*(status_of(harness, token) for token in made_up)) == [401] * 20
    assert issuer.fetches == 1


async def test_a_new_key_is_fetched_when_it_is_used(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = issuer.sign(OTHER_RSA_KEY, headers={"kid": "two"})
    assert await status_of(harness, issuer.sign()) == 200
    issuer.keys = TWO
    monkeypatch.setattr(keys, "UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    assert await status_of(harness, new) == 200
    assert issuer.fetches == 2


async def test_a_token_is_not_known_any_more_when_its_key_is_gone(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = issuer.sign()
    assert await status_of(harness, old) == 200
    issuer.keys = {"keys": [public(OTHER_RSA_KEY, kid="two")]}
    monkeypatch.setattr(keys, "UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    assert await status_of(harness, issuer.sign(OTHER_RSA_KEY, headers={"kid": "two"})) == 200
    assert await status_of(harness, old) == 401


async def test_old_keys_are_fetched_again_without_holding_anybody_up(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await status_of(harness, issuer.sign()) == 200
    monkeypatch.setattr(keys, "MAX_AGE_SECONDS", 0.0)
    issuer.harness.clear()
    assert await status_of(harness, issuer.sign(sub="bob")) == 200
    issuer.harness.set()
    await poll(lambda: issuer.fetches == 2)


@pytest.mark.parametrize("answer", [b"", b"[]", b'{"keys": 7}', b"<html>", b'{"keys": []} ' * 100_000])
async def test_keys_stay_when_they_cannot_be_fetched_again(
    harness: AdmissionHarness,
    issuer: Issuer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answer: bytes,
) -> None:
    assert await status_of(harness, issuer.sign()) == 200
    issuer.keys = answer
    monkeypatch.setattr(keys, "UNKNOWN_KEY_PAUSE_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, "mcp_workbench.serve.admission.keys"):
        assert await status_of(harness, issuer.sign(OTHER_RSA_KEY, headers={"kid": "two"})) == 401
        assert await status_of(harness, issuer.sign(sub="bob")) == 200
        monkeypatch.setattr(keys, "RETRY_SECONDS", 0.0)
        issuer.keys = TWO
        assert await status_of(harness, issuer.sign(OTHER_RSA_KEY, headers={"kid": "two"})) == 200
    of_keys = [record.getMessage() for record in caplog.records if record.name == keys.__name__]
    failed, again = of_keys
    assert failed.startswith(f"the keys of {issuer.address} cannot be fetched (")
    assert failed.endswith("the known keys stay in use")
    assert again == f"the keys of {issuer.address} can be fetched again"


async def test_without_any_keys_a_client_is_to_try_again_and_not_to_log_in_again(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.status = 500
    with pytest.raises(Denied) as raised:
        await harness.admit_token(issuer.sign())
    assert (raised.value.status, raised.value.headers) == (503, [(b"retry-after", b"5")])
    assert await status_of(harness, issuer.sign()) == 503
    assert issuer.fetches == 1
    issuer.status = 200
    monkeypatch.setattr(keys, "RETRY_SECONDS", 0.0)
    assert await status_of(harness, issuer.sign()) == 200


async def test_an_issuer_that_does_not_answer_is_not_waited_for_for_ever(
    harness: AdmissionHarness, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.harness.clear()
    monkeypatch.setattr(keys, "FETCH_TIMEOUT_SECONDS", 0.1)
    assert await status_of(harness, issuer.sign()) == 503


async def test_an_issuer_that_is_not_there_is_no_fault_of_ours(
    harness: AdmissionHarness, issuer: Issuer
) -> None:
    gone = issuer.config(issuer="http://127.0.0.1:9")
    assert await status_of(AdmissionHarness(HttpConfig(oauth=gone)), issuer.sign()) == 503


@pytest.mark.parametrize(
    "useless",
    [
        {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "one"},
        public(EC_KEY, kid="one", use="enc"),
        public(RSA_KEY, kid="one", alg="HS256"),
        {"kty": "RSA", "kid": "one"},
        {"kty": "EC", "crv": ["P-256"], "kid": "one"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "one"},
        {"kid": "one"},
        "one",
        None,
    ],
    ids=lambda key: str(sorted(key)) if isinstance(key, dict) else str(key),  # the keys are new each time
)
async def test_a_key_that_verifies_nothing_is_left_out_and_the_others_serve(
    harness: AdmissionHarness, issuer: Issuer, useless: object
) -> None:
    issuer.keys = {"keys": [useless, public(OTHER_RSA_KEY, kid="two")]}
    assert await status_of(harness, issuer.sign(OTHER_RSA_KEY, headers={"kid": "two"})) == 200
    assert await status_of(harness, issuer.sign()) == 401
