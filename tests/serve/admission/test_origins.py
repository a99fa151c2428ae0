"""Which `Host` and which `Origin` a request may have."""

from __future__ import annotations

import logging

import pytest

from mcp_workbench.config import HttpConfig, IssuerConfig
from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.errors import Denied
from mcp_workbench.serve.admission.origins import Origins
from mcp_workbench.serve.logs import refusal_log
from mcp_workbench.workbench.principal import ANYONE
from tests.serve.admission.admissions import EVERYWHERE, LOOPBACK, AdmissionHarness

LISTED = HttpConfig(
    allowed_hosts=["MCP.example.com", "other.example.com:8443"],
    allowed_origins=["https://App.example.com", "vscode-webview://abc"],
    oauth=IssuerConfig(
        issuer="https://login.example.com", resource="https://public.example.com/mcp", scopes={"s": ["*"]}
    ),
)


def outcome(origins: Origins, host: str | None, origin: str | None = None) -> int | None:
    """The status of the refusal, or None. Asked twice, because what is right is remembered."""
    first, second = (_status(origins, host, origin) for _ in range(2))
    assert first == second
    return first


def _status(origins: Origins, host: str | None, origin: str | None) -> int | None:
    sent = [None if value is None else value.encode() for value in (host, origin)]
    try:
        origins.check(*sent)
    except Denied as denied:
        return denied.status
    return None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:8000", "127.8.9.1"])
@pytest.mark.parametrize("listens_on", [LOOPBACK, "localhost", "::1", EVERYWHERE, "10.0.0.7"])
def test_this_machine_is_known_by_its_own_names_at_any_port(listens_on: str, host: str) -> None:
    assert outcome(Origins(listens_on, HttpConfig()), host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "localhost:8000:1",
        "localhost/x",
        "local host",
        "10.0.0.7",
        "[2001:db8::1]",
        "löcalhost",
        "localhost:999999",
    ],
)
def test_on_loopback_every_other_host_is_misdirected(host: str | None) -> None:
    assert outcome(Origins(LOOPBACK, HttpConfig()), host) == 421


@pytest.mark.parametrize("host", ["10.0.0.7", "10.0.0.7:8000", "[2001:db8::1]:8000"])
def test_beyond_loopback_any_ip_address_is_accepted_as_host(host: str) -> None:
    assert outcome(Origins(EVERYWHERE, HttpConfig()), host) is None


def test_beyond_loopback_a_name_has_to_be_allowed_unless_it_is_the_one_that_we_listen_on() -> None:
    assert outcome(Origins(EVERYWHERE, HttpConfig()), "mcp.example.com") == 421
    assert outcome(Origins("mcp.example.com", HttpConfig()), "mcp.example.com:8000") is None


@pytest.mark.parametrize("listens_on", [LOOPBACK, EVERYWHERE])
def test_allowed_hosts_and_the_host_of_the_resource_are_ours(listens_on: str) -> None:
    origins = Origins(listens_on, LISTED)
    right = ["mcp.example.com", "mcp.example.com:1", "other.example.com:8443", "Public.Example.com"]
    wrong = ["other.example.com", "other.example.com:1", "login.example.com", "x.mcp.example.com"]
    assert [outcome(origins, host) for host in right] == [None] * 4
    assert [outcome(origins, host) for host in wrong] == [421] * 4


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "HTTP://LOCALHOST:8000"]
)
def test_pages_of_this_machine_may_come_to_loopback_only(origin: str) -> None:
    assert outcome(Origins(LOOPBACK, HttpConfig()), "localhost:8000", origin) is None
    assert outcome(Origins(EVERYWHERE, HttpConfig()), "10.0.0.7:8000", origin) == 403


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost:3000/path",
        "http://localhost:3000?x",
        "http://a@localhost",
        "file://localhost",
        "localhost",
    ],
)
def test_a_strange_origin_is_forbidden(origin: str) -> None:
    assert outcome(Origins(LOOPBACK, HttpConfig()), "localhost:8000", origin) == 403


