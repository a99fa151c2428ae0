"""Entries in the words of other clients load from our own file with their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import OAuthConfig, ServerConfig
from mcp_workbench.config.entries.dialects import CLAUDE_CODE, MILLISECONDS
from mcp_workbench.config.entries.our_words import is_in_our_words
from mcp_workbench.config.entries.translate import translate
from mcp_workbench.config.validation.problems import Problems
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

FS = "toolboxes.dev.mcpServers.fs"
URL = "https://mcp.example.com/mcp"
SECRET = URL[-3:]


def program(**more: Any) -> ServerConfig:
    return ServerConfig(command="x", **more)


def remote(**more: Any) -> ServerConfig:
    return ServerConfig(url=URL, **({"transport": "http"} | more))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"cmd": "x"}, program()),
        ({"command": ["x", "-a"], "args": ["-b"]}, program(args=["-a", "-b"])),
        ({"command": ["x"]}, program()),
        (
            {"command": {"path": "x", "args": ["-a"], "env": {"A": "1"}}, "env": {"B": "2"}},
            program(args=["-a"], env={"A": "1", "B": "2"}),
        ),
        ({"command": "x", "type": "local"}, program()),
        ({"command": "x", "environment": {"A": "1"}, "envs": {"B": 2}}, program(env={"A": "1", "B": "2"})),
        ({"command": "x", "env_vars": ["A", {"name": "B"}]}, program(inherit_env=["A", "B"])),
        ({"command": "x", "env_keys": ["A"], "inheritEnv": ["C*"]}, program(inherit_env=["C*", "A"])),
        ({"command": "x", "env_vars": ["A"], "inheritEnv": True}, program(inherit_env=True)),
        ({"serverUrl": URL}, remote()),
        ({"httpUrl": URL}, remote()),
        ({"uri": URL, "type": "streamable_http"}, remote()),
        ({"url": URL, "type": "remote"}, remote()),
        ({"url": URL, "transport": "streamable-http"}, remote()),
        ({"url": URL, "transportType": "sse"}, remote(transport="sse")),
        (
            {"url": URL, "http_headers": {"A": "b"}, "headers": {"C": "d"}},
            remote(headers={"A": "b", "C": "d"}),
        ),
        ({"url": URL, "env_http_headers": {"A": "TOKEN"}}, remote(headers={"A": "value"})),
        ({"url": URL, "env_http_headers": {"A": "small"}}, remote(headers={"A": "letters"})),
        ({"url": URL, "bearer_token_env_var": "TOKEN"}, remote(headers={"Authorization": "Bearer value"})),
        ({"url": URL, "requestOptions": {"headers": {"A": "b"}}}, remote(headers={"A": "b"})),
        (
            {"command": "x", "startup_timeout_sec": 5, "tool_timeout_sec": 7},
            program(startup_timeout=5, timeout=7),
        ),
        ({"command": "x", "startup_timeout_ms": 2500}, program(startup_timeout=2.5)),
        ({"command": "x", "connectionTimeout": 2000}, program(startup_timeout=2)),
        ({"httpUrl": URL, "timeout": 5000}, remote(timeout=5)),
        ({"command": "x", "trust": True, "timeout": 1500}, program(timeout=1.5)),
        ({"command": "x", "type": "local", "tools": ["*"], "timeout": 9000}, program(timeout=9)),
        ({"command": ["x"], "type": "local", "timeout": 5000}, program(startup_timeout=5)),
        ({"url": URL, "type": "remote", "timeout": 5000, "startupTimeout": 9}, remote(startup_timeout=9)),
        ({"command": "x", "timeout": 30, "autoApprove": []}, program(timeout=30)),
        (
            {"url": URL, "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": SECRET, "scopes": ["a"]}},
            remote(oauth=OAuthConfig(client_id="id", client_secret=SECRET, scopes=["a"])),
        ),
        (
            {"url": URL, "oauth": {"client_id": "id", "scope": "a b", "callback_port": 5}},
            remote(oauth=OAuthConfig(client_id="id", scopes="a b", callback_port=5)),
        ),
        (
            {"url": URL, "oauth": {"enabled": True, "redirectUri": "http://localhost:7777/callback"}},
            remote(oauth=OAuthConfig(callback_port=7777)),
        ),
        ({"url": URL, "oauth": {"enabled": False, "clientId": "id"}}, remote()),
        ({"url": URL, "oauth": False}, remote()),
        ({"url": URL, "auth": "oauth"}, remote()),
        ({"url": URL, "oauthScopes": ["a"]}, remote(oauth=OAuthConfig(scopes=["a"]))),
        (
            {"url": URL, "scopes": ["a"], "oauth": {"clientId": "id"}},
            remote(oauth=OAuthConfig(client_id="id", scopes=["a"])),
        ),
    ],
)
def test_a_key_of_another_client_keeps_its_meaning(
    tmp_path: Path, entry: dict[str, object], expected: ServerConfig
) -> None:
    assert load_server(tmp_path, entry, {"TOKEN": "value", "small": "letters"}) == expected


@pytest.mark.parametrize(
    ("entry", "where", "what"),
    [
        ({"serverUrl": "ftp://x"}, ".serverUrl", "should start with http:// or https://"),
        ({"cmd": ""}, ".cmd", "should be a string that is not empty"),
        (
            {"command": ["x", 1]},
            ".command",
            "should be a string, or a list of strings: the program, then its arguments",
        ),
        ({"command": {"path": "x", "args": "-a"}}, ".command.args", "should be a list of strings"),
        (
            {"command": "x", "environment": ["A=1"]},
            ".environment",
            "should be an object of strings, not a list",
        ),
        (
            {"command": "x", "env": {"A": "1"}, "envs": {"A": "2"}},
            ".envs",
            '"A" is given twice, with two values',
        ),
        ({"url": "http://a", "serverUrl": "http://b"}, ".serverUrl", 'contradicts "url"'),
        (
            {"url": URL, "bearer_token_env_var": 1},
            ".bearer_token_env_var",
            "should be the name of a variable",
        ),
        (
            {"url": URL, "bearer_token_env_var": "T", "headers": {"authorization": "x"}},
            ".bearer_token_env_var",
            '"Authorization" is given twice, with two values',
        ),
        (
            {"url": URL, "env_http_headers": {"A": "${B}"}},
            ".env_http_headers",
            "should be an object with the name of a variable for each header",
        ),
        ({"command": "x", "tool_timeout_sec": "5"}, ".tool_timeout_sec", None),
        ({"command": "x", "auto_aprove": 1, "commnad": "y"}, ".commnad", "unknown key"),
    ],
)
def test_a_mistake_is_reported_at_the_key_as_it_is_written(
    tmp_path: Path, entry: dict[str, object], where: str, what: str | None
) -> None:
    (problem,) = problems(tmp_path, one_server(entry), {"T": "x"})
    assert (problem.where, what or problem.what) == (FS + where, problem.what)


def test_the_same_value_in_two_words_is_no_mistake(tmp_path: Path) -> None:
    entry = {"url": URL, "serverUrl": URL, "env": {"A": "1"}, "environment": {"A": "1"}}
    assert load_server(tmp_path, entry) == remote(env={"A": "1"})


def test_a_timeout_counts_in_the_unit_of_its_client() -> None:
    entry: dict[str, object] = {"command": "x", "timeout": 30_000}
    assert translate(entry, (), Problems(), MILLISECONDS) == {"command": "x", "timeout": 30}
    assert translate(entry, (), Problems()) == entry


@pytest.mark.parametrize("timeout", [0, 500])
def test_a_timeout_that_its_client_ignores_is_ignored(timeout: int) -> None:
    assert translate({"command": "x", "timeout": timeout}, (), Problems(), CLAUDE_CODE) == {"command": "x"}


def test_a_limit_that_the_workbench_does_not_know_is_told_what_to_write(tmp_path: Path) -> None:
    what = "limits the server in another client, and the workbench does not know how"
    remedy = 'Use "toolFilters" to choose the tools, or delete this key.'
    assert problems(tmp_path, one_server({"command": "x", "readOnly": True})) == [
        Problem(f"{FS}.readOnly", what, remedy)
    ]


def test_other_options_of_requests_are_ignored_with_the_other_keys(tmp_path: Path) -> None:
    entry = {"url": URL, "requestOptions": {"verifySsl": True}, "faviconUrl": "x"}
    listed = "faviconUrl, requestOptions.verifySsl"
    assert load_content(tmp_path, one_server(entry)).warnings == (
        f"{FS}: the workbench does not use these keys, and ignores them: {listed}",
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": [], "env": {}, "type": "stdio", "toolFilters": ["*"], "disabled": False},
        {"url": URL, "transport": "sse", "headers": {}, "timeout": 5, "oauth": None, "envFile": "x"},
    ],
)
def test_an_entry_in_our_words_is_left_as_it_is(entry: dict[str, object]) -> None:
    assert is_in_our_words(entry)
    assert translate(entry, (), Problems()) is entry


def test_the_references_of_opencode_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("in a file\n")
    entry = {
        "type": "local",
        "command": ["x", "{env:A}"],
        "environment": {"K": "{file:key}", "J": "{{env:A}}"},
    }
    server = load_server(tmp_path, entry, {"A": "value"})
    assert (server.args, server.env) == (["value"], {"K": "in a file", "J": "{{env:A}}"})


def test_a_variable_that_another_client_would_replace_is_told_how_to_write_it(tmp_path: Path) -> None:
    entry = {"httpUrl": URL, "headers": {"Authorization": "Bearer $API_TOKEN", "X-Price": "5$ or $ 6"}}
    what = "$API_TOKEN is taken as it is; to refer to the variable, write ${API_TOKEN}"
    assert load_content(tmp_path, one_server(entry)).warnings == (f"{FS}.headers.Authorization: {what}",)
