"""A person who approves a call sees what it does, on few lines, without secrets and without tricks."""

from __future__ import annotations

import json
import secrets
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import msgspec
import pytest
from jsonschema import Draft202012Validator

from mcp_workbench.config import Secrets
from mcp_workbench.errors import CallRefused
from mcp_workbench.workbench.kept.client_results import new_handle
from mcp_workbench.workbench.policy.approval_form import description, form, read_answer
from mcp_workbench.workbench.policy.shown_arguments import HIDDEN
from tests.structure.package import ROOT

if TYPE_CHECKING:
    from mcp_workbench.workbench.policy.approver import Choice
    from tests.support.client import Json

RULE = '"delete_*": "ask" of toolbox dev'


LONG_SECRET = "".join(secrets.choice("abcdefghkmnpqrstuvwxyzABCDEFGH23456789") for _ in range(700))
KEY_LINES = [secrets.token_hex(32) for _ in range(25)]
PRIVATE_KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])
SECRETS = (LONG_SECRET, PRIVATE_KEY)


def shown(
    arguments: object, name: str = "delete_file", method: str = "tools/call", definition: Json | None = None
) -> list[str]:
    written = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    configured = Secrets({"the-configured-secret": "<TOKEN>", LONG_SECRET: "<LONG>", "99887766": "<PIN>"})
    listed = None if definition is None else msgspec.Raw(json.dumps(definition).encode())
    server = mock.Mock(mask=configured.mask, definition=lambda _: listed)
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
        ({"the-configured-secret": 1}, '  "<TOKEN>": "***"'),
        ({"run": "curl -H ghp_0123456789abcdefABCDEF01"}, '  run: "curl -H ***"'),
        ({"args": ["--token", "s3cr3t-w0rd"]}, '  args: ["--token", "***"]'),
        ({"n": 99887766, "in": [99887766]}, '  n: "<PIN>"'),
        ({"in": [99887766]}, '  in: ["<PIN>"]'),
        ({"apiKey": 12345678}, '  apiKey: "***"'),
        ({"secretKey": ["abcd", "efgh"]}, '  secretKey: "***"'),
        ({"access_key": "correct horse"}, '  access_key: "***"'),
        ({"passwords": ["correct", "horse"]}, '  passwords: "***"'),
        ({"primary_key": 12345678, "auth": False}, "  primary_key: 12345678"),
        (
            {"url": "https://u:pw@h/x?token=abcd&key=efgh&page=2"},
            '  url: "https://u:***@h/x?token=***&key=***&page=2"',
        ),
        (
            {"cmd": "curl -H 'Authorization: Bearer abcd' https://u:pw@h/ -o x"},
            "  cmd: \"curl -H 'Authorization: ***' https://u:***@h/ -o x\"",
        ),
    ],
)
def test_secrets_are_masked_by_name_by_shape_and_by_the_configuration(arguments: Any, line: str) -> None:
    assert shown(arguments)[5] == line


def test_which_kept_result_is_handed_over_is_shown() -> None:
    for handle in (new_handle() for _ in range(200)):
        assert shown({"to": "x", "data": {"$result": handle}})[-1] == f'  data: {{"$result": "{handle}"}}'
    assert shown({"data": {"$result": "ghp_" + "a1B2" * 9}})[-1] == '  data: {"$result": "***"}'


def test_hidden_characters_and_line_ends_are_written_out() -> None:
    lines = shown({"a\nTool: read": "x\n\u202ey\x1b[2J"}, "delete\nTool: read\u200b")
    assert lines[1] == "Tool: delete\\nTool: read\\u200b"
    assert lines[5] == '  "a\\nTool: read": "x\\n\\u202ey\\u001b[2J"'


def test_a_long_value_shows_its_beginning_and_its_end() -> None:
    line, note = shown({"command": f"rm {'x' * 5000} --force"})[5:]
    assert line.startswith('  command: "rm xxx')
    assert line.endswith('x --force"')
    assert " characters … " in line
    assert len(line) < 300
    assert note == f"Parts of the arguments are {HIDDEN}"


