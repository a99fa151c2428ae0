"""A person who is asked something sees which server asks, and where a URL really leads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.surface.questions.origin import UNREADABLE_HOST, shown_host, with_origin
from mcp_workbench.wire.message import encode, members_of

if TYPE_CHECKING:
    import msgspec

    from tests.support.client import Json


def labelled(method: str, params: Json) -> Json:
    raw: msgspec.Raw = encode(params)  # type: ignore[assignment] # bytes are as good to read
    shown: Json = json.loads(encode(with_origin("dev/files", method, members_of(raw))))
    return shown


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.org/sign-in?a=b", "example.org"),
        ("HTTPS://Example.ORG:8443#top", "example.org:8443"),
        ("https://example.org:/", "example.org"),
        ("https://bank.com@evil.com/", "evil.com"),
        ("https://bank.com:443@evil.com", "evil.com"),
        ("https://bank.com%2f@evil.com", "evil.com"),
        ("https://a@b@evil.com", "evil.com"),
        (r"https://evil.com\@bank.com", "evil.com"),
        ("https://evil.com?@bank.com", "evil.com"),
        ("https://evil.com#@bank.com", "evil.com"),
        ("https:evil.com", "evil.com"),
        (r"https:\/\evil.com/", "evil.com"),
        (" \x00ht\ntps://ev\til.com", "evil.com"),
        ("https://\u0430pple.com/", "xn--pple-43d.com"),
        ("https://\uff45vil\u3002com", "evil.com"),
        ("http://127.0.0.1:8080/x", "127.0.0.1:8080"),
        ("http://[::1]:80/", "[::1]:80"),
        ("javascript:alert(1)", "an address with the scheme javascript:"),
        ("file:///etc/passwd", "an address with the scheme file:"),
    ],
)
def test_the_host_is_the_one_that_a_browser_opens(url: str, host: str) -> None:
    assert shown_host(url) == host


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "https://",
        "https:///",
        "https://user@",
        "https://%65vil.com",
        "https://evil.com%00.bank.com",
        "https://fu\xdfball.de",
        "https://a\u200cb.com",
        "https://exa mple.org",
        "https://evil.com:port",
        "https://[::1",
        "http://0x7f.1",
        "http://2130706433/",
        "http://0177.0.0.1",
        f"https://{'ü' * 70}.com",
    ],
)
def test_a_host_that_may_be_read_in_several_ways_is_not_named(url: str) -> None:
    assert shown_host(url) == UNREADABLE_HOST


def test_a_form_begins_with_the_server_and_hides_nothing() -> None:
    asked = {
        "message": "Your \u202ename\u202c?\x1b[8m\x07",
        "requestedSchema": {"type": "object"},
        "x": [1.5],
    }
    assert labelled("elicitation/create", asked) == {**asked, "message": "[dev/files] Your name?"}


def test_a_form_without_words_still_says_who_asks() -> None:
    assert labelled("elicitation/create", {"message": 5}) == {"message": "[dev/files]"}


def test_a_url_is_announced_with_its_host_before_the_words_of_the_server() -> None:
    asked = {"mode": "url", "message": "(opens bank.com) Sign in", "url": "https://bank.com@evil.com"}
    shown = labelled("elicitation/create", asked)
    assert shown == {**asked, "message": "[dev/files] (opens evil.com) (opens bank.com) Sign in"}


def test_a_mode_that_is_not_named_does_not_hide_where_a_url_leads() -> None:
    shown = labelled("elicitation/create", {"message": "Sign in", "url": "https://evil.com"})
    assert shown["message"] == "[dev/files] (opens evil.com) Sign in"


@pytest.mark.parametrize(("prompt", "shown"), [("Be brief", "[dev/files] Be brief"), (None, "[dev/files]")])
def test_a_request_to_sample_begins_with_the_server(prompt: str | None, shown: str) -> None:
    asked = {"messages": [], "maxTokens": 5} | ({} if prompt is None else {"systemPrompt": prompt})
    assert labelled("sampling/createMessage", asked) == {**asked, "systemPrompt": shown}


@pytest.mark.parametrize("context", ["allServers", "thisServer", "none", 1])
def test_the_context_of_other_servers_is_not_asked_for(context: object) -> None:
    shown = labelled("sampling/createMessage", {"messages": [], "includeContext": context})
    assert shown["includeContext"] == "none"


def test_a_request_for_roots_stays_as_it_is() -> None:
    assert labelled("roots/list", {"x": 1}) == {"x": 1}
