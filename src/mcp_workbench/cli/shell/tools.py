"""`mcp-workbench tools`: lists and searches tools, and explains one of them."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.shell.addresses import MAX_NAMES_SHOWN, WrongAddress, refuse_missing, resolve
from mcp_workbench.cli.shell.overview import overview, show_overview, without_toolboxes
from mcp_workbench.cli.shell.page import BOLD, Page
from mcp_workbench.cli.shell.person import ProgressLine, report_failures
from mcp_workbench.cli.shell.tool_display import ShownTool, show_tool, show_tools
from mcp_workbench.cli.shell.workbenches.choosing import explained, know_toolbox, workbench_choice
from mcp_workbench.cli.terminal import complain, print_json, spell_json
from mcp_workbench.errors import CallError, WireError
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.surface.listing.found import age, findings_result
from mcp_workbench.surface.listing.open_request import DEFAULT_LIMIT, OpenRequest
from mcp_workbench.surface.listing.opened import opening_result
from mcp_workbench.wire.message import decode_members
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.toolbox import Opening

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mcp_workbench.cli.shell.addresses import ToolAddress
    from mcp_workbench.cli.shell.workbenches.choosing import WorkbenchChoice
    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.wire.message import Body

MISUSE: Final = 2


def run(options: argparse.Namespace) -> int:
    """List or search tools. Return 0, 1 (nothing found, or a server failed) or 2 (a wrong name or file)."""
    if options.limit is not None and options.query is None:
        complain("--limit is for --query: say what to search for")
        return MISUSE
    if options.query is not None and (options.connect or not options.query.strip()):
        complain("--query searches what is known: it takes words to search for, and not --connect")
        return MISUSE
    if options.policy and (options.query is not None or options.url is not None):
        complain("--policy reads the policy of the configuration: it takes neither --query nor --url")
        return MISUSE
    loaded = None
    if options.url is None and (loaded := load_or_report(options, as_json=options.json)) is None:
        return MISUSE
    try:
        return asyncio.run(_list(options, loaded))
    except WrongAddress as error:
        complain(str(error))
        return MISUSE
    except (CallError, WireError) as error:
        complain(explained(error))
        return 1


async def _list(options: argparse.Namespace, loaded: LoadedConfig | None) -> int:
    cancel_on_request_to_end()
    if options.policy and loaded is not None:
        from mcp_workbench.cli.shell.policy_display import list_decisions

        return await list_decisions(options, loaded)
    async with workbench_choice(options, loaded) as choice:
        if options.query is not None:
            return await _search(options, choice)
        if options.name is not None:
            await know_toolbox(options.name, choice)
            return await _list_one(options, choice, resolve(options.name, choice.toolboxes))
        has_failed = options.connect and await _start_all(choice)
        title = options.url if loaded is None else loaded.path
        boxes = overview(choice.toolboxes.values())
        if options.json:
            print_json({"file": title, "toolboxes": [msgspec.to_builtins(box) for box in boxes]})
        elif boxes:
            show_overview(Page(), title, boxes, is_elsewhere=choice.is_elsewhere)
        else:
            complain(without_toolboxes(title, is_elsewhere=choice.is_elsewhere))
        return 0 if boxes and not has_failed else 1


async def _start_all(choice: WorkbenchChoice) -> bool:
    """Start the servers of all toolboxes. Print those that fail, and return whether there are any."""
    has_failed = False
    for toolbox in list(choice.toolboxes.values()):
        with ProgressLine() as progress:
            progress.show(f"Starting the servers of {show_name(toolbox.name)}")
            opening = await (await choice.connection()).open(toolbox, None)
        has_failed = report_failures(opening) or has_failed
    return has_failed


async def _search(options: argparse.Namespace, choice: WorkbenchChoice) -> int:
    """Print the tools that a search finds, best first."""
    toolbox = None
    if options.name is not None:
        address = resolve(options.name, choice.toolboxes)
        if address.server is not None:
            raise WrongAddress("--query searches a toolbox or all: name no server and no tool")
        toolbox = address.toolbox.name
    limit = options.limit or DEFAULT_LIMIT
    findings = await choice.known.find(options.query, limit, toolbox)
    (found,) = findings.found
    wanted = OpenRequest(toolbox=toolbox, queries=(options.query,), limit=limit, detail=options.detail)
    if options.json:
        budgets = [each.listing_budget for each in choice.toolboxes.values() if toolbox in (None, each.name)]
        _print_structure(findings_result(findings, wanted, max(budgets, default=0)))
    else:
        now = time.time()
        tools = [
            ShownTool(
                each.origin,
                each.name,
                each.definition,
                "" if each.listed_at is None else age(now - each.listed_at),
            )
            for each in found
        ]
        show_tools(Page(), tools, options.detail, are_mixed=True)
        if not tools:
            complain("no tool matches. Try other words, in English, as a tool's description would use them")
        if findings.unknown:
            _mention_unknown(["/".join(origin) for origin in findings.unknown])
    return 0 if found else 1


async def _list_one(options: argparse.Namespace, choice: WorkbenchChoice, address: ToolAddress) -> int:
    """Print the tools of a toolbox or of a server, or one tool."""
    opening = await _opening(options, choice, address)
    if address.tool is not None:
        known = [(server, index) for server, index in opening.tools if server is address.server]
        if known and address.tool not in known[0][1]:
            refuse_missing(address, known[0][1])
        opening = Opening(
            opening.toolbox,
            [(server, {address.tool: index[address.tool]}) for server, index in known],
            opening.starting,
            opening.failures,
        )
    if options.json:
        names = () if address.tool is None or not opening.tools else (address.tool,)
        _print_structure(opening_result(opening, OpenRequest(names=names, detail=options.detail)))
    else:
        _show(options, address, opening)
        _mention_held(opening)
        report_failures(opening)
    return 0 if opening.tools and not opening.failures else 1


async def _opening(options: argparse.Namespace, choice: WorkbenchChoice, address: ToolAddress) -> Opening:
    """Return what is known of a toolbox or a server; start it if nothing is, or if the user wants that."""
    toolbox, server = address.toolbox, address.server
    servers = list(toolbox.toolbox_servers.values()) if server is None else [server]
    known = [(each, each.known()) for each in servers]
    listed = [(each, tools.index) for each, tools in known if tools is not None]
    if len(listed) == len(servers) and not options.connect:
        return Opening(toolbox, listed, [], [])
    what = show_name("/".join(address.names[:2]))
    with ProgressLine() as progress:
        progress.show(f"Starting {what} to list its tools")
        return await (await choice.connection()).open(toolbox, server)


def _show(options: argparse.Namespace, address: ToolAddress, opening: Opening) -> None:
    page = Page()
    now = time.time()
    toolbox = opening.toolbox
    if address.tool is None and address.server is None and page.is_terminal:
        page.line(f"{toolbox.name}: {toolbox.description}" if toolbox.description else toolbox.name, BOLD)
    for server, index in opening.tools:
        known = server.known()
        listed_at = None if known is None else known.listed_at
        listed = "" if listed_at is None else age(now - listed_at)
        tools = [ShownTool(server.origin, name, definition, listed) for name, definition in index.items()]
        if address.tool is not None:
            show_tool(page, tools[0])
            return
        if page.is_terminal:
            since = f", listed {listed}" if listed else ""
            page.line(f"  {'/'.join(server.origin)} ({count(len(tools), 'tool', 'tools')}{since})", BOLD)
        show_tools(page, tools, options.detail)


def _print_structure(result: tuple[Body, ...]) -> None:
    """Print the object that an answer to a model contains."""
    structure = decode_members(b"".join(map(bytes, result)))["structuredContent"]
    print(spell_json(msgspec.json.format(bytes(structure), indent=2).decode()))


def _mention_held(opening: Opening) -> None:
    """Say on stderr which tools are not in the list because they are held, and which instructions are."""
    names = ["/".join((*server.origin, tool)) for server, _ in opening.tools for tool in server.held()]
    names += [
        f"the instructions of {'/'.join(server.origin)}"
        for server, _ in opening.tools
        if server.withholds_instructions
    ]
    if names:
        shown = ", ".join(map(show_name, names[:MAX_NAMES_SHOWN]))
        more = f" and {len(names) - MAX_NAMES_SHOWN:,} more" if len(names) > MAX_NAMES_SHOWN else ""
        print(f"Held: {shown}{more}. To see why: mcp-workbench review", file=sys.stderr)


def _mention_unknown(names: Sequence[str]) -> None:
    command = shlex.join(["mcp-workbench", "index", *map(show_name, names)])
    what = count(len(names), "server", "servers")
    print(f"Not searched: {what} whose tools are not known yet. To list them: {command}", file=sys.stderr)
