"""What is added to the answer of a call whose arguments do not fit: where, when, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.protocol.results import TAIL_BYTES
from mcp_workbench.surface.relay.advice import MAX_RESULT_BYTES, MAX_SHOWN_BYTES
from mcp_workbench.surface.relay.relayed import MAX_KEPT_BYTES, MAX_KEPT_CALLS
from mcp_workbench.workbench.text.misfit import MAX_ARGUMENTS_BYTES
from tests.serve.relayed import MODERN_META, Relayed, written

if TYPE_CHECKING:
    from pathlib import Path

READ: dict[str, Any] = {
    "name": "read",
    "description": "Reads\u202e a file",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "x-unknown": 1.50,
}
SHOWN = (
    '{"name":"read",'
    '"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}'
)
MISSING = f"The arguments do not fit the tool's schema: 'path' is missing. The tool's input schema: {SHOWN}"
REFUSED = f"According to the server, the arguments do not fit. The tool's input schema: {SHOWN}"
INVALID_PARAMS = -32602
FITTING = '{"path":"a"}'


class Failing(Relayed):
    """A workbench whose server has the tool, and fails."""

    def __init__(self, directory: Path, *, modern: bool, modern_server: bool, tool: Any = READ) -> None:
        super().__init__(directory, modern=modern, modern_server=modern_server)
        listed = json.dumps(tool, ensure_ascii=False).encode()
        self._connection.listed = (msgspec.Raw(listed),)
        self._latest = 100

    def call(self, arguments: str = "{}") -> int:
        """Lets the client call the tool; the id of the request."""
        self._latest += 1
        meta = f',"_meta":{json.dumps(MODERN_META)}' if self.modern else ""
        called = f'{{"tool":{{"toolbox":"dev","server":"files","tool":"read"}},"arguments":{arguments}}}'
        params = f'{{"name":"use_tool","arguments":{called}{meta}}}'
        line = f'{{"jsonrpc":"2.0","id":{self._latest},"method":"tools/call","params":{params}}}'
        self.client_says(line.encode())
        return self._latest

    def answered(self, result: str, arguments: str = "{}") -> str:
        """The result that the client gets for one that the server gave, as text."""
        request_id = self.call(arguments)
        self.server_says(f'{{"jsonrpc":"2.0","id":{self.latest_id},"result":{result}}}'.encode())
        line = written(self.to_client[-1]).decode()
        front = f'{{"jsonrpc":"2.0","id":{request_id},"result":'
        assert line.startswith(front)
        return line.removeprefix(front).removesuffix("}\n")

    def refused(self, code: int, message: str, arguments: str = "{}") -> str:
        """The text that the client gets for an error that the server gave."""
        self.call(arguments)
        error = json.dumps({"code": code, "message": message})
        self.server_says(f'{{"jsonrpc":"2.0","id":{self.latest_id},"error":{error}}}'.encode())
        result = json.loads(written(self.to_client[-1]))["result"]
        (block,) = result["content"]
        assert result["isError"] is True
        text: str = block["text"]
        return text


@pytest.fixture(params=["legacy-legacy", "legacy-modern", "modern-legacy", "modern-modern"])
async def failing(request: pytest.FixtureRequest, tmp_path: Path) -> Failing:
    client, server = request.param.split("-")
    return Failing(tmp_path, modern=client == "modern", modern_server=server == "modern")


@pytest.fixture
async def plain(tmp_path: Path) -> Failing:
    """Of the one era in which not a byte is added to a result."""
    return Failing(tmp_path, modern=False, modern_server=False)


def error(*texts: str, **others: object) -> str:
    content = [{"type": "text", "text": text} for text in texts]
    return json.dumps({"content": content, "isError": True, **others}, ensure_ascii=False)


async def test_an_error_of_the_server_is_followed_by_what_does_not_fit_and_by_the_definition(
    failing: Failing,
) -> None:
    text = failing.refused(-32000, "went wrong")
    front = "Error executing tool 'read' in server 'files' (toolbox 'dev'): JSON-RPC error -32000: went wrong"
    assert text == f"{front}\n{MISSING}"


async def test_a_result_that_is_an_error_gets_one_more_piece_of_text(failing: Failing) -> None:
    result = json.loads(failing.answered(error("went wrong", structuredContent={"a": 1}, x=None)))
    texts = [block["text"] for block in result["content"]]
    assert texts == ["went wrong", MISSING]
    assert (result["x"], result["isError"]) == (None, True)
    # Some hosts show the model nothing but this.
    assert result["structuredContent"] == {"a": 1, "workbench": MISSING}
    assert result.get("resultType") == ("complete" if failing.modern else None)


@pytest.mark.parametrize(
    "result",
    [
        '{"content":[HERE],"isError":true}',
        '{ "isError" : true, "content" : [ {"type":"text", "text":"\\u00e9 é"} HERE] , "_meta":{"a" : 1.0}}',
        '{"structuredContent":[{"content":[1]}],"_meta":{"content":[1]},"content":[1HERE],"isError": true}',
        '{"content":[{"type":"resource","resource":{"uri":"a:b","text":"\\"content\\":[]"}}HERE],"isError":true}',
        '{"content":[1],"content":[1HERE],"isError":true}',
    ],
)
async def test_every_other_byte_of_the_result_stays(plain: Failing, result: str) -> None:
    block = json.dumps({"type": "text", "text": MISSING}, separators=(",", ":"), ensure_ascii=False)
    comma = "" if "[HERE" in result else ","
    assert plain.answered(result.replace("HERE", "")) == result.replace("HERE", comma + block)


@pytest.mark.parametrize(
    ("structure", "changed"),
    [
        ('{"a" : 1.0 }', '{"a" : 1.0 ,"workbench":NOTE}'),
        ("{ }", '{ "workbench":NOTE}'),
        ('{"workbench":1,"_workbench":2}', '{"workbench":1,"_workbench":2,"__workbench":NOTE}'),
        ('{"structuredContent":{}}', '{"structuredContent":{},"workbench":NOTE}'),
        ("[1, 2]", "[1, 2]"),
        ("null", "null"),
    ],
)
async def test_a_structure_that_is_an_object_says_it_too_and_keeps_every_byte(
    plain: Failing, structure: str, changed: str
) -> None:
    note = json.dumps(MISSING)
    block = f'{{"type":"text","text":{note}}}'
    result = (
        '{"_meta":{"structuredContent":STRUCTURE},"structuredContent": NEW,"content":[HERE],"isError":true}'
    )
    result = result.replace("STRUCTURE", structure)
    given = result.replace("NEW", structure).replace("HERE", "")
    assert plain.answered(given) == result.replace("NEW", changed).replace("NOTE", note).replace(
        "HERE", block
    )


@pytest.mark.parametrize(
    "result",
    [
        '{"content":[{"type":"text","text":"fine"}],"isError":false}',
        '{"content":[{"type":"text","text":"\\"isError\\":true"}]}',
        '{"content":[],"structuredContent":{"isError":true}}',
        '{"isError":true}',
        '{"content":null,"isError":true}',
        '{"content":{"isError":true},"isError":true}',
        '{"content":[],"isError":"true"}',
        '{"c\\u006fntent":[],"isError":true}',
        error("x" * MAX_RESULT_BYTES),
        error("Unknown tool: read"),
        error("MCP error -32602: Tool read not found"),
        error("MCP error -32602: Tool read disabled"),
        error("MCP error -32602: Output validation error: Invalid structured content for tool read: []"),
    ],
    ids=lambda result: result[:60],
)
async def test_a_result_that_is_no_such_error_stays_as_it_is(plain: Failing, result: str) -> None:
    assert plain.answered(result) == result


@pytest.mark.parametrize("text", ["went wrong", "file not found", "the argument is invalid"])
async def test_a_failure_with_arguments_that_fit_stays_as_it_is(plain: Failing, text: str) -> None:
    assert plain.answered(error(text), FITTING) == error(text)
    assert plain.refused(-32000, text, FITTING).endswith(f"JSON-RPC error -32000: {text}")


@pytest.mark.parametrize(
    "text",
    [
        "MCP error -32602: Input validation error: Invalid arguments for tool read: []",
        "Input validation error: 'a' does not match '^b$'",
        "Error executing tool read: 1 validation error for readArguments\npath\n  Value error",
        "2 validation errors for call[read]\npath\n  Value error",
    ],
)
async def test_a_server_that_says_that_the_arguments_do_not_fit_is_believed(
    failing: Failing, text: str
) -> None:
    result = json.loads(failing.answered(error(text), FITTING))
    assert [block["text"] for block in result["content"]] == [text, REFUSED]


async def test_invalid_params_are_believed_too(failing: Failing) -> None:
    assert failing.refused(INVALID_PARAMS, "no such day", FITTING).endswith(f"no such day\n{REFUSED}")


@pytest.mark.parametrize("message", ["Unknown tool: read", "Tool 'read' not found", "Tool read is disabled"])
async def test_a_tool_that_the_server_does_not_have_is_not_defined(plain: Failing, message: str) -> None:
    assert plain.refused(INVALID_PARAMS, message).endswith(message)


async def test_what_is_missing_may_be_something_else_by_the_same_name(plain: Failing) -> None:
    assert plain.refused(-32000, "read not found: no such tool").endswith(f"no such tool\n{MISSING}")


async def test_a_long_definition_is_asked_for(tmp_path: Path) -> None:
    tool = {**READ, "inputSchema": {**READ["inputSchema"], "title": "x" * MAX_SHOWN_BYTES}}
    long = Failing(tmp_path, modern=False, modern_server=False, tool=tool)
    text = long.refused(-32000, "no")
    advice = 'input schema is long: open_toolbox with {"toolbox_name":"dev","tools":["read"]} returns it.'
    assert text.endswith(f"'path' is missing. The tool's {advice}")


async def test_an_error_that_is_long_is_recognised_by_its_end(plain: Failing) -> None:
    result = json.loads(plain.answered(error("x" * 10 * TAIL_BYTES)))
    assert [block["text"] for block in result["content"]] == ["x" * 10 * TAIL_BYTES, MISSING]


async def test_long_arguments_are_not_kept_to_be_looked_at(plain: Failing) -> None:
    assert MAX_KEPT_BYTES <= MAX_ARGUMENTS_BYTES
    long = json.dumps({"x": "x" * MAX_KEPT_BYTES})
    assert plain.answered(error("no"), long) == error("no")
    assert plain.refused(INVALID_PARAMS, "no", long).endswith(f"no\n{REFUSED}")


async def test_of_many_calls_at_once_not_all_keep_their_arguments(plain: Failing) -> None:
    first = plain.latest_id + 1
    for _ in range(MAX_KEPT_CALLS + 1):
        plain.call()
    answers = []
    for number in (first, first + MAX_KEPT_CALLS):
        plain.server_says(f'{{"jsonrpc":"2.0","id":{number},"result":{error("no")}}}'.encode())
        answers.append(len(json.loads(written(plain.to_client[-1]))["result"]["content"]))
    assert answers == [2, 1]
