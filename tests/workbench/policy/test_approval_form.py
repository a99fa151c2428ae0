"""A person who approves a call sees what it does, on few lines, without secrets and without tricks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest
from jsonschema import Draft202012Validator

from mcp_workbench.config import Secrets
from mcp_workbench.errors import CallRefused
from mcp_workbench.workbench.policy.approval_form import description, form, read_answer
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from mcp_workbench.workbench.policy.approver import Choice

RULE = '"delete_*": "ask" of toolbox dev'


def shown(arguments: object, name: str = "delete_file", method: str = "tools/call") -> list[str]:
    written = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    secrets = Secrets({"the-configured-secret": "<TOKEN>"})
    server = mock.Mock(mask=secrets.mask)
    call = mock.Mock(method=method, origin=("dev", "fs"), arguments=written, toolbox_server=server, tool=name)
    call.name = name
    return description(call, RULE)


def test_a_call_is_described_with_its_server_the_rule_and_its_arguments() -> None:
    assert shown({"path": "/srv/a b", "force": True, "lines": [1, 2]}) == [
        "[workbench] Allow this call?",
        "Tool: delete_file",
        "Server: fs (toolbox dev)",
        f"Rule: {RULE}",
        "Arguments:",
        '  path: "/srv/a b"',
        "  force: true",
        "  lines: [1, 2]",
    ]
    assert shown({})[-1] == "Arguments: none"
    assert shown({"uri": "x:y"}, "x:y", "resources/read")[1] == "Resource: x:y"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"password": "hunter2 !"}, '  password: "***"'),
        ({"auth": {"token": 12345}}, '  auth: "***"'),
        ({"login": {"user": "ada", "pin": 1234}}, '  login: {"user": "ada", "pin": "***"}'),
        ({"api_key": "a8f3k20dk3"}, '  api_key: "***"'),
        ({"key": "user:1"}, '  key: "user:1"'),
        ({"text": "x the-configured-secret y"}, '  text: "x <TOKEN> y"'),
        ({"the-configured-secret": 1}, '  <TOKEN>: "***"'),
        ({"run": "curl -H ghp_0123456789abcdefABCDEF01"}, '  run: "curl -H ***"'),
        ({"args": ["--token", "s3cr3t-w0rd"]}, '  args: ["--token", "***"]'),
    ],
)
def test_secrets_are_masked_by_name_by_shape_and_by_the_configuration(arguments: Any, line: str) -> None:
    assert shown(arguments)[5] == line


def test_hidden_characters_and_line_ends_are_written_out() -> None:
    lines = shown({"a\nTool: read": "x\n\u202ey\x1b[2J"}, "delete\nTool: read\u200b")
    assert lines[1] == "Tool: delete\\nTool: read\\u200b"
    assert lines[5] == '  a\\nTool: read: "x\\n\\u202ey\\u001b[2J"'


def test_a_long_value_shows_its_beginning_and_its_end() -> None:
    line = shown({"command": f"rm {'x' * 5000} --force"})[5]
    assert line.startswith('  command: "rm xxx')
    assert line.endswith('x --force"')
    assert " characters … " in line
    assert len(line) < 300


def test_many_and_deep_arguments_stay_a_text_of_few_lines() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"in": [deep]}
    many = {f"argument{number}": deep for number in range(200)} | {"list": list(range(1000))}
    lines = shown(many)
    assert len(lines) <= 20
    assert max(map(len, lines)) < 300
    assert lines[-1].startswith("  and 189 more: argument12, argument13")


@pytest.mark.parametrize("arguments", [b'{"path":"/a","path":"/b"}', b'{"in":[{"x":1,"\\u0078":2}]}'])
def test_arguments_that_servers_may_read_differently_are_refused(arguments: bytes) -> None:
    with pytest.raises(CallRefused, match="two members of the name"):
        shown(arguments)


def test_arguments_that_cannot_be_shown_are_refused() -> None:
    with pytest.raises(CallRefused, match="cannot be shown"):
        shown(b"[" * 100_000)


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ({"action": "accept", "content": {"allow": "once"}}, "once"),
        ({"action": "accept", "content": {"allow": "session"}}, "session"),
        # The form has a default, and clients that show no fields only accept.
        ({"action": "accept"}, "once"),
        ({"action": "accept", "content": {}}, "once"),
        ({"action": "decline", "content": {"allow": "once"}}, "no"),
        ({"action": "cancel"}, "no"),
        ({"action": "accept", "content": {"allow": "always"}}, "unreadable"),
        ({"action": "accept", "content": {"allow": True}}, "unreadable"),
        ({"action": "accept", "content": ["once"]}, "unreadable"),
        ({"action": "yes"}, "unreadable"),
        ({}, "unreadable"),
        (5, "unreadable"),
    ],
)
def test_only_a_clear_answer_allows_a_call(answer: object, choice: Choice) -> None:
    assert read_answer(msgspec.Raw(json.dumps(answer).encode())).choice == choice


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("2025-06-18", "ElicitRequest"),
        ("2025-11-25", "ElicitRequestFormParams"),
        ("2026-07-28", "ElicitRequestFormParams"),
    ],
)
def test_the_form_is_valid_in_every_protocol_version(version: str, name: str) -> None:
    schema = json.loads((ROOT / "tests" / "schemas" / f"{version}.json").read_text())
    place = "$defs" if "$defs" in schema else "definitions"
    asked: object = json.loads(form(shown({"path": "/srv"}), "Allow for this session"))
    if name == "ElicitRequest":
        asked = {"method": "elicitation/create", "params": asked}
    Draft202012Validator({**schema, "$ref": f"#/{place}/{name}"}).validate(asked)
