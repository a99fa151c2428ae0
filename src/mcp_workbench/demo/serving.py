"""The MCP protocol of the demo servers: one message in, at most one out, over stdin and stdout.

A server speaks one protocol version, as most servers do: 2025-11-25 with its handshake, or the stateless
2026-07-28. The `_meta` of each result has the process id and the protocol version, which the demo shows.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_workbench import __version__
from mcp_workbench.protocol import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.demo.tools import DemoTool

    Handler = Callable[["DemoServer", dict[str, Any]], dict[str, Any]]

LEGACY: Final = "2025-11-25"
META_PROCESS: Final = "mcp-workbench.demo/process"
META_PROTOCOL: Final = "mcp-workbench.demo/protocol"


class DemoServer(NamedTuple):
    """A demo server: its name, the protocol version that it speaks, and its tools."""

    name: str
    version: str
    tools: tuple[DemoTool, ...]


def serve(server: DemoServer) -> None:
    """Answer requests until stdin ends or stdout is closed."""
    try:
        for line in sys.stdin.buffer:
            reply = answer(server, line)
            if reply is not None:
                sys.stdout.buffer.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
                sys.stdout.buffer.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        # The default flush at exit would fail on the same pipe, with a traceback.
        os._exit(0)


def answer(server: DemoServer, line: bytes) -> dict[str, Any] | None:
    """Return the response to a line, or None if it is not a request."""
    if not line.strip():
        return None
    try:
        message = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _failure(None, _Refusal(names.PARSE_ERROR, "Parse error: not a JSON message"))
    if not isinstance(message, dict):
        return _failure(None, _Refusal(names.INVALID_REQUEST, "Invalid request: not an object"))
    identifier = message.get("id")
    if "id" not in message and isinstance(message.get("method"), str):
        return None
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if not isinstance(identifier, str | int) or isinstance(identifier, bool):
        return _failure(None, _Refusal(names.INVALID_REQUEST, "Invalid request: id"))
    try:
        result = _result(server, message)
    except _Refusal as refusal:
        return _failure(identifier, refusal)
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


class _Refusal(Exception):
    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def _result(server: DemoServer, message: dict[str, Any]) -> dict[str, Any]:
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise _Refusal(names.INVALID_REQUEST, "Invalid request: jsonrpc and method")
    if not isinstance(params, dict):
        raise _Refusal(names.INVALID_PARAMS, "Invalid params: not an object")
    is_modern = server.version == names.MODERN
    if is_modern:
        _check_modern(method, params)
    handle = (_MODERN_METHODS if is_modern else _LEGACY_METHODS).get(method)
    if handle is None:
        raise _Refusal(names.METHOD_NOT_FOUND, f"Method not found: {method}")
    result = handle(server, params)
    return _stamped(server, method, result) if is_modern else result


def _check_modern(method: str, params: dict[str, Any]) -> None:
    # A legacy client does not know this error, but its user can read the message.
    if method == "initialize":
        raise _unsupported(params.get("protocolVersion"))
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise _Refusal(names.INVALID_PARAMS, "Invalid params: _meta is missing")
    for key, kind in ((names.META_VERSION, str), (names.META_CAPABILITIES, dict)):
        if not isinstance(meta.get(key), kind):
            raise _Refusal(names.INVALID_PARAMS, f"Invalid params: _meta['{key}'] is missing")
    if meta[names.META_VERSION] != names.MODERN:
        raise _unsupported(meta[names.META_VERSION])


def _unsupported(requested: object) -> _Refusal:
    return _Refusal(
        names.UNSUPPORTED_VERSION,
        f"Unsupported protocol version; this server speaks {names.MODERN}",
        {"supported": [names.MODERN], "requested": str(requested)},
    )


def _stamped(server: DemoServer, method: str, result: dict[str, Any]) -> dict[str, Any]:
    caching = {} if method == "tools/call" else {"ttlMs": 3_600_000, "cacheScope": "public"}
    meta = {**result.get("_meta", {}), names.META_SERVER: _implementation(server)}
    return {"resultType": "complete", **result, **caching, "_meta": meta}


def _implementation(server: DemoServer) -> dict[str, str]:
    return {"name": f"mcp-workbench-demo-{server.name}", "version": __version__}


def _initialize(server: DemoServer, _params: dict[str, Any]) -> dict[str, Any]:
    return {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": _implementation(server)}


def _discover(_server: DemoServer, _params: dict[str, Any]) -> dict[str, Any]:
    return {"supportedVersions": [names.MODERN], "capabilities": {"tools": {}}}


def _ping(_server: DemoServer, _params: dict[str, Any]) -> dict[str, Any]:
    return {}


def _list_tools(server: DemoServer, _params: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [tool.definition() for tool in server.tools]}


def _call_tool(server: DemoServer, params: dict[str, Any]) -> dict[str, Any]:
    tool = next((tool for tool in server.tools if tool.name == params.get("name")), None)
    if tool is None:
        raise _Refusal(names.INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
    origin = {META_PROCESS: os.getpid(), META_PROTOCOL: server.version}
    return {**tool.call(params.get("arguments", {})), "_meta": origin}


_LEGACY_METHODS: Final[dict[str, Handler]] = {
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
}
_MODERN_METHODS: Final[dict[str, Handler]] = {
    "server/discover": _discover,
    "tools/list": _list_tools,
    "tools/call": _call_tool,
}


def _failure(identifier: str | int | None, refusal: _Refusal) -> dict[str, Any]:
    data = {} if refusal.data is None else {"data": refusal.data}
    known = {} if identifier is None else {"id": identifier}
    return {"jsonrpc": "2.0", **known, "error": {"code": refusal.code, "message": str(refusal), **data}}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
