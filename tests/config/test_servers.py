"""What a server entry may hold, and what is said when it holds something else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

FS = "toolboxes.dev.mcpServers.fs"
SECONDS = "should be a number of seconds, more than 0 and at most 100000000"
CALLS = "should be a number of calls from 1 to 100000, in digits only"
BYTES = "should be a number of bytes from 65536 to 1073741824, in digits only"
TYPES = '"stdio", "local", "http", "streamable-http", "streamableHttp", "streamable_http", "remote", "sse"'
HALF = "contains half of a character (a lone surrogate), which cannot be written anywhere"
NUL = "contains a NUL character, which no program can be given"
ONE_LINE = "contains a line break or a NUL character"


def command(**more: object) -> dict[str, Any]:
    return {"command": "x", **more}


def test_a_command_alone_gets_the_defaults(tmp_path: Path) -> None:
    assert load_server(tmp_path, {"command": "npx"}) == ServerConfig(
        command="npx",
        args=[],
        env={},
        cwd=None,
        url=None,
        headers={},
        transport="stdio",
        tool_filters=["*"],
        required=False,
        disabled=False,
        timeout=60.0,
        startup_timeout=60.0,
        call_limit=1000,
        message_limit=67_108_864,
        inherit_env=False,
        protocol="auto",
    )


def test_every_key_of_a_program_is_read(tmp_path: Path) -> None:
    entry = {
        "command": "npx",
        "args": ["-y"],
        "env": {"A": "1"},
        "cwd": "/srv",
        "transport": "stdio",
        "toolFilters": ["read_*", "!read_x"],
        "required": True,
        "disabled": True,
        "timeout": 5,
        "startupTimeout": 0.5,
        "inputTimeout": 7,
        "callLimit": 1,
        "messageLimit": 65536,
        "inheritEnv": ["GIT_*"],
        "protocol": "legacy",
    }
    assert load_server(tmp_path, entry) == ServerConfig(
        command="npx",
        args=["-y"],
        env={"A": "1"},
        cwd="/srv",
        tool_filters=["read_*", "!read_x"],
        required=True,
        disabled=True,
        timeout=5.0,
        startup_timeout=0.5,
        input_timeout=7.0,
        call_limit=1,
        message_limit=65_536,
        inherit_env=["GIT_*"],
        protocol="legacy",
    )


@pytest.mark.parametrize(
    ("keys", "transport"),
    [
        ({}, "http"),
        ({"transport": "http"}, "http"),
        ({"transport": "sse"}, "sse"),
        ({"type": "http"}, "http"),
        ({"type": "streamable-http"}, "http"),
        ({"type": "streamableHttp", "transport": "http"}, "http"),
        ({"type": "sse", "command": None}, "sse"),
    ],
)
def test_a_url_is_reached_over_http_unless_the_entry_says_sse(
    tmp_path: Path, keys: dict[str, object], transport: Any
) -> None:
    entry = {"url": "https://mcp.example.com/mcp", "headers": {"X-Team": "a"}, **keys}
    expected = ServerConfig(url="https://mcp.example.com/mcp", headers={"X-Team": "a"}, transport=transport)
    assert load_server(tmp_path, entry) == expected


def test_numbers_in_env_become_their_text_and_null_is_dropped(tmp_path: Path) -> None:
    env = {"PORT": 8080, "RATIO": 0.5, "WHOLE": 3.0, "TEXT": "", "UNSET": None}
    expected = ServerConfig(command="x", env={"PORT": "8080", "RATIO": "0.5", "WHOLE": "3", "TEXT": ""})
    assert load_server(tmp_path, command(env=env)) == expected


@pytest.mark.parametrize(
    ("entry", "where", "what"),
    [
        ({}, "", 'has neither "command" (a program to start) nor "url" (a remote server)'),
        ({"command": None}, "", 'has neither "command" (a program to start) nor "url" (a remote server)'),
        (command(url="http://x"), "", 'has both "command" (a program to start) and "url" (a remote server)'),
        ({"command": ""}, ".command", "should be a string that is not empty"),
        ({"command": " "}, ".command", "should be a string that is not empty"),
        (
            {"command": []},
            ".command",
            "should be a string, or a list of strings: the program, then its arguments",
        ),
        ({"command": "a\0b"}, ".command", NUL),
        ({"command": "\ud800"}, ".command", HALF),
        (command(isolation="\ud800"), ".isolation", 'should be a string, one of "shared", "client"'),
        (command(args="-y pkg"), ".args", "should be a list of strings, one for each argument, not a string"),
        (command(args=["\0"]), ".args[0]", NUL),
        (command(env=["A=1"]), ".env", "should be an object of strings, not a list"),
        (command(env={"A": "\0"}), ".env.A", NUL),
        (command(env={"A=B": "1"}), '.env["A=B"]', "is not the name of a variable"),
        (command(env={"": "1"}), '.env[""]', "is not the name of a variable"),
        (command(cwd=""), ".cwd", "should be a string that is not empty"),
        (command(cwd="\0"), ".cwd", NUL),
        (
            command(transport="http"),
            ".transport",
            'is for a remote server ("url"), but this one has a "command"',
        ),
        (command(type="sse"), ".type", 'is for a remote server ("url"), but this one has a "command"'),
        (command(transport="tcp"), ".transport", 'should be a string, one of "stdio", "http", "sse"'),
        (
            command(type="tcp"),
            ".type",
            f"should be one of {TYPES}",
        ),
        (
            command(type=1),
            ".type",
            f"should be one of {TYPES}, not a number",
        ),
        (
            {"url": "http://x", "transport": "http", "type": "sse"},
            ".type",
            'contradicts "transport": they are two words for the same thing',
        ),
        ({"url": "localhost:1"}, ".url", "should start with http:// or https://"),
        (
            {"url": "http://x", "type": "stdio"},
            ".type",
            'is for a program to start ("command"), but this one has a "url"',
        ),
        ({"url": "http://x", "headers": {"A": "b\r\nC: d"}}, ".headers.A", ONE_LINE),
        ({"url": "http://x", "headers": {"": "b"}}, '.headers[""]', "the name of a header cannot be empty"),
        ({"url": "http://x", "headers": {"Host": "b"}}, ".headers.Host", "is a header that HTTP itself sets"),
        ({"url": "http://x", "headers": {"X Y": "b"}}, '.headers["X Y"]', "is not the name of a header"),
        (command(toolFilters="*"), ".toolFilters", "should be a list of strings, not a string"),
        (command(required="yes"), ".required", "should be true or false, not a string"),
        (command(disabled=0), ".disabled", "should be true or false, not a number"),
        (command(timeout=0), ".timeout", SECONDS),
        (command(timeout="5"), ".timeout", f"{SECONDS}, not a string"),
        (command(timeout=True), ".timeout", f"{SECONDS}, not a boolean"),
        (command(startupTimeout=-1), ".startupTimeout", SECONDS),
        (command(callLimit=0), ".callLimit", CALLS),
        (command(callLimit=100_001), ".callLimit", CALLS),
        (command(callLimit=1.5), ".callLimit", CALLS),
        (command(callLimit=True), ".callLimit", f"{CALLS}, not a boolean"),
        (command(messageLimit=65_535), ".messageLimit", BYTES),
        (command(messageLimit=2**30 + 1), ".messageLimit", BYTES),
        (command(messageLimit="64 MB"), ".messageLimit", f"{BYTES}, not a string"),
        (
            command(inheritEnv="PATH"),
            ".inheritEnv",
            "should be true, false, or a list of variable names, not a string",
        ),
        (command(inheritEnv=[1]), ".inheritEnv[0]", "should be a string, not a number"),
        (
            command(protocol="2025-11-25"),
            ".protocol",
            'should be a string, one of "auto", "legacy", "2026-07-28"',
        ),
    ],
)
def test_a_wrong_entry_is_one_problem_with_its_place_and_a_remedy(
    tmp_path: Path, entry: object, where: str, what: str
) -> None:
    (problem,) = problems(tmp_path, one_server(entry))
    assert (problem.where, problem.what) == (FS + where, what)
    assert problem.remedy


def test_a_timeout_too_large_to_be_a_number_is_refused(tmp_path: Path) -> None:
    content = json.dumps(one_server(command(timeout=12345))).replace("12345", "1e999")
    (problem,) = problems(tmp_path, content)
    assert (problem.where, problem.what) == (f"{FS}.timeout", SECONDS)


def test_arguments_in_one_string_are_told_the_list_form(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, one_server(command(args="-y pkg")))
    assert problem.remedy == 'Write for example "args": ["-y", "some-package"]'


def test_every_item_of_the_wrong_type_is_reported_and_no_value_is_shown(tmp_path: Path) -> None:
    entry = {
        "command": "x",
        "args": ["hunter2", 31337, None, {"hunter2": 1}],
        "env": {"A": True, "B": ["hunter2"], "C": "hunter2"},
        "toolFilters": [False],
    }
    quotes = "Put the value in double quotes."
    assert problems(tmp_path, one_server(entry)) == [
        Problem(f"{FS}.args[1]", "should be a string, not a number", quotes),
        Problem(f"{FS}.args[2]", "should be a string, not null", quotes),
        Problem(f"{FS}.args[3]", "should be a string, not an object", quotes),
        Problem(f"{FS}.env.A", "should be a string, not a boolean", quotes),
        Problem(f"{FS}.env.B", "should be a string, not a list", quotes),
        Problem(f"{FS}.toolFilters[0]", "should be a string, not a boolean", quotes),
    ]


def test_a_wrong_value_that_came_from_a_variable_is_not_shown(tmp_path: Path) -> None:
    entry = {"command": "x", "transport": "${T}", "type": "${T}", "protocol": "${T}", "cwd": "${NUL}"}
    found = problems(tmp_path, one_server(entry), {"T": "hunter2", "NUL": "hunter2\0"})
    assert [problem.where for problem in found] == [
        f"{FS}.{key}" for key in ("transport", "protocol", "type", "cwd")
    ]
    assert "hunter2" not in str(found)


def test_a_variable_in_another_encoding_may_go_to_the_operating_system(tmp_path: Path) -> None:
    entry = {"command": "x", "args": ["${DIRECTORY}"]}
    server = load_server(tmp_path, entry, {"DIRECTORY": "caf\udce9"})
    assert server == ServerConfig(command="x", args=["caf\udce9"])


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        ({"toolFilters": []}, 'toolFilters: an empty list hides every tool; write ["*"] to show all'),
        (
            {"timeout": 60_000},
            "timeout: more than an hour: the unit is seconds (other clients count milliseconds)",
        ),
        (
            {"startupTimeout": 3601},
            "startupTimeout: more than an hour: the unit is seconds (other clients count milliseconds)",
        ),
    ],
)
def test_a_value_that_will_surprise_is_a_warning(
    tmp_path: Path, keys: dict[str, object], warning: str
) -> None:
    loaded = load_content(tmp_path, one_server(command(**keys)))
    assert loaded.warnings == (f"{FS}.{warning}",)
