"""What a modern client brings back is taken only as it was given, for what it was given, in time and once."""

from __future__ import annotations

import base64
import hmac
import json
import time
from hashlib import sha256

import msgspec
import pytest

from mcp_workbench.config.load import STATE_KEY
from mcp_workbench.protocol.binding import bind
from mcp_workbench.surface.questions.sealing import MAX_USED_STATES, Kind, Seal, UsedStates
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import ABSENT

BOUND = bind("tools/call", "dev", "files", "read", arguments=b'{"a":1}')
INNER = msgspec.Raw('"what the server noted: ✓"'.encode())


def refusal(seal: Seal, text: str, bound: bytes = BOUND) -> str:
    with pytest.raises(Refusal) as raised:
        seal.open(text, bound)
    assert raised.value.code == -32602
    return raised.value.message


def test_what_was_sealed_comes_out_again() -> None:
    seal = Seal({})
    nonce, text = seal.seal("passed", BOUND, 60, INNER)
    state = seal.open(text, BOUND)
    assert (state.kind, state.nonce, state.inner) == ("passed", nonce, INNER)


def test_a_state_may_have_nothing_of_the_servers() -> None:
    seal = Seal({})
    assert seal.open(seal.seal("parked", BOUND, 60)[1], BOUND).inner == ABSENT


def test_any_other_character_is_noticed() -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.~"
    for at, character in enumerate(text):
        other = alphabet[(alphabet.index(character) + 1) % len(alphabet)]
        assert "has been changed" in refusal(seal, text[:at] + other + text[at + 1 :])
    seal.open(text, BOUND)


@pytest.mark.parametrize("odd", ["", "x", "wb2.", "wb2.é", "wb2.AAAA", "." * 100, "wb2." + "A" * 100_000])
def test_what_was_never_ours_is_refused(odd: str) -> None:
    assert "not made by this workbench" in refusal(Seal({}), odd)


@pytest.mark.parametrize("addition", ["!", "\n", "=", "====", " "])
def test_what_a_decoder_would_overlook_is_refused(addition: str) -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    assert "has been changed" in refusal(seal, text + addition)
    assert "has been changed" in refusal(seal, text[:20] + addition + text[20:])


def test_the_content_cannot_be_exchanged_under_its_seal() -> None:
    seal = Seal({})
    texts = [seal.seal("passed", BOUND, 60, INNER)[1].removeprefix("wb2.") for _ in range(2)]
    first, second = (base64.urlsafe_b64decode(text) for text in texts)
    swapped = base64.urlsafe_b64encode(first[:32] + second[32:]).decode()
    assert "has been changed" in refusal(seal, f"wb2.{swapped}")


def test_one_that_has_expired_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert "it has expired" in refusal(seal, text)


def test_one_is_good_once() -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    seal.open(text, BOUND)
    assert "already been used" in refusal(seal, text)


def test_one_that_was_refused_is_still_good_for_what_it_was_for() -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    refusal(seal, text, bind("tools/call", "dev", "files", "write", arguments=b'{"a":1}'))
    seal.open(text, BOUND)


@pytest.mark.parametrize(
    ("names", "arguments"),
    [
        (("tools/call", "dev", "files", "write"), b'{"a":1}'),
        (("tools/call", "dev", "other", "read"), b'{"a":1}'),
        (("tools/call", "team", "files", "read"), b'{"a":1}'),
        (("prompts/get", "dev", "files", "read"), b'{"a":1}'),
        (("tools/call", "dev", "files", "read"), b'{"a":2}'),
        (("tools/call", "dev", "files", "read"), b'{"a":"1"}'),
        (("tools/call", "dev", "files", "read"), b'{"a":1,"b":null}'),
        (("tools/call", "dev", "files", "read"), b"{}"),
        (("tools/call", "dev", "filesread", ""), b'{"a":1}'),
    ],
)
def test_one_for_another_request_is_refused(names: tuple[str, ...], arguments: bytes) -> None:
    seal = Seal({})
    _, text = seal.seal("passed", BOUND, 60, INNER)
    assert "another request" in refusal(seal, text, bind(*names, arguments=arguments))


