"""What is measured: how each target is started in front of which servers, and how a call is phrased."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bench.client import Client
from bench.tool_definitions import tool_name

if TYPE_CHECKING:
    from collections.abc import Sequence

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TOOLBOX = "bench"
WHOLE_BYTES = 2**30
"""Bytes up to which the workbench passes on results whole: the most that its configuration takes."""
WITHOUT_UVLOOP = (
    "import sys; sys.modules['uvloop'] = None; from mcp_workbench.__main__ import main; sys.exit(main())"
)

Json = dict[str, Any]


class Server(NamedTuple):
    """An echo server behind a target."""

    name: str = "s0"
    tools: int = 30
    start_delay: float = 0.0


class Setting(NamedTuple):
    """Where and with what a run takes place."""

    python: str
    """The interpreter of everything that is compared."""
    directory: Path
    """Temporary: for configurations and caches."""

    def echo_command(self, server: Server, *, modern: bool = False) -> list[str]:
        """How to start an echo server."""
        options = {
            "--name": server.name,
            "--tools": str(server.tools),
            "--era": "modern" if modern else "legacy",
        }
        if server.start_delay:
            options["--start-delay"] = str(server.start_delay)
        script = str(BENCH / "echo_server.py")
        return [self.python, script, *(word for option in options.items() for word in option)]

    def environment(self) -> dict[str, str]:
        """What every process gets: enough to run, with its caches where they are removed."""
        path = os.environ.get("PATH", os.defpath)
        cache = {"HOME": str(self.directory), "XDG_CACHE_HOME": str(self.directory / "cache")}
        return {"PATH": path, "PYTHONPATH": str(ROOT), **cache}


class Target(NamedTuple):
    """One of the things compared."""

    key: str
    title: str
    launch: Launch
    phrase: Phrase
    modern: bool = False
    opens_by_call: bool = False
    slow: bool = False
    """So much slower than the others that it takes part in fewer rounds."""

    def start(self, setting: Setting, servers: Sequence[Server]) -> Client:
        """Starts it in front of the servers, which it has not opened yet; without any, for a start alone."""
        return self.run(setting, self.launch(setting, servers))

    def run(self, setting: Setting, command: Sequence[str]) -> Client:
        """Starts it with this command line."""
        return Client(self.title, command, setting.environment(), modern=self.modern)

    def open(self, client: Client) -> float:
        """Has it open its servers, after the handshake; the seconds that this takes."""
        if self.opens_by_call:
            # With whole definitions however many there are: the others list no less.
            arguments = {"toolbox_name": TOOLBOX, "detail": "full"}
            opening = {"name": "open_toolbox", "arguments": arguments}
            return client.timed_request("tools/call", opening).seconds
        return client.timed_request("tools/list", {}).seconds

    def ready(self, setting: Setting, servers: Sequence[Server]) -> Client:
        """Starts it and has it open its servers."""
        client = self.start(setting, servers)
        try:
            client.handshake()
            self.open(client)
        except BaseException:
            client.close()
            raise
        return client

    def params(self, server: Server, kind: str, size: int, delay: float = 0.0, tool: int = 0) -> Json:
        """The parameters of `tools/call` for a result of this kind and size."""
        arguments: Json = {"kind": kind, "size": size} | ({"delay": delay} if delay else {})
        return self.phrase(server, tool_name(server.name, tool), arguments)


class Launch(Protocol):
    """Makes the command line of a target."""

    def __call__(self, setting: Setting, servers: Sequence[Server]) -> list[str]: ...


class Phrase(Protocol):
    """Makes the parameters of a call."""

    def __call__(self, server: Server, tool: str, arguments: Json) -> Json: ...


def _direct(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return setting.echo_command(servers[0] if servers else Server())


def _relay(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, str(BENCH / "relay.py"), _commands(setting, servers)]


def _lean_relay(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, str(BENCH / "lean_relay.py"), _commands(setting, servers)]


def _copier(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, str(BENCH / "copier.py"), json.dumps(setting.echo_command(servers[0]))]


def _commands(setting: Setting, servers: Sequence[Server]) -> str:
    return json.dumps([setting.echo_command(server) for server in servers])


def _fastmcp_proxy(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [sys.executable, str(BENCH / "peers" / "fastmcp_proxy.py"), json.dumps(entries(setting, servers))]


def _fastmcp_mount(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [sys.executable, str(BENCH / "peers" / "fastmcp_mount.py"), json.dumps(entries(setting, servers))]


def entries(setting: Setting, servers: Sequence[Server], *, modern: bool = False) -> Json:
    """The servers as an `mcpServers` object."""
    found = {}
    for server in servers:
        command, *args = setting.echo_command(server, modern=modern)
        found[server.name] = {"command": command, "args": args, "env": {"PYTHONPATH": str(ROOT)}}
    return found


def _workbench(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, "-m", "mcp_workbench", "--config", write_config(setting, servers)]


def _workbench_modern(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, "-m", "mcp_workbench", "--config", write_config(setting, servers, modern=True)]


def _workbench_asyncio(setting: Setting, servers: Sequence[Server]) -> list[str]:
    return [setting.python, "-c", WITHOUT_UVLOOP, "--config", write_config(setting, servers)]


def write_config(setting: Setting, servers: Sequence[Server], *, modern: bool = False) -> str:
    """Writes a configuration: all servers in one toolbox, or without servers ten toolboxes that stay shut."""
    number = sum(1 for _ in setting.directory.glob("config-*.json"))
    path = setting.directory / f"config-{number}.json"
    found = entries(setting, servers, modern=modern)
    toolboxes = {TOOLBOX: _toolbox(found)} if servers else _idle_toolboxes(setting)
    # Peers pass on large results whole, so the workbench has to do the same work.
    results = {"inlineLimit": WHOLE_BYTES}
    path.write_text(json.dumps({"results": results, "toolboxes": toolboxes}), encoding="utf-8")
    return str(path)


def _idle_toolboxes(setting: Setting) -> Json:
    entry = {"command": setting.python, "args": ["-m", "a_server_that_is_not_started"]}
    three = {f"server-{number}": entry for number in range(3)}
    return {f"toolbox-{number}": _toolbox(three) for number in range(10)}


def _toolbox(servers: Json) -> Json:
    return {"description": "Files, commits and issues of one of the projects", "mcpServers": servers}


def call_directly(server: Server, tool: str, arguments: Json) -> Json:  # noqa: ARG001 - as the others
    """A call of what has the server's tools as they are."""
    return {"name": tool, "arguments": arguments}


