"""The demo servers speak both protocol versions as the published schemas say."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from mcp_workbench import __version__
from mcp_workbench.demo.servers import stats, text, units
from mcp_workbench.demo.serving import LEGACY, DemoServer, answer
from mcp_workbench.protocol import names
from tests.structure.schemas import faults

META = {names.META_VERSION: names.MODERN, names.META_CAPABILITIES: {}}


def ask(server: DemoServer, method: object, params: object = None, **message: Any) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **message}
    reply = answer(server, json.dumps(request).encode())
    assert reply is not None
    kind = "JSONRPCErrorResponse" if "error" in reply else "JSONRPCResultResponse"
    assert faults(server.version, kind, reply) == []
    return reply


def ask_modern(method: str, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = ask(text.SERVER, method, {**params, "_meta": META})["result"]
    return result


def test_a_legacy_server_shakes_hands_lists_and_calls() -> None:
    greeting = ask(units.SERVER, "initialize", {"protocolVersion": "2024-11-05"})["result"]
    listing = ask(units.SERVER, "tools/list")["result"]
    call = ask(units.SERVER, "tools/call", {"name": "list_units"})["result"]

    assert faults(LEGACY, "InitializeResult", greeting) == []
    assert faults(LEGACY, "ListToolsResult", listing) == []
    assert faults(LEGACY, "CallToolResult", call) == []
    assert (greeting["protocolVersion"], [tool["name"] for tool in listing["tools"]], set(call)) == (
        LEGACY,
        ["convert", "list_units"],
        {"content", "_meta"},
    )
    assert ask(units.SERVER, "ping")["result"] == {}


def test_a_modern_server_is_discovered_lists_and_calls_without_a_handshake() -> None:
    discovery = ask_modern("server/discover")
    listing = ask_modern("tools/list")
    call = ask_modern("tools/call", name="count_words", arguments={"text": "one two"})

    assert faults(names.MODERN, "DiscoverResult", discovery) == []
    assert faults(names.MODERN, "ListToolsResult", listing) == []
    assert faults(names.MODERN, "CallToolResult", call) == []
    identity = {"name": "mcp-workbench-demo-text", "version": __version__}
    assert [result["_meta"][names.META_SERVER] for result in (discovery, listing, call)] == [identity] * 3


@pytest.mark.parametrize("server", [text.SERVER, units.SERVER], ids=["modern", "legacy"])
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {"_meta": META}, names.METHOD_NOT_FOUND),
        ("tools/call", {"_meta": META, "name": "no_such_tool"}, names.INVALID_PARAMS),
        ("tools/call", {"_meta": META}, names.INVALID_PARAMS),
        ("tools/list", [1], names.INVALID_PARAMS),
        (7, {"_meta": META}, names.INVALID_REQUEST),
    ],
)
def test_a_wrong_request_gets_its_error(
    server: DemoServer, method: object, params: object, code: int
) -> None:
    assert ask(server, method, params)["error"]["code"] == code


def test_each_server_refuses_the_other_era() -> None:
    assert ask(units.SERVER, "server/discover", {"_meta": META})["error"]["code"] == names.METHOD_NOT_FOUND
    assert ask(stats.SERVER, "initialize", {"protocolVersion": LEGACY})["error"] == {
        "code": names.UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version; this server speaks 2026-07-28",
        "data": {"supported": [names.MODERN], "requested": LEGACY},
    }


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"_meta": []},
        {"_meta": {names.META_VERSION: names.MODERN}},
        {"_meta": {names.META_CAPABILITIES: {}}},
        {"_meta": {**META, names.META_CAPABILITIES: None}},
    ],
)
def test_a_modern_server_wants_version_and_capabilities_with_every_request(params: dict[str, Any]) -> None:
    assert ask(text.SERVER, "tools/list", params)["error"]["code"] == names.INVALID_PARAMS


def test_a_modern_server_names_the_versions_it_has() -> None:
    reply = ask(text.SERVER, "tools/list", {"_meta": {**META, names.META_VERSION: "1900-01-01"}})

    assert faults(names.MODERN, "UnsupportedProtocolVersionError", reply) == []
    assert reply["error"]["data"] == {"supported": [names.MODERN], "requested": "1900-01-01"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", names.PARSE_ERROR),
        (b"\xff\xfe", names.PARSE_ERROR),
        (b"[" * 100_000, names.PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', names.PARSE_ERROR),
        (b"[]", names.INVALID_REQUEST),
        (b"1", names.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', names.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', names.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', names.INVALID_REQUEST),
        (b"{}", names.INVALID_REQUEST),
    ],
)
def test_a_line_that_is_no_request_gets_an_error_without_an_id(line: bytes, code: int) -> None:
    reply = answer(units.SERVER, line)

    assert reply is not None
    assert (reply["error"]["code"], "id" in reply) == (code, False)


@pytest.mark.parametrize(
    "line",
    [
        b"\r\n",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"no/such/notification","params":7}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}',
    ],
)
def test_what_asks_for_nothing_gets_nothing(line: bytes) -> None:
    assert answer(units.SERVER, line) is None


@pytest.mark.parametrize("name", ["text", "notes", "stats", "units"])
def test_a_server_runs_as_a_module_survives_rubbish_and_ends_with_stdin(name: str) -> None:
    request = {"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {"_meta": META}}
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"mcp_workbench.demo.servers.{name}"],
        input=b"\xff rubbish\n\n" + json.dumps(request).encode(),
        capture_output=True,
        check=True,
        timeout=30,
    )

    rubbish, reply = map(json.loads, done.stdout.splitlines())
    assert (rubbish["error"]["code"], reply["id"], done.stderr) == (names.PARSE_ERROR, "a", b"")
    assert reply["result"]["tools"]


def test_a_server_ends_quietly_when_nobody_reads_it() -> None:
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "mcp_workbench.demo.servers.units"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with child:
        assert child.stdout
        child.stdout.close()
        _, stderr = child.communicate(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', timeout=30)

    assert (child.returncode, stderr) == (0, b"")


def test_a_server_starts_without_the_product_behind_it() -> None:
    script = (
        "import sys; import mcp_workbench.demo.servers.text;"
        "print(sorted({'asyncio', 'msgspec', 'rich', 'mcp_workbench.wire'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stdout == "[]\n"
