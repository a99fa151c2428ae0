"""Tokens of a file: which requests they admit, and what happens when the file changes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest

from mcp_workbench.config import HttpConfig, load
from mcp_workbench.config.tokens import load_tokens
from mcp_workbench.errors import ConfigError, Denied
from mcp_workbench.serve import watch
from mcp_workbench.serve.admission import AdmissionFiles, load_credentials
from mcp_workbench.serve.logs import StderrHandler
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy.configured import ConfiguredPolicy
from mcp_workbench.workbench.principal import ANYONE, Principal
from tests.config.loading import toolbox, write
from tests.serve.admission.admissions import (
    EVERYWHERE,
    LOOPBACK,
    AdmissionHarness,
    Disconnections,
    challenge_of,
)
from tests.serve.admission.issuer import running
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.tokens import LoadedTokens

ALICE = "alice-alice-alice-alice-alice-alice"
BOB = "bob-bob-bob-bob-bob-bob-bob-bob-bob"
OTHER = "other-other-other-other-other-other"


def write_tokens(directory: Path, **entries: tuple[str, list[str]]) -> Path:
    path = directory / "tokens.json"
    tree = {name: {"token": token, "toolboxes": boxes} for name, (token, boxes) in entries.items()}
    fresh = directory / "tokens.new"
    fresh.write_text(json.dumps({"tokens": tree}), encoding="utf-8")
    fresh.chmod(0o600)
    fresh.rename(path)
    return path


def tokens_of(directory: Path, **entries: tuple[str, list[str]]) -> LoadedTokens:
    return load_tokens(write_tokens(directory, **entries), {})


def config_of(directory: Path, http: dict[str, Any] | None = None) -> LoadedConfig:
    return load(
        write(directory, {"http": http or {}, "toolboxes": {"dev": toolbox(), "docs": toolbox()}}), {}
    )


async def test_a_token_tells_who_comes_and_what_it_may_use(tmp_path: Path) -> None:
    harness = AdmissionHarness(tokens=tokens_of(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["dev", "docs"])))
    assert await harness.admit_token(ALICE) == Principal("alice", None)
    assert await harness.admit_token(BOB) == Principal("bob", frozenset({"dev", "docs"}))
    assert await harness.admit(("authorization", f"bEARER  {BOB} ")) == await harness.admit_token(BOB)


async def test_a_known_token_needs_no_wait(tmp_path: Path) -> None:
    harness = AdmissionHarness(tokens=tokens_of(tmp_path, alice=(ALICE, ["*"])))
    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {ALICE}".encode())]
    assert isinstance(harness.admission.admit(headers), Principal)


@pytest.mark.parametrize("listens_on", [LOOPBACK, EVERYWHERE])
async def test_where_there_are_tokens_no_request_is_admitted_without_one(
    tmp_path: Path, listens_on: str
) -> None:
    harness = AdmissionHarness(tokens=tokens_of(tmp_path, alice=(ALICE, ["*"])), listens_on=listens_on)
    with pytest.raises(Denied) as raised:
        await harness.admit()
    assert (raised.value.status, challenge_of(raised.value)) == (401, 'Bearer realm="mcp-workbench"')
    for token in (ALICE[:-1], ALICE.upper(), f"{ALICE}x", "a.b.c", f"{ALICE} {ALICE}"):
        denied = await harness.refusal(token)
        assert (denied.status, denied.reason) == (401, "The token is not known here")
        assert challenge_of(denied) == (
            'Bearer realm="mcp-workbench", error="invalid_token", '
            'error_description="The token is not known here"'
        )


async def test_two_tokens_at_once_are_a_bad_request(tmp_path: Path) -> None:
    harness = AdmissionHarness(tokens=tokens_of(tmp_path, alice=(ALICE, ["*"])))
    with pytest.raises(Denied) as raised:
        await harness.admit(("authorization", f"Bearer {ALICE}"), ("authorization", f"Bearer {ALICE}"))
    assert raised.value.status == 400


async def test_beyond_loopback_no_client_is_admitted_without_a_token_or_an_issuer(tmp_path: Path) -> None:
    with pytest.raises(Denied) as raised:
        await AdmissionHarness(listens_on=EVERYWHERE).admit()
    assert raised.value.status == 401


async def test_tokens_of_a_file_and_of_an_issuer_are_good_side_by_side(tmp_path: Path) -> None:
    async with running() as issuer:
        harness = AdmissionHarness(
            HttpConfig(oauth=issuer.config()), tokens_of(tmp_path, alice=(ALICE, ["*"]))
        )
        assert (await harness.admit_token(ALICE)).name == "alice"
        assert (await harness.admit_token(issuer.sign())).name == f'{issuer.address} "mcp:dev" alice'
        assert "resource_metadata" in challenge_of(await harness.refusal(OTHER))


async def test_what_a_changed_file_takes_from_somebody_ends_what_that_one_has_open(tmp_path: Path) -> None:
    before = tokens_of(
        tmp_path,
        same=("s" * 40, ["*"]),
        gone=("g" * 40, ["*"]),
        less=("l" * 40, ["*"]),
        new=("n" * 40, ["*"]),
    )
    harness = AdmissionHarness(tokens=before)
    harness.admission.renew_tokens(
        tokens_of(tmp_path, same=("s" * 40, ["*"]), less=("l" * 40, ["dev"]), new=("m" * 40, ["*"]))
    )
    names = ("same", "gone", "less", "new", "")
    assert [harness.is_over(Principal(name)) for name in names] == [False, True, True, True, False]
    assert (await harness.admit_token("l" * 40)).toolboxes == frozenset({"dev"})
    assert (await harness.admit_token("m" * 40)).name == "new"
    assert (await harness.refusal("n" * 40)).status == 401
    assert (await harness.refusal("g" * 40)).status == 401


async def test_a_file_that_only_adds_somebody_ends_nothing(tmp_path: Path) -> None:
    harness = AdmissionHarness(tokens=tokens_of(tmp_path, alice=(ALICE, ["*"])))
    harness.admission.renew_tokens(tokens_of(tmp_path, alice=(ALICE, ["*"]), bob=(BOB, ["*"])))
    assert harness.ends == []
    assert (await harness.admit_token(BOB)).name == "bob"


async def test_another_issuer_disconnects_the_clients_of_the_last_one_and_no_others(tmp_path: Path) -> None:
    async with running() as issuer:
        harness = AdmissionHarness(
            HttpConfig(oauth=issuer.config()), tokens_of(tmp_path, alice=(ALICE, ["*"]))
        )
        of_issuer = await harness.admit_token(issuer.sign())
        harness.admission.reconfigure(HttpConfig(allowed_hosts=["x.example"], oauth=issuer.config()))
        assert harness.ends == []
        assert await harness.admit(("authorization", f"Bearer {ALICE}"), host="x.example") == Principal(
            "alice"
        )
        harness.admission.reconfigure(HttpConfig())
        assert [harness.is_over(who) for who in (of_issuer, Principal("alice"))] == [True, False]
        assert (await harness.refusal(issuer.sign())).status == 401


async def test_an_issuer_where_there_was_none_asks_everybody_who_they_are() -> None:
    async with running() as issuer:
        harness = AdmissionHarness()
        anyone = await harness.admit()
        harness.admission.reconfigure(HttpConfig(oauth=issuer.config()))
        assert harness.is_over(anyone)
        with pytest.raises(Denied):
            await harness.admit()


async def test_beyond_loopback_removing_the_issuer_admits_no_client_without_a_token() -> None:
    async with running() as issuer:
        harness = AdmissionHarness(HttpConfig(oauth=issuer.config()), listens_on=EVERYWHERE)
        harness.admission.reconfigure(HttpConfig())
        with pytest.raises(Denied):
            await harness.admit()


class WatchedTokens(Disconnections):
    """An admission whose token file is watched, and the principals that it has disconnected."""

    def __init__(self, directory: Path, **entries: tuple[str, list[str]]) -> None:
        super().__init__()
        self.door = Door()
        self.files = AdmissionFiles(
            LOOPBACK,
            config_of(directory),
            tokens_of(directory, **entries),
            environ={},
            log_handler=StderrHandler(),
            clients=self,
            policy=ConfiguredPolicy(self.door, mock.Mock()),
        )

    def knows(self, token: str) -> bool:
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        try:
            self.files.admission.admit(headers)
        except Denied:
            return False
        return True


async def test_a_changed_file_counts_while_we_run_and_a_bad_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "INTERVAL_SECONDS", 0.01)
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["*"]))
    watched.files.start()
    write_tokens(tmp_path, bob=(BOB, ["*"]))
    await poll(lambda: watched.knows(BOB))
    assert not watched.knows(ALICE)
    assert [is_over(Principal("alice")) for is_over in watched.ends] == [True]
    with caplog.at_level(logging.ERROR, "mcp_workbench"):
        write_tokens(tmp_path, alice=(ALICE, ["*"]), bob=("short", ["*"]))
        await poll(lambda: "the tokens stay as they were" in caplog.text)
    assert "tokens.bob.token: is too short" in caplog.text
    assert ALICE not in caplog.text
    assert watched.knows(BOB)
    watched.files.close()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _delete(path: Path) -> None:
    path.unlink()


def _write_no_token(path: Path) -> None:
    path.write_text('{"tokens": {}}', encoding="utf-8")


def _write_nothing(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")


def _write_blank_lines(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf\n \n")


def _put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(os.devnull)


@pytest.mark.parametrize(
    "empty",
    [
        _empty,
        _delete,
        _write_no_token,
        _write_nothing,
        _write_blank_lines,
        _put_directory,
        _put_pipe,
        _link_to_nothing,
    ],
)
async def test_an_emptied_or_deleted_file_admits_nobody_until_a_token_is_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    empty: Callable[[Path], None],
) -> None:
    monkeypatch.setattr(watch, "INTERVAL_SECONDS", 0.01)
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["*"]))
    watched.files.start()
    path = tmp_path / "tokens.json"
    with caplog.at_level(logging.ERROR, "mcp_workbench"):
        empty(path)
        await poll(lambda: not watched.knows(ALICE))
    # Nor is it open to all, as a workbench on loopback without a token file is.
    with pytest.raises(Denied):
        watched.files.admission.admit([(b"host", b"localhost")])
    assert [is_over(Principal("alice")) for is_over in watched.ends] == [True]
    (line,) = [record.getMessage() for record in caplog.records if "has no tokens" in record.getMessage()]
    assert "mcp-workbench token NAME" in line
    if path.is_dir():
        path.rmdir()
    elif not path.is_file():
        path.unlink(missing_ok=True)
    write_tokens(tmp_path, alice=(ALICE, ["*"]))
    await poll(lambda: watched.knows(ALICE))
    watched.files.close()


async def reload(watched: WatchedTokens) -> None:
    """Have the file loaded again, and wait until that is done."""
    watched.files.reload()
    own = asyncio.current_task()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not own))


async def test_a_file_that_stays_empty_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["*"]))
    for empty in (_empty, _write_no_token, _delete):
        empty(tmp_path / "tokens.json")
        await reload(watched)
        assert not watched.knows(ALICE)
    assert caplog.text.count("has no tokens any more") == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
async def test_a_file_that_cannot_be_read_leaves_the_tokens_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["*"]))
    (tmp_path / "tokens.json").chmod(0)
    await reload(watched)
    assert watched.knows(ALICE)
    assert "permission denied" in caplog.text
    assert "to refuse all tokens, empty or delete the file" in caplog.text


def expiring(directory: Path, seconds: float) -> LoadedTokens:
    """The tokens of Alice, who has so much time left, and of Bob, who has as much as he wants."""
    loaded = tokens_of(directory, alice=(ALICE, ["*"]), bob=(BOB, ["*"]))
    alice = msgspec.structs.replace(loaded.tokens["alice"], expires=time.time() + seconds)
    return msgspec.structs.replace(loaded, tokens=loaded.tokens | {"alice": alice})


async def test_a_token_is_refused_once_it_has_expired_and_what_its_holder_has_open_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harness = AdmissionHarness(tokens=expiring(tmp_path, 0.3))
    assert (await harness.admit_token(ALICE)).name == "alice"
    await poll(lambda: harness.ends)
    assert [harness.is_over(Principal(name)) for name in ("alice", "bob", "")] == [True, False, False]
    denied = await harness.refusal(ALICE)
    reason = "The token has expired. Ask the operator of this workbench for a new one"
    assert (denied.status, denied.reason) == (401, reason)
    assert 'error="invalid_token"' in challenge_of(denied)
    assert (await harness.admit_token(BOB)).name == "bob"
    assert "the token of alice has expired" in caplog.text
    harness.admission.close()


async def test_an_expiry_may_be_put_off_or_brought_forward_while_we_run(tmp_path: Path) -> None:
    harness = AdmissionHarness(tokens=expiring(tmp_path, 0.2))
    harness.admission.renew_tokens(expiring(tmp_path, 600))
    await asyncio.sleep(0.3)  # the time that it had at first
    assert (await harness.admit_token(ALICE)).name == "alice"
    assert harness.ends == []
    harness.admission.renew_tokens(expiring(tmp_path, -1))
    assert harness.is_over(Principal("alice"))
    assert (await harness.refusal(ALICE)).status == 401
    harness.admission.renew_tokens(expiring(tmp_path, 600))
    assert (await harness.admit_token(ALICE)).name == "alice"
    harness.admission.close()


async def test_a_toolbox_that_is_not_there_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["dev", "dve"]))
    with caplog.at_level(logging.WARNING, "mcp_workbench"):
        watched.files.start()
        watched.files.close()
    assert "alice may use a toolbox that does not exist: dve" in caplog.text


async def test_a_changed_configuration_counts_too(tmp_path: Path) -> None:
    watched = WatchedTokens(tmp_path, alice=(ALICE, ["*"]))
    watched.files.reconfigure(config_of(tmp_path, {"allowedHosts": ["mcp.example.com"]}))
    watched.files.admission.check([(b"host", b"mcp.example.com")])
    with pytest.raises(Denied):
        watched.files.admission.check([(b"host", b"other.example.com")])


@pytest.mark.parametrize(("host", "address"), [(EVERYWHERE, "0.0.0.0:8000"), ("::", "[::]:8000")])
def test_beyond_loopback_a_start_without_tokens_is_refused_with_what_to_do(
    tmp_path: Path, host: str, address: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load_credentials(host, 8000, None, config_of(tmp_path), {})
    told = str(raised.value)
    assert told.startswith(f"--http {address}: 1 problem in the configuration")
    for line in (
        "mcp-workbench token alice --token-file tokens.json",
        f"mcp-workbench serve --http {address} --token-file tokens.json",
    ):
        assert line in told


def test_a_start_on_loopback_or_with_tokens_or_an_issuer_is_not(tmp_path: Path) -> None:
    oauth = {"issuer": "https://x", "resource": "https://y/mcp", "scopes": {"s": ["*"]}}
    path = write_tokens(tmp_path, alice=(ALICE, ["*"]))
    plain, with_issuer = config_of(tmp_path), config_of(tmp_path, {"oauth": oauth})
    assert load_credentials("::1", 8000, None, plain, {}) is None
    assert load_credentials(EVERYWHERE, 8000, None, with_issuer, {}) is None
    loaded = load_credentials(EVERYWHERE, 8000, str(path), plain, {})
    assert loaded is not None
    assert [*loaded.tokens] == ["alice"]
    assert ANYONE.name not in loaded.tokens