def test_listed_origins_may_come_and_so_may_pages_of_the_same_place() -> None:
    origins = Origins(EVERYWHERE, LISTED)
    right = ["https://app.example.com", "vscode-webview://abc", "https://mcp.example.com"]
    wrong = ["https://app.example.com:8443", "vscode-webview://abd", "https://mcp.example.com:1"]
    assert [outcome(origins, "mcp.example.com", origin) for origin in right] == [None] * 3
    assert [outcome(origins, "mcp.example.com", origin) for origin in wrong] == [403] * 3


@pytest.mark.parametrize(
    ("headers", "key"),
    [([("host", "evil.example")], "allowedHosts"), ([("origin", "https://evil.example")], "allowedOrigins")],
)
async def test_a_refusal_tells_sender_and_log_which_key_to_set_and_the_log_only_once(
    headers: list[tuple[str, str]], key: str, caplog: pytest.LogCaptureFixture
) -> None:
    harness = AdmissionHarness()
    host = dict(headers).get("host", "localhost")
    came = [pair for pair in headers if pair[0] == "origin"]
    with caplog.at_level(logging.WARNING, "mcp_workbench"), pytest.raises(Denied) as raised:
        await harness.admit(*came, host=host)
    with caplog.at_level(logging.WARNING, "mcp_workbench"), pytest.raises(Denied):
        await harness.admit(*came, host=host)
    assert f'"{key}" under "http"' in raised.value.reason
    assert "evil.example" in raised.value.reason
    assert [record.getMessage() for record in caplog.records] == [
        f"a request from 192.0.2.7 was refused with status {raised.value.status}: {raised.value.reason}"
    ]


async def test_odd_hosts_from_many_addresses_neither_fill_the_log_nor_hide_other_refusals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = AdmissionHarness(listens_on=EVERYWHERE)
    with caplog.at_level(logging.WARNING, "mcp_workbench"):
        for number in range(1000):
            with pytest.raises(Denied):
                await harness.admit(host=f"evil-{number}.example", peer=f"192.0.2.{number % 100}")
        assert len(caplog.records) == refusal_log.LINES_PER_KIND
        with pytest.raises(Denied):
            await harness.admit()
        assert "192.0.2.7 was refused with status 401" in caplog.messages[-1]
        monkeypatch.setattr(refusal_log, "QUIET_SECONDS", 0.0)
        with pytest.raises(Denied):
            await harness.admit(host="evil.example")
    assert caplog.messages[-1].endswith("(990 more since the last such line)")


async def test_a_header_cannot_write_lines_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "mcp_workbench"), pytest.raises(Denied):
        await AdmissionHarness().admit(host="evil\nforged: all is well\x1b[2J\x85\u202e" + "x" * 10_000)
    (message,) = caplog.messages
    assert message.isprintable()
    assert "evil\\x0aforged" in message
    assert len(message) < 600


@pytest.mark.parametrize("name", ["host", "origin"])
async def test_a_header_that_is_there_twice_is_a_bad_request(name: str) -> None:
    with pytest.raises(Denied) as raised:
        await AdmissionHarness().admit((name, "localhost"), (name, "localhost"))
    assert raised.value.status == 400


async def test_what_is_asked_without_a_token_is_checked_too() -> None:
    admission = AdmissionHarness().admission
    admission.check([(b"host", b"localhost")])
    with pytest.raises(Denied):
        admission.check([(b"host", b"evil.example")])


async def test_on_loopback_without_tokens_everybody_is_the_same() -> None:
    assert await AdmissionHarness().admit() is ANYONE
    assert await AdmissionHarness().admit(("authorization", "Bearer whatever")) is ANYONE


def test_a_browser_is_told_that_listed_pages_may_read_and_no_others() -> None:
    origins = Origins(LOOPBACK, LISTED)
    asked = b"content-type, mcp-session-id"
    answer = dict(origins.preflight(b"https://app.example.com", asked))
    assert answer[b"access-control-allow-origin"] == b"https://app.example.com"
    assert answer[b"access-control-allow-headers"] == asked
    assert dict(origins.cors(b"https://app.example.com"))[b"vary"] == b"Origin"
    assert origins.cors(b"http://localhost:3000") == origins.preflight(None, asked) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])
def test_a_loopback_address_is_recognised_in_every_form(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "", "10.0.0.7", "::2", "localhost.example"])
def test_everything_else_is_beyond_loopback(host: str) -> None:
    assert not is_loopback(host)