@pytest.mark.parametrize("written", [b'{"a":1}', b'{ "a" : 1 }', b'{"\\u0061":1}'])
def test_the_same_arguments_may_be_written_otherwise(written: bytes) -> None:
    assert bind("tools/call", "dev", "files", "read", arguments=written) == BOUND


def test_the_order_of_members_makes_no_difference() -> None:
    one = bind("x", arguments=b'{"a":{"c":1,"d":[1,2]},"b":2}')
    assert one == bind("x", arguments=b'{"b":2,"a":{"d":[1,2],"c":1}}')
    assert one != bind("x", arguments=b'{"b":2,"a":{"d":[2,1],"c":1}}')


def test_arguments_that_are_nested_too_deeply_are_taken_as_they_stand() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert bind("x", arguments=deep) == bind("x", arguments=deep) != bind("x", arguments=b"{}")


@pytest.mark.parametrize("kind", ["parked", "passed", "anew"])
def test_only_the_process_that_made_a_state_takes_it_and_another_leaves_it_good(kind: Kind) -> None:
    key = {STATE_KEY: "one and the same for all replicas"}
    one, two = Seal(key, replica="one"), Seal(key, replica="two")
    _, text = one.seal(kind, BOUND, 60, INNER)
    for _ in range(2):
        message = refusal(two, text)
        assert (
            "made by another workbench process (replica one, and this is two), or before a restart" in message
        )
        assert "Send the retry to the process that asked" in message
    assert one.open(text, BOUND).inner == INNER
    assert "already been used" in refusal(one, text)
    assert "another workbench process" in refusal(two, text)


def test_a_process_with_another_key_says_what_may_be_the_reason() -> None:
    _, text = Seal({STATE_KEY: "one"}, replica="one").seal("passed", BOUND, 60, INNER)
    for seal in (Seal({STATE_KEY: "two"}, replica="two"), Seal({}, replica="two"), Seal({}, replica="one")):
        message = refusal(seal, text)
        assert "not made by this workbench process, or before a restart, or it has been changed" in message
        assert "or make a new request" in message


def test_the_replica_cannot_be_exchanged_under_its_seal() -> None:
    key = {STATE_KEY: "one and the same for all replicas"}
    _, text = Seal(key, replica="one").seal("passed", BOUND, 60, INNER)
    raw = base64.urlsafe_b64decode(text.removeprefix("wb2."))
    forged = base64.urlsafe_b64encode(raw.replace(b'"one"', b'"two"')).decode()
    assert "has been changed" in refusal(Seal(key, replica="two"), f"wb2.{forged}")


def test_a_state_is_good_once_for_all_seals_of_a_client_in_a_process() -> None:
    # A client that was away for long, or was dismissed, has a new one when it comes back.
    used, key = UsedStates(), {STATE_KEY: "the same after a while"}
    _, text = Seal(key, "alice", used).seal("passed", BOUND, 60)
    Seal(key, "alice", used).open(text, BOUND)
    assert "already been used" in refusal(Seal(key, "alice", used), text)
    assert "not made by" in refusal(Seal(key, "bob", used), text)


def test_a_state_of_an_earlier_form_is_refused_under_whatever_name() -> None:
    key = {STATE_KEY: "the same before and after the update"}
    owner = b""
    payload = json.dumps(["passed", base64.b64encode(bytes(16)).decode(), time.time() + 60, "", 7]).encode()
    secret = hmac.digest(sha256(key[STATE_KEY].encode()).digest(), owner, "sha256")
    sealed = base64.urlsafe_b64encode(hmac.digest(secret, payload, "sha256") + payload).decode()
    for version in ("wb1", "wb2"):
        assert "not made by this workbench process" in refusal(Seal(key), f"{version}.{sealed}")


def test_used_ones_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_workbench.surface.questions.sealing.MAX_USED_STATES", 3)
    seal = Seal({})
    texts = [seal.seal("passed", BOUND, 60)[1] for _ in range(4)]
    for text in texts:
        seal.open(text, BOUND)
    assert MAX_USED_STATES > 3
    for text in texts[1:]:
        assert "already been used" in refusal(seal, text)
