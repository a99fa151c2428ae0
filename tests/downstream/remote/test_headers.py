"""Headers repeat the body as the specification has it: the official SDK, which checks them, is the judge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from mcp.shared import inbound

from mcp_workbench.downstream.remote.headers import BadHeaderParam, modern_headers, read_header_params
from mcp_workbench.protocol.headers import encode_value

if TYPE_CHECKING:
    from tests.support.client import Json

VALUES = (
    *("", "plain", "two words", " padded", "padded ", "tab\there", "line\nbreak", "Zürich", "世界", "😀"),
    *("=?base64?x?=", "=?base64?", "?=", "=?BASE64?x?=", "\x7f", "~", "a" * 5000, "=?base64?a\n?="),
)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_written_as_the_sdk_reads_it(value: str) -> None:
    written = encode_value(value).decode("ascii")
    assert inbound.decode_header_value(written) == value
    assert written == inbound.encode_header_value(value)


def tool(schema: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps({"name": "t", "inputSchema": schema}).encode())


def schema(**properties: object) -> Json:
    return {"type": "object", "properties": properties}


MARKED = {"type": "string", "x-mcp-header": "Region"}

RIGHT: dict[str, Any] = {
    "one": schema(region=MARKED),
    "of each type": schema(
        a=MARKED, b={"type": "integer", "x-mcp-header": "N"}, c={"type": "boolean", "x-mcp-header": "B"}
    ),
    "nested": schema(where={"type": "object", "properties": {"region": MARKED}}),
    "odd but allowed": schema(a={"type": "string", "x-mcp-header": "!#$%&'*+-.^_`|~09Az"}),
    "in data, where it is no mark": schema(
        a={"type": "string", "default": {"x-mcp-header": "no"}, "enum": ["x-mcp-header"]}
    ),
    "a parameter of that name": schema(**{"x-mcp-header": {"type": "string"}}),
}

WRONG: dict[str, Any] = {
    "at the root": {**schema(), "x-mcp-header": "Root"},
    "empty": schema(a={"type": "string", "x-mcp-header": ""}),
    "with a space": schema(a={"type": "string", "x-mcp-header": "a b"}),
    "with a line break": schema(a={"type": "string", "x-mcp-header": "a\r\nb"}),
    "with a trailing newline": schema(a={"type": "string", "x-mcp-header": "a\n"}),
    "no text": schema(a={"type": "string", "x-mcp-header": 7}),
    "a number": schema(a={"type": "number", "x-mcp-header": "A"}),
    "an object": schema(a={"type": "object", "x-mcp-header": "A"}),
    "of several types": schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
    "of no type": schema(a={"x-mcp-header": "A"}),
    "twice": schema(a=MARKED, b={"type": "string", "x-mcp-header": "REGION"}),
    "in items": schema(a={"type": "array", "items": MARKED}),
    "in oneOf": schema(a={"oneOf": [MARKED]}),
    "in if": {**schema(), "if": schema(a=MARKED)},
    "in definitions": {**schema(), "$defs": {"a": MARKED}},
    "in properties below items": schema(a={"type": "array", "items": schema(b=MARKED)}),
}


@pytest.mark.parametrize("marked", RIGHT.values(), ids=RIGHT)
def test_right_marks_are_read_as_the_sdk_reads_them(marked: Json) -> None:
    assert inbound.find_invalid_x_mcp_header(marked) is None
    _, marks = read_header_params(tool(marked))
    found = {} if marks is None else {path: header.decode() for path, header in marks.headers.items()}
    assert found == {path: f"Mcp-Param-{token}" for path, token in inbound.x_mcp_header_map(marked).items()}


@pytest.mark.parametrize("marked", WRONG.values(), ids=WRONG)
def test_wrong_marks_are_refused_as_the_sdk_refuses_them(marked: Json) -> None:
    assert inbound.find_invalid_x_mcp_header(marked) is not None
    with pytest.raises(BadHeaderParam, match=r"^the tool 't'"):
        read_header_params(tool(marked))


@pytest.mark.parametrize(
    "arguments",
    [
        '{"region":"eu"}',
        '{"region":" eu "}',
        '{"region":null}',
        "{}",
        '{"n":42}',
        '{"n":42.0}',
        '{"n":4e1}',
        '{"n":-7}',
        '{"n":123456789012345678901}',
        '{"b":true}',
        '{"b":false,"n":0,"region":""}',
        '{"region":["eu"]}',
        '{"region":{"x":1}}',
        '{"region":"a","region":"b"}',
    ],
)
def test_what_a_call_sends_passes_the_checks_of_the_sdk(arguments: str) -> None:
    marked = schema(
        region=MARKED,
        n={"type": "integer", "x-mcp-header": "N"},
        b={"type": "boolean", "x-mcp-header": "B"},
    )
    name, marks = read_header_params(tool(marked))
    assert marks is not None
    params = msgspec.Raw(f'{{"name":"t","arguments":{arguments},"_meta":{{}}}}'.encode())
    headers = modern_headers("tools/call", params, {name: marks})
    sent = {header.decode(): value.decode() for header, value in headers}
    assert inbound.validate_mcp_param_headers(marked, json.loads(arguments), sent) is None


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", '{"name":"review"}', b"review"),
        ("resources/read", '{"uri":"file:///a b"}', b"file:///a b"),
        ("tools/list", '{"name":"x"}', None),
    ],
)
def test_what_a_request_is_about_is_named(method: str, params: str, name: bytes | None) -> None:
    headers = dict(modern_headers(method, msgspec.Raw(params.encode()), {}))
    assert (headers[b"Mcp-Method"].decode(), headers.get(b"Mcp-Name")) == (method, name)
