"""`mcp-workbench tools --policy`: what the policy of the configuration decides about each tool, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.shell.addresses import refuse_missing, resolve
from mcp_workbench.cli.shell.overview import without_toolboxes
from mcp_workbench.cli.shell.page import Page
from mcp_workbench.cli.shell.person import ProgressLine, report_failures
from mcp_workbench.cli.shell.workbenches.own_workbench import own_workbench
from mcp_workbench.cli.terminal import complain, print_json
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.policy.rules import rules_of
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcp_workbench.cli.shell.workbenches.own_workbench import OwnWorkbench
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.model.policy import Action
    from mcp_workbench.workbench.toolbox import Opening
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

NO_RULE = "no rule matches"


class ToolDecision(msgspec.Struct, frozen=True):
    """What is decided about the calls of one tool, for a client without a token."""

    toolbox: str
    server: str
    tool: str
    action: Action
    rule: str
    """The rule that decides; empty if none matches."""
    hidden: bool
    """Whether clients do not see the tool."""


async def list_decisions(options: argparse.Namespace, loaded: LoadedConfig) -> int:
    """Print the decisions about all tools, or about those of a toolbox or a server, or about one tool.

    Servers whose tools are not known are started. Returns 1 if one of them fails.
    """
    async with own_workbench(loaded, has_policy=False) as workbench:
        address = None if options.name is None else resolve(options.name, workbench.toolboxes)
        toolboxes = workbench.toolboxes.values() if address is None else [address.toolbox]
        servers = [
            server
            for toolbox in toolboxes
            for server in toolbox.toolbox_servers.values()
            if address is None or address.server in (None, server)
        ]
        has_failed = False
        for server in servers:
            if options.connect or not _has_hints(server):
                has_failed = report_failures(await _start(workbench, server)) or has_failed
        tool = None if address is None else address.tool
        decisions = [each for server in servers for each in _decisions(loaded, server, tool)]
        if address is not None and address.server is not None and tool is not None and not decisions:
            known = address.server.known()
            if known is not None:
                refuse_missing(address, known.index)
    if options.json:
        print_json({"file": loaded.path, "tools": [msgspec.to_builtins(each) for each in decisions]})
    elif not loaded.config.toolboxes:
        complain(without_toolboxes(loaded.path, is_elsewhere=False))
    elif not decisions and not has_failed:
        complain("there are no tools to decide about")
    else:
        Page().rows([_row(each) for each in decisions])
    return 1 if has_failed or not decisions else 0


def _has_hints(server: ToolboxServer) -> bool:
    """Whether the tools of a server are known and pinned. The catalogue may know them from another file."""
    known = server.known()
    return known is not None and all(server.tool_hint(name) is not None for name in known.index)


async def _start(workbench: OwnWorkbench, server: ToolboxServer) -> Opening:
    toolbox = workbench.toolboxes[server.origin[0]]
    with ProgressLine() as progress:
        progress.show(f"Starting {show_name('/'.join(server.origin))} to list its tools")
        return await workbench.open(toolbox, server)


def _decisions(loaded: LoadedConfig, server: ToolboxServer, tool: str | None) -> Iterator[ToolDecision]:
    rules = rules_of(server.origin, loaded.config)
    known = server.known()
    for name in () if known is None else known.index:
        if tool is None or name == tool:
            verdict = rules.verdict(name)
            if not isinstance(verdict, CallDecision):
                verdict = verdict[server.tool_hint(name) or "unknown"]
            is_hidden = rules.hides and verdict.action == "deny"
            yield ToolDecision(*server.origin, name, verdict.action, verdict.rule, is_hidden)


def _row(decision: ToolDecision) -> tuple[str, str, str]:
    name = f"{decision.toolbox}/{decision.server}/{decision.tool}"
    hidden = " (hidden)" if decision.hidden else ""
    return f"{decision.action}{hidden}", name, decision.rule or NO_RULE
