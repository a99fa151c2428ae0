"""What is measured over HTTP: how each target is started in front of a server, and how a call is phrased."""

from __future__ import annotations

import json
import socket
import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bench.over_http.client import HttpClient
from bench.over_http.connection import HOST
from bench.targets import BENCH, ROOT, call_directly, call_use_tool, entries, write_config
from bench.tool_definitions import tool_name

if TYPE_CHECKING:
    from bench.targets import Json, Phrase, Server, Setting

MCP_PROXY = ROOT / ".bench" / "mcp-proxy" / "bin" / "python"
"""Needs another version of the SDK than the other peers do, and so has an environment of its own."""


class HttpTarget(NamedTuple):
    """One of the things compared."""

    key: str
    title: str
    launch: Launch
    phrase: Phrase
    modern: bool = False
    slow: bool = False
    """So much slower than the others that it takes part in fewer rounds."""

    def start(self, setting: Setting, server: Server) -> HttpClient:
        """Starts it in front of the server."""
        port = _free_port()
        command = self.launch(setting, server, port)
        return HttpClient(self.title, command, setting.environment(), port, modern=self.modern)

    def params(self, server: Server, kind: str, size: int) -> Json:
        """The parameters of `tools/call` for a result of this kind and size."""
        return self.phrase(server, tool_name(server.name, 0), {"kind": kind, "size": size})


class Launch(Protocol):
    """Makes the command line of a target."""

    def __call__(self, setting: Setting, server: Server, port: int) -> list[str]: ...


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _direct(setting: Setting, server: Server, port: int) -> list[str]:
    return [setting.python, "-m", "bench.over_http.echo", str(port), server.name, str(server.tools)]


def _relay(setting: Setting, server: Server, port: int) -> list[str]:
    command = json.dumps(setting.echo_command(server))
    return [setting.python, "-m", "bench.over_http.relay", str(port), command]


def _workbench(setting: Setting, server: Server, port: int) -> list[str]:
    config = write_config(setting, [server])
    return [setting.python, "-m", "mcp_workbench", "serve", "--config", config, "--http", f"{HOST}:{port}"]


def _fastmcp(setting: Setting, server: Server, port: int) -> list[str]:
    script = str(BENCH / "peers" / "fastmcp_http.py")
    return [sys.executable, script, str(port), json.dumps(entries(setting, [server]))]


def _mcp_proxy(setting: Setting, server: Server, port: int) -> list[str]:
    options = ["--host", HOST, "--port", str(port), "--log-level", "ERROR", "--pass-environment"]
    return [str(MCP_PROXY), "-m", "mcp_proxy", *options, "--", *setting.echo_command(server)]


DIRECT = HttpTarget("http-direct", "the server itself", _direct, call_directly)
RELAY = HttpTarget("http-relay", "bare Starlette relay", _relay, call_directly)
CONTROL = HttpTarget("http-relay-again", "bare Starlette relay, a second one", _relay, call_directly)
WORKBENCH = HttpTarget("http-workbench", "workbench, a client with a session", _workbench, call_use_tool)
WORKBENCH_MODERN = HttpTarget(
    "http-workbench-modern", "workbench, a client of 2026-07-28", _workbench, call_use_tool, modern=True
)
FASTMCP = HttpTarget("http-fastmcp", "FastMCP, proxy", _fastmcp, call_directly, slow=True)
MCP_PROXY_PEER = HttpTarget("http-mcp-proxy", "mcp-proxy", _mcp_proxy, call_directly, slow=True)

OURS = (WORKBENCH, WORKBENCH_MODERN)
PEERS = (FASTMCP, MCP_PROXY_PEER)
ALL = (DIRECT, RELAY, CONTROL, *OURS, *PEERS)