@pytest.mark.parametrize("before", [50, 2500, 20_000, 5_000_000])
@pytest.mark.parametrize("after", [0, 100, 1900, 40_000])
@pytest.mark.parametrize("filling", ["x ", " x"])
def test_secrets_are_masked_before_a_text_is_cut(before: int, after: int, filling: str) -> None:
    arguments = {
        f"text{at}": filling * (before // 2) + secret + " y" * (after // 2)
        for at, secret in enumerate(SECRETS)
    }
    text = "\n".join(shown(arguments))
    for part in (LONG_SECRET[:12], LONG_SECRET[-12:], *KEY_LINES, *(line[-12:] for line in KEY_LINES)):
        assert part not in text


def test_a_text_that_is_cut_inside_of_secrets_does_not_show_halves_of_them() -> None:
    text = "\n".join(shown({"text": LONG_SECRET * 1000}))
    assert LONG_SECRET[:8] not in text
    assert LONG_SECRET[-8:] not in text


def test_much_text_takes_little_time() -> None:
    begun = time.monotonic()
    pieces = ("token=", "{{", "password:'", "://a:", " ghp_0123456789abcdefABCD", "a:")
    shown({f"{at}{piece}": [piece * 9000] * 20 for at, piece in enumerate(pieces)} | {"k" * 100_000: "x"})
    assert time.monotonic() - begun < 5


def test_the_name_of_a_resource_is_masked_like_its_arguments() -> None:
    uri = "mem://u:s3cr3tpw@host/x?token=ghp_abcdefghijklmnopqrstuvwx"
    lines = shown({"uri": uri}, uri, "resources/read")
    assert lines[1] == "Resource: mem://u:***@host/x?token=***"
    assert lines[5] == '  uri: "mem://u:***@host/x?token=***"'
    assert shown({}, "token:refresh")[1] == "Tool: token:refresh"


def test_a_name_cannot_look_like_another_argument() -> None:
    assert shown({'path: "/srv/x"': 1, "a.b-c_D9": 2, "p\u0430th": 3})[5:] == [
        '  "path: \\"/srv/x\\"": 1',
        "  a.b-c_D9: 2",
        '  "p\u0430th": 3',
    ]


def test_arguments_that_the_tool_knows_come_first() -> None:
    junk = {f"junk{number}": "x" for number in range(40)}
    definition = {"name": "delete_file", "inputSchema": {"type": "object", "properties": {"path": {}}}}
    lines = shown({**junk, "path": "/etc"}, definition=definition)
    assert lines[5:7] == ['  path: "/etc"', '  junk0: "x"']
    assert lines[-1] == f"11 arguments are {HIDDEN}"
    assert shown(junk, definition={"inputSchema": {"properties": 5}})[5] == '  junk0: "x"'


@pytest.mark.parametrize(
    "hiding",
    [
        {"a": {f"k{number}": 1 for number in range(60)}},
        {"a": [0] * 60},
        {"a": [[[[[[[[[["deep"]]]]]]]]]]},
        {"k" * 200: 1},
    ],
)
def test_the_person_is_told_that_parts_are_not_shown(hiding: Any) -> None:
    assert shown(hiding)[-1] == f"Parts of the arguments are {HIDDEN}"
    many = {f"argument{number}": 1 for number in range(30)}
    assert shown({**hiding, **many})[-1] == f"1 argument and parts of others are {HIDDEN}"
    assert shown(many)[-1] == "  argument29: 1"


def test_two_names_that_are_masked_alike_are_both_shown() -> None:
    lines = shown(
        {"the-configured-secret.": 1, "in": {f"{LONG_SECRET}": 1, f"{LONG_SECRET}{LONG_SECRET}": 2}}
    )
    assert lines[6] == '  in: {"<LONG>": 1, "<LONG><LONG>": 2}'
    assert shown({"x" * 200 + "a": 1, "x" * 200 + "b": 2})[6].endswith("characters)'\": 2")


def test_many_and_deep_arguments_stay_a_text_of_few_lines() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"in": [deep]}
    many = {f"argument{number}": deep for number in range(200)} | {"list": list(range(1000))}
    lines = shown(many)
    assert len(lines) <= 37
    assert max(map(len, lines)) < 300
    assert lines[-2].startswith("  and 171 more: argument30, argument31")
    assert lines[-1] == f"171 arguments and parts of others are {HIDDEN}"


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
