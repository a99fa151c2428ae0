"""Faults in the list of tools, one function each: what a server has to show when it is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.faults.servers.conversation import MEGABYTE, SCHEMA, fail, page, succeed, tool

if TYPE_CHECKING:
    from tests.faults.servers.conversation import Server

HIDDEN = (
    "\x1b[8m\x1b]0;owned\x07|"
    "\u202e\u2066\u2069|"
    "\u200b\u200c\u2060\ufeff|"
    "\U000e0049\U000e0067\U000e007f|"
    "\x00\x08\x9b31m"
)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
HEART = "\u2764\ufe0f"


def lists(server: Server, result: str) -> None:
    server.on["tools/list"] = lambda request_id, _: succeed(request_id, result)


def lists_42(server: Server) -> None:
    lists(server, "42")


def lists_null(server: Server) -> None:
    lists(server, '{"tools":null}')


def lists_nothing_at_all(server: Server) -> None:
    lists(server, "{}")


def lists_an_object(server: Server) -> None:
    lists(server, '{"tools":{"echo":{}}}')


def refuses_to_list(server: Server) -> None:
    server.on["tools/list"] = lambda request_id, _: fail(request_id, -32000, "no licence was found")


def lists_wrong_types(server: Server) -> None:
    odd = [
        *("5", "null", '"text"', "[]", "{}", "true", "1e400"),
        *('{"name":5}', '{"name":null,"inputSchema":{}}', '{"description":"no name","inputSchema":{}}'),
        *('{"name":"odd_description","description":5,"inputSchema":{"type":"object"}}',),
        *('{"name":"odd_annotations","annotations":"x","title":7,"inputSchema":{"type":"object"}}',),
    ]
    server.tools = [*odd, *server.tools]


def lists_null_schemas(server: Server) -> None:
    odd = [tool("null_schema", schema="null"), tool("text_schema", schema='"object"'), '{"name":"no_schema"}']
    odd += [tool("list_schema", schema="[]"), tool("number_schema", schema="5")]
    server.tools = [*odd, *server.tools]


def lists_a_schema_100_000_deep(server: Server) -> None:
    deep = '{"type":"object","properties":{"a":' * 50_000 + "{}" + "}}" * 50_000
    server.tools = [tool("deep", schema=deep), *server.tools]


def lists_nan(server: Server) -> None:
    server.tools = [tool("nan", schema='{"type":"object","default":NaN}'), *server.tools]


def lists_invalid_utf_8(server: Server) -> None:
    server.tools = [tool("odd", "cut here").replace("here", "\udcff"), *server.tools]


def lists_lone_surrogates(server: Server) -> None:
    server.tools = [tool("odd", "cut here").replace("here", r"\ud83d"), *server.tools]


def lists_without_end(server: Server) -> None:
    numbers = iter(range(10**9))
    server.on["tools/list"] = lambda request_id, _: succeed(
        request_id, page(tool(f"tool_{(number := next(numbers))}"), f"cursor-{number}")
    )


def lists_large_pages_without_end(server: Server) -> None:
    numbers = iter(range(10**9))
    large = ",".join(tool(f"tool_{number}", "x" * 1000) for number in range(1000))
    server.on["tools/list"] = lambda request_id, _: succeed(
        request_id, page(large, f"cursor-{next(numbers)}")
    )


def lists_one_page_again_and_again(server: Server) -> None:
    lists(server, page(",".join(server.tools), "again"))


def lists_two_pages_in_a_circle(server: Server) -> None:
    server.on["tools/list"] = lambda request_id, params: succeed(
        request_id, page(tool("echo"), "a" if params.get("cursor") == "b" else "b")
    )


def lists_with_cursors_of_the_wrong_type(server: Server) -> None:
    lists(server, page(",".join(server.tools))[:-1] + ',"nextCursor":{"page":2}}')


def lists_1_000_large_tools(server: Server) -> None:
    server.tools += [tool(f"tool_{number:03}", "x" * 10_000) for number in range(1000)]


def lists_100_mb(server: Server) -> None:
    server.tools = [tool("echo", "x" * (100 * MEGABYTE))]


def lists_duplicate_names(server: Server) -> None:
    server.tools += [tool("echo", "The second"), tool("echo", "The third")]


def lists_odd_names(server: Server) -> None:
    server.tools += [tool(name) for name in ODD_NAMES]


ODD_NAMES = (
    "../../etc/passwd",
    "a/b\\c",
    "x" * 300,
    "with space",
    "\u00fc\u4e2d\U0001f600",
    "a__b.c:d",
    "%s{}",
)
HIDING_NAMES = ("new\nline", "esc\x1b[31m", "nul\x00", "right\u202eleft", "zero\u200bwidth", "")


def lists_hiding_names(server: Server) -> None:
    server.tools += [tool(name) for name in HIDING_NAMES]


def lists_hidden_text(server: Server) -> None:
    shown = f"shown {HIDDEN} also {FAMILY} {ENGLAND} {HEART}"
    properties = {"path": {"type": "string", "title": shown, "description": shown, "enum": ["a", "b"]}}
    schema = {**json.loads(SCHEMA), "description": shown, "properties": properties}
    definition = {
        "name": "hiding",
        "title": shown,
        "description": shown,
        "inputSchema": schema,
        "outputSchema": schema,
        "annotations": {"title": shown},
    }
    server.tools.append(json.dumps(definition))