def _call_namespaced(server: Server, tool: str, arguments: Json) -> Json:
    return {"name": f"{server.name}_{tool}", "arguments": arguments}


def call_use_tool(server: Server, tool: str, arguments: Json) -> Json:
    """A call of the workbench."""
    identifier = {"toolbox": TOOLBOX, "server": server.name, "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": identifier, "arguments": arguments}}


DIRECT = Target("direct", "the server itself", _direct, call_directly)
RELAY = Target("relay", "bare relay", _relay, call_directly)
CONTROL = Target("relay-again", "bare relay, a second one", _relay, call_directly)
COPIER = Target("copier", "lines checked and copied, no more", _copier, call_directly)
LEAN_RELAY = Target("lean-relay", "relay on uvloop, bodies unparsed", _lean_relay, call_directly)
WORKBENCH = Target("workbench", "workbench", _workbench, call_use_tool, opens_by_call=True)
WORKBENCH_ASYNCIO = Target(
    "workbench-asyncio", "workbench without uvloop", _workbench_asyncio, call_use_tool, opens_by_call=True
)
WORKBENCH_MODERN = Target(
    "workbench-modern",
    "workbench, 2026-07-28 on both sides",
    _workbench_modern,
    call_use_tool,
    modern=True,
    opens_by_call=True,
)
FASTMCP_PROXY = Target("fastmcp-proxy", "FastMCP, proxy", _fastmcp_proxy, call_directly, slow=True)
FASTMCP_MOUNT = Target(
    "fastmcp-mount", "FastMCP, mounted proxies", _fastmcp_mount, _call_namespaced, slow=True
)

ALL = (
    *(DIRECT, RELAY, CONTROL, COPIER, LEAN_RELAY, WORKBENCH, WORKBENCH_ASYNCIO, WORKBENCH_MODERN),
    *(FASTMCP_PROXY, FASTMCP_MOUNT),
)
