"""What is converted loads; what would not load, or would mean more than before, is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_workbench.config.clients import Converted, FoundFile, FoundServer, Machine, convert
from tests.config.clients.places import client_of

MACHINE = Machine("linux", "/home/ada", "/src", {})
FILE = FoundFile(client_of("cursor"), "user", "/home/ada/.cursor/mcp.json", "json")


def converted(entry: dict[str, Any]) -> Converted:
    return convert(FILE, FoundServer("fs", entry, ("mcpServers", "fs")), MACHINE)


@pytest.mark.parametrize(
    ("entry", "start"),
    [
        ({}, 'has neither "command"'),
        ({"command": "x", "url": "https://x"}, 'has both "command"'),
        ({"command": "x", "type": "sse"}, 'type: is for a remote server ("url")'),
        ({"url": "localhost:80"}, "url: should start with http:// or https://"),
        ({"command": "x", "agrs": []}, "agrs: unknown key"),
        ({"command": "x", "args": [1]}, "args[0]: should be a string, not a number"),
        ({"url": "https://x", "type": "ws"}, "type: should be one of"),
        ({"url": "https://x", "headers": {"A": "b\nc"}}, "headers.A: contains a line break"),
        ({"command": "x", "disabledTools": "all"}, "disabledTools: should be a list of the names of tools"),
        ({"command": "x", "enabled": "no"}, "enabled: should be true or false"),
        ({"command": "x", "sandbox": {"network": False}}, "sandbox: limits the server in another client"),
        ({"command": "x", "toolFilters": "read"}, "toolFilters: should be a list"),
        ({"command": "x", "toolFilters": "read", "disabledTools": ["a"]}, "toolFilters: should be a list"),
        ({"command": "x", "toolFilters": ["a", 1], "disabledTools": ["a"]}, "toolFilters[1]: should be"),
        ({"command": "x", "selectedTools": ["a"]}, "selectedTools: limits the server in another client"),
        ({"command": "x", "tool_names": ["a"]}, "tool_names: limits the server in another client"),
        ({"command": "x", "toolsets": "repos"}, "toolsets: limits the server in another client"),
        ({"command": "x", "allowed_roots": ["/srv"]}, "allowed_roots: limits the server in another client"),
        ({"command": "x", "roots": ["/srv"]}, "roots: should be a string"),
        ({"command": "x", "network": "none"}, "network: limits the server in another client"),
        ({"command": "x", "active": "no"}, "active: should be true or false"),
    ],
)
def test_an_entry_that_would_not_load_is_refused(entry: dict[str, Any], start: str) -> None:
    (reason,) = converted(entry).refusals
    assert reason.startswith(start)


def test_a_reason_quotes_no_value() -> None:
    entry = {
        "command": "x",
        "enabled": "hunter2",
        "tools": "hunter2",
        "env": {"A": ["hunter2"]},
        "agrs": "hunter2",
    }
    result = converted(entry)
    assert len(result.refusals) == 4
    assert "hunter2" not in str((result.refusals, result.notes))


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "${env:BASE}/mcp", "headers": {"A": "${env:B}"}},
        {"command": "${env:HOME}/server", "cwd": "${workspaceFolder}"},
    ],
)
def test_what_a_reference_stands_for_need_not_be_known(entry: dict[str, Any]) -> None:
    assert converted(entry).refusals == ()


def test_what_is_a_default_is_left_out_so_that_equal_servers_are_equal() -> None:
    plain: dict[str, object] = {"command": "x", "args": ["-y"]}
    verbose = {
        **plain,
        "type": "stdio",
        "transport": "stdio",
        "env": {},
        "headers": {},
        "disabled": False,
        "enabled": True,
        "toolFilters": ["*"],
        "disabledTools": [],
    }
    assert converted(verbose) == converted(plain) == Converted(plain)
    assert converted({"url": "https://x", "type": "streamable-http"}).entry == {"url": "https://x"}


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("goose", {"name": "fs", "type": "stdio", "cmd": "x", "enabled": True}),
        ("continue", {"name": "fs", "command": "x"}),
        ("zed", {"source": "custom", "command": "x"}),
    ],
)
def test_what_every_entry_of_a_client_has_is_no_note(client: str, entry: dict[str, Any]) -> None:
    file = FoundFile(client_of(client), "user", "/home/ada/file", "json")
    assert convert(file, FoundServer("fs", entry, ()), MACHINE) == Converted({"command": "x"})


def test_names_of_secrets_that_are_none_are_refused() -> None:
    file = FoundFile(client_of("goose"), "user", "/home/ada/file", "yaml")
    result = convert(file, FoundServer("fs", {"cmd": "x", "env_keys": ["A B"]}, ()), MACHINE)
    assert [reason.partition(":")[0] for reason in result.refusals] == ["env_keys"]


def test_keys_without_a_meaning_here_are_one_note() -> None:
    assert converted({"command": "x", "gallery": True, "autoApprove": ["a"], "icon": "i"}) == Converted(
        {"command": "x"},
        notes=("the workbench does not use these keys, and ignores them: gallery, autoApprove, icon",),
    )


def test_a_limit_without_a_value_is_none() -> None:
    entry = {"command": "x", "enabled_tools": None, "permissions": None, "sandbox": None, "active": None}
    assert (converted(entry).entry, converted(entry).refusals) == ({"command": "x"}, ())


def test_a_server_that_is_not_active_is_disabled() -> None:
    assert converted({"command": "x", "active": False}).entry == {"command": "x", "disabled": True}
