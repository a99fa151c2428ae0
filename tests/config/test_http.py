"""The `http` object: who may connect over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import HttpConfig, IssuerConfig, SharesConfig
from tests.config.loading import load_content, problems, toolbox

if TYPE_CHECKING:
    from pathlib import Path

ISSUER = {"issuer": "https://login.example.com/t", "resource": "https://mcp.example.com/mcp"}
SCOPES = {"mcp": ["*"], "mcp:dev": ["dev"]}


def file(http: object) -> dict[str, Any]:
    return {"http": http, "toolboxes": {"dev": toolbox(fs={"command": "x"})}}


def test_without_it_nothing_is_allowed_beyond_the_usual(tmp_path: Path) -> None:
    assert load_content(tmp_path, {"toolboxes": {}}).config.http == HttpConfig()


def test_every_key_is_read(tmp_path: Path) -> None:
    written = {
        "allowedHosts": ["mcp.example.com", "[::1]:8000"],
        "allowedOrigins": ["https://app.example.com:8443", "vscode-webview://abc"],
        "oauth": {**ISSUER, "scopes": SCOPES, "audience": "a", "jwksUri": "http://127.0.0.1:1/jwks"},
    }
    loaded = load_content(tmp_path, file(written))
    assert loaded.warnings == ()
    assert loaded.config.http == HttpConfig(
        allowed_hosts=["mcp.example.com", "[::1]:8000"],
        allowed_origins=["https://app.example.com:8443", "vscode-webview://abc"],
        oauth=IssuerConfig(
            issuer="https://login.example.com/t",
            resource="https://mcp.example.com/mcp",
            scopes=SCOPES,
            audience="a",
            jwks_uri="http://127.0.0.1:1/jwks",
        ),
    )


@pytest.mark.parametrize(
    ("http", "where", "what"),
    [
        ([], "http", "should be an object, not a list"),
        ({"allowedHost": []}, "http.allowedHost", "unknown key"),
        ({"allowedHosts": "x"}, "http.allowedHosts", "should be a list of names, not a string"),
        ({"allowedHosts": [1]}, "http.allowedHosts[0]", "should be a string, not a number"),
        (
            {"allowedHosts": ["https://x"]},
            "http.allowedHosts[0]",
            "should be a name with or without a port, and nothing else",
        ),
        (
            {"allowedOrigins": ["https://x", "x.example"]},
            "http.allowedOrigins[1]",
            "should be the scheme, the name and the port of a web page, and nothing else",
        ),
        ({"oauth": "x"}, "http.oauth", "should be an object, not a string"),
        ({"oauth": ISSUER}, "http.oauth.scopes", "is missing"),
        ({"oauth": ISSUER | {"scopes": []}}, "http.oauth.scopes", "should be an object, not a list"),
        (
            {"oauth": ISSUER | {"scopes": {}}},
            "http.oauth.scopes",
            "names no scope, so that no token is accepted",
        ),
        (
            {"oauth": ISSUER | {"scopes": {"a b": []}}},
            'http.oauth.scopes["a b"]',
            "is not the name of a scope",
        ),
        (
            {"oauth": ISSUER | {"scopes": {"a": "*"}}},
            "http.oauth.scopes.a",
            "should be a list of toolboxes, not a string",
        ),
        (
            {"oauth": ISSUER | {"scopes": {"a": [1]}}},
            "http.oauth.scopes.a[0]",
            "should be the name of a toolbox, not a number",
        ),
        (
            {"oauth": ISSUER | {"scopes": SCOPES, "jwksUri": "http://login.example.com/jwks"}},
            "http.oauth.jwksUri",
            "should start with https://, because http:// can be read and changed on the way",
        ),
        (
            {"oauth": ISSUER | {"scopes": SCOPES, "issuer": "login.example.com"}},
            "http.oauth.issuer",
            "should be a whole address, without a query or a fragment",
        ),
        (
            {"oauth": ISSUER | {"scopes": SCOPES, "resource": "https://x/mcp?y"}},
            "http.oauth.resource",
            "should be a whole address, without a query or a fragment",
        ),
    ],
    ids=str,
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, http: object, where: str, what: str) -> None:
    assert [(problem.where, problem.what) for problem in problems(tmp_path, file(http))] == [(where, what)]


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, file({"allowedHosts": ["/"], "oauth": {"issuer": "x"}}))
    assert [problem.where for problem in found] == [
        "http.allowedHosts[0]",
        "http.oauth.resource",
        "http.oauth.scopes",
        "http.oauth.issuer",
    ]


def test_a_scope_for_a_toolbox_that_is_not_there_is_warned_of(tmp_path: Path) -> None:
    written = {"oauth": ISSUER | {"scopes": {"a": ["dev", "dve"], "b": []}}}
    assert load_content(tmp_path, file(written)).warnings == (
        'http.oauth.scopes.b: an empty list allows the use of nothing; write ["*"] for all toolboxes',
        'http.oauth.scopes.a: there is no toolbox "dve"',
    )


def test_shares_are_read_and_the_others_stay_at_their_defaults(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, file({"shares": {"calls": 5, "totalProcesses": 7}}))
    assert loaded.warnings == ()
    assert loaded.config.http.shares == SharesConfig(calls=5, total_processes=7)


def test_mistakes_in_shares_are_told_with_their_places(tmp_path: Path) -> None:
    found = problems(tmp_path, file({"shares": {"calls": 0, "wating": 3, "searches": "many"}}))
    assert [problem.where for problem in found] == [
        "http.shares.wating",
        "http.shares.calls",
        "http.shares.searches",
    ]
    assert "a number from 1 to 100000" in found[1].what
    assert [problem.where for problem in problems(tmp_path, file({"shares": 5}))] == ["http.shares"]
