"""The forms in which a call of a tool may be written, and how a text is resolved that names one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.errors import InvalidCall
from mcp_workbench.surface.tool_texts import MAX_REPEATED_BYTES, place_of, refuse_direct_call
from mcp_workbench.surface.use_request import ToolId, read_use
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.toolbox_server import KnownTools
from mcp_workbench.workbench.unconnected_server import UnusableServer
from tests.support.configs import server, toolboxes
from tests.workbench.test_reconfigure import built

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config import Origin

ECHOED = ToolId("dev", "files", "echo")
GIVEN = {"path": "/x", "tool": "t", "server": "s"}
IDENTIFIER = {"toolbox": "dev", "server": "files", "tool": "echo"}
LISTED = {"toolbox_name": "dev", "source_server": "files", "name": "echo"}


class Listed(UnusableServer):
    """A server of which only the tools are known, or not even these."""

    def __init__(self, origin: Origin, *tools: str) -> None:
        super().__init__(origin, "", [], is_required=False)
        self._tools = KnownTools(dict.fromkeys(tools, msgspec.Raw(b"{}")), None) if tools else None

    def known(self) -> KnownTools | None:
        return self._tools


@pytest.fixture
async def view(tmp_path: Path) -> ClientView:
    return ClientView(built(tmp_path, toolboxes(dev={"files": server()}, ops={"logs": server()})))


def read(call: Any, view: ClientView) -> tuple[ToolId, Any]:
    tool, arguments = read_use(json.dumps(call).encode(), view)
    return tool, json.loads(bytes(arguments))


@pytest.mark.parametrize(
    "identified",
    [
        {"tool": IDENTIFIER},
        {"tool": LISTED},
        {"tool": json.dumps(IDENTIFIER)},
        {"tool": f" {json.dumps(LISTED, indent=2)}\n"},
        {"tool": "dev/files/echo"},
        IDENTIFIER,
        LISTED,
        {"toolbox": "dev", "source_server": "files", "tool": "echo"},
        {**LISTED, "toolbox": "", "server": None},
    ],
)
@pytest.mark.parametrize("arguments", [{"arguments": GIVEN}, {"args": json.dumps(GIVEN, indent=1)}])
async def test_each_form_names_the_same_tool_and_all_arguments_reach_it(
    view: ClientView, identified: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert read({**identified, **arguments}, view) == (ECHOED, GIVEN)
    assert read(identified, view) == (ECHOED, {})


async def test_arguments_inside_of_an_identifier_that_is_a_text_are_in_one_line(view: ClientView) -> None:
    text = json.dumps({**IDENTIFIER, "arguments": GIVEN}, indent=2)
    tool, arguments = read_use(json.dumps({"tool": text}).encode(), view)
    assert (tool, json.loads(bytes(arguments))) == (ECHOED, GIVEN)
    assert b"\n" not in bytes(arguments)


async def test_beside_a_toolbox_and_a_server_the_tool_is_a_name_that_is_never_split(view: ClientView) -> None:
    for name in ("dev/files/echo", "a/b", "{}", '{"tool":"x"}', " spaces ", "line\nend"):
        call = {"toolbox": "dev", "server": "files", "tool": name}
        assert read(call, view)[0] == ToolId("dev", "files", name)


async def test_a_name_in_a_text_is_opaque_too(view: ClientView) -> None:
    for name in ("a/b", "a/", " spaces ", "line\nend", "🔧"):
        assert read({"tool": f"dev/files/{name}"}, view)[0] == ToolId("dev", "files", name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        # Each of these could be an argument of the tool.
        ({"tool": IDENTIFIER, "server": "prod"}, 'does not take "server" beside "tool"'),
        ({"tool": "dev/files/echo", "name": "x"}, 'does not take "name" beside "tool"'),
        ({"tool": "dev/files/echo", "path": "x"}, 'does not take "path" beside "tool"'),
        ({"tool": "dev/files/echo", "server": "prod"}, "toolbox is missing"),
        ({**IDENTIFIER, "path": "x"}, 'does not take "path" beside "tool"'),
        ({**IDENTIFIER, "name": "x"}, '"tool", "name" are both given'),
        ({**IDENTIFIER, "name": "echo"}, '"tool", "name" are both given'),
        ({**LISTED, "server": "prod"}, '"server", "source_server" are both given'),
        ({**IDENTIFIER, "tool": ["echo"]}, "tool must be a string"),
        ({"tool": "", "arguments": {}}, '"tool" is empty'),
        ({"tool": " {} "}, "toolbox is missing"),
        ({"tool": "{dev}"}, '"tool" must be an object'),
        ({"tool": "[1]"}, "does not begin with the names of a toolbox and its server"),
        ({"name": "echo", "arguments": {}}, '"tool" is missing'),
        ({"tool": "dev/echo"}, "does not begin with the names of a toolbox and its server"),
        ({"tool": "dev/files/"}, "does not begin with the names of a toolbox and its server"),
    ],
)
async def test_what_could_be_an_argument_is_never_taken_for_a_name(
    view: ClientView, call: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidCall) as refused:
        read(call, view)
    assert said in str(refused.value)


AMBIGUOUS = "a/b/c/d"


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ([Listed(("a", "b/c"))], ("a", "b/c", "d")),
        ([Listed(("a", "b/c"), "d"), Listed(("a/b", "c"), "x")], ("a", "b/c", "d")),
        ([Listed(("a", "b/c"), "x"), Listed(("a/b", "c"))], ("a/b", "c", "d")),
        ([Listed(("a", "b"), "c/d"), Listed(("a/b", "c"), "x")], ("a", "b", "c/d")),
        ([Listed(("a", "b/c"), "d"), Listed(("a/b", "c"), "d")], None),
        ([Listed(("a", "b/c")), Listed(("a/b", "c"), "d")], None),
        ([Listed(("a", "b/c"), "x"), Listed(("a/b", "c"), "y")], None),
    ],
)
def test_a_text_is_resolved_by_what_there_is_and_refused_if_it_can_be_read_in_two_ways(
    servers: list[Listed], expected: tuple[str, str, str] | None
) -> None:
    if expected is not None:
        assert place_of(AMBIGUOUS, servers) == expected
        return
    with pytest.raises(InvalidCall) as refused:
        place_of(AMBIGUOUS, servers)
    text = str(refused.value)
    assert text.startswith("Invalid tool identifier: 'a/b/c/d' can be read in 2 ways. No tool was called. ")
    for toolbox, name in (("a", "b/c"), ("a/b", "c")):
        assert f'use_tool {{"tool": {{"toolbox": "{toolbox}", "server": "{name}", "tool": "d"}}' in text


@pytest.mark.parametrize("text", ["echo", "files/echo", "DEV/Files/Echo", "mcp/echo"])
def test_a_text_that_names_no_server_is_answered_with_the_call_that_may_be_meant(text: str) -> None:
    with pytest.raises(InvalidCall) as refused:
        place_of(text, [Listed(("dev", "files"), "echo", "other")])
    meant = '"toolbox": "dev", "server": "files", "tool": "echo"'
    assert f'Did you mean: use_tool {{"tool": {{{meant}}}, "arguments": {{…}}}}' in str(refused.value)


def test_a_call_of_a_servers_tool_as_if_it_were_ours_is_answered_with_the_call_to_make() -> None:
    servers = [
        Listed(("dev", "git"), "git_status"),
        Listed(("ops", "git"), "git_status", "x"),
        Listed(("q", "r")),
    ]
    with pytest.raises(InvalidCall) as refused:
        refuse_direct_call("GIT_STATUS", b'{"repo_path":"."}', servers)
    text = str(refused.value)
    for toolbox in ("dev", "ops"):
        identifier = f'{{"toolbox": "{toolbox}", "server": "git", "tool": "git_status"}}'
        assert f'use_tool {{"tool": {identifier}, "arguments": {{"repo_path":"."}}}}' in text
    long = b'{"text":"%b"}' % (b"x" * MAX_REPEATED_BYTES)
    with pytest.raises(InvalidCall, match=r'"tool": "x"}, "arguments": \{…\}\}$'):
        refuse_direct_call("ops/git/x", long, servers)
    refuse_direct_call("unknown", b"{}", servers)  # nothing is known by this name
