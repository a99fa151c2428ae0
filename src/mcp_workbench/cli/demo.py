"""`mcp-workbench demo`: starts the real server as a child process, uses it as a client, and shows each step.

Owns the steps and what they print. The servers, their configuration and the client are in `demo`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mcp_workbench import __version__
from mcp_workbench.demo.answers import Discovery, FoundTools, OpenedToolbox, ToolList, ToolResult
from mcp_workbench.demo.client import Answer, DemoClient, is_running
from mcp_workbench.demo.config import configuration, definitions
from mcp_workbench.demo.serving import META_PROCESS, META_PROTOCOL
from mcp_workbench.errors import BadAnswer, WorkbenchError
from mcp_workbench.protocol import names
from mcp_workbench.surface.metatools import passed_on
from mcp_workbench.workbench.text.estimate import estimate_tokens
from mcp_workbench.workbench.text.signatures import summary

if TYPE_CHECKING:
    import argparse

    from rich.console import RenderableType

__all__ = ["run"]

T = TypeVar("T")

MAX_STDERR_LINES: Final = 40
"""Lines of the workbench's stderr that a failure shows, at most."""


class DemoCall(NamedTuple):
    """A tool call that the demo makes through `use_tool`."""

    toolbox: str
    server: str
    tool: str
    arguments: dict[str, Any]

    def params(self) -> dict[str, Any]:
        """Return the params of `tools/call` for this call."""
        identifier = {"toolbox": self.toolbox, "server": self.server, "tool": self.tool}
        return {"name": "use_tool", "arguments": {"tool": identifier, "arguments": self.arguments}}


COUNT: Final = DemoCall("writing", "text", "count_words", {"text": "Two tools in front of all others."})
REMEMBER: Final = DemoCall("writing", "notes", "add_note", {"text": "Bring my own servers"})
SUMMARISE: Final = DemoCall("numbers", "stats", "summarise", {"numbers": [2, 4, 4, 4, 5, 5, 7, 9]})
CONVERT: Final = DemoCall("numbers", "units", "convert", {"value": 5, "from": "mile", "to": "kilometre"})
SIGNATURE_CHARACTERS: Final = 140
"""Characters of a signature that are shown: a choice of many words makes one long."""
QUERY: Final = "miles to kilometres"
MISSPELT: Final = COUNT._replace(tool="count_word")


def run(_options: argparse.Namespace | None = None) -> int:
    """Run the demo and print its steps. Return 0, or 1 if a step failed."""
    console = Console(highlight=False, markup=False, emoji=False)
    with tempfile.TemporaryDirectory(prefix="mcp-workbench-demo-") as name:
        config, log = Path(name, "workbench-config.json"), Path(name, "stderr")
        config.write_text(json.dumps(configuration()), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "mcp_workbench", "--config", str(config)]
        # Directories of its own: what the workbench learns about these servers is useless afterwards.
        environment = {**os.environ, "XDG_CACHE_HOME": name, "XDG_DATA_HOME": name}
        try:
            with log.open("wb") as stderr, DemoClient(command, environment, stderr) as client:
                _run_steps(console, client)
        except WorkbenchError as error:
            _explain(error, log)
            return 1
    _say_what_is_next(console)
    return 0


def _run_steps(console: Console, client: DemoClient) -> None:
    console.print(f"MCP Workbench {__version__}: the real server, with four small servers behind it.")
    _connect(console, client)
    _open_writing(console, client)
    processes = _use_tools(console, client)
    _find_a_tool(console, client)
    _make_a_mistake(console, client)
    _shut_down(console, client, processes)


def _connect(console: Console, client: DemoClient) -> None:
    greeting = client.request("server/discover", {}, Discovery)
    listing = client.request("tools/list", {}, ToolList)
    instructions = greeting.result.instructions
    tools = passed_on(listing.result.tools).decode()
    behind = [msgspec.Raw(msgspec.json.encode(tool)) for tool in definitions()]
    sizes = Table.grid("", "", "", padding=(0, 2))
    sizes.columns[0].justify = sizes.columns[1].justify = "right"
    sizes.add_row(*_size(instructions), "the instructions")
    sizes.add_row(*_size(tools), f"the {len(listing.result.tools)} tools that it sees")
    sizes.add_row(*_size(passed_on(behind).decode()), f"the {len(behind)} tools behind, listed natively")

    _head(console, "1. Connect", f"as a client of {names.MODERN}, start-up included", greeting.seconds)
    _show(console, "What a model reads:")
    _show(console, Panel(Text(instructions), expand=False))
    _show(console, sizes)
    _show(console, "(Tokens by estimate. More tools behind add nothing to the first two.)")


def _open_writing(console: Console, client: DemoClient) -> None:
    arguments = {"toolbox_name": "writing"}
    opening = client.request("tools/call", {"name": "open_toolbox", "arguments": arguments}, ToolResult)
    text = _success("open_toolbox", opening).text
    toolbox = _tools_in(text, OpenedToolbox)
    tools = Table.grid(padding=(0, 2))
    for server, signatures in toolbox.tools.items():
        for signature in signatures:
            tools.add_row(server, signature.partition(" — ")[0])
    characters, tokens = _size(text)

    _head(console, "2. Open a toolbox", f"open_toolbox {json.dumps(arguments)}", opening.seconds)
    _show(console, f"{toolbox.servers_connected} servers start now, and their tools come as signatures:")
    _show(console, tools)
    _show(console, f"({characters}, {tokens}, read only when it is opened.)")


def _use_tools(console: Console, client: DemoClient) -> list[int]:
    """Make the calls, and return the ids of the processes that answered them."""
    _head(console, "3. Use tools", "use_tool {tool: {toolbox, server, tool}, arguments}")
    processes = [
        _report(console, call, client.request("tools/call", call.params(), ToolResult))
        for call in (COUNT, REMEMBER)
    ]
    _show(console, "Two at once, in a toolbox that is not open yet: it opens on the way.")
    together = [(call, client.send("tools/call", call.params())) for call in (SUMMARISE, CONVERT)]
    processes += [_report(console, call, client.answer(number, ToolResult)) for call, number in together]
    return processes


def _report(console: Console, call: DemoCall, answer: Answer[ToolResult]) -> int:
    """Print a call and its result, and return the id of the process that answered it."""
    result = _success(f"{call.toolbox}/{call.server}/{call.tool}", answer)
    process, version = result.meta.get(META_PROCESS), result.meta.get(META_PROTOCOL)
    if not isinstance(process, int) or not isinstance(version, str):
        raise BadAnswer(f"the _meta of {call.server}'s result did not come through: {result.meta}")
    kind = "a modern server" if version == names.MODERN else "a legacy server, through the bridge"
    shown = Table.grid(padding=(0, 1))
    shown.add_row(">", f"{call.toolbox} / {call.server} / {call.tool} {json.dumps(call.arguments)}")
    shown.add_row("<", Text(result.text, style="green"))
    shown.add_row("", Text(f"{_time(answer.seconds)}, {version}: {kind}", style="dim"))
    _show(console, shown)
    return process


def _find_a_tool(console: Console, client: DemoClient) -> None:
    arguments = {"query": QUERY}
    search = client.request("tools/call", {"name": "open_toolbox", "arguments": arguments}, ToolResult)
    text = _success("open_toolbox", search).text
    found = _tools_in(text, FoundTools).tools
    tools = Table.grid(padding=(0, 2))
    for tool in found:
        words = tool.summary or tool.signature.partition(" — ")[2]
        tools.add_row(f"{tool.toolbox_name} / {tool.source_server} / {tool.name}", summary(words, 60))
    characters, tokens = _size(text)

    _head(console, "4. Find a tool", f"open_toolbox {json.dumps(arguments)}", search.seconds)
    _show(console, "In all toolboxes, the best match first, with what it takes:")
    _show(console, tools)
    if found:
        signature = found[0].signature.partition(" — ")[0]
        _show(
            console, signature[:SIGNATURE_CHARACTERS] + ("…" if len(signature) > SIGNATURE_CHARACTERS else "")
        )
    _show(console, f"({characters}, {tokens}. No server is started for it.)")


def _tools_in(text: str, form: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=form)
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"open_toolbox did not answer with tools: {error}") from error


def _make_a_mistake(console: Console, client: DemoClient) -> None:
    answer = client.request("tools/call", MISSPELT.params(), ToolResult)
    if not answer.result.is_error:
        raise BadAnswer(f"the workbench took {MISSPELT.tool} for a tool: {answer.result.text}")

    _head(console, "5. Make a mistake", f"the tool {MISSPELT.tool}", answer.seconds)
    _show(console, "What a model reads:")
    _show(console, Panel(Text(answer.result.text, style="yellow"), expand=False))


def _shut_down(console: Console, client: DemoClient, processes: list[int]) -> None:
    ending = client.close()
    left = [process for process in processes if is_running(process)]
    if ending.result != 0 or left:
        raise WorkbenchError(f"the workbench ended with exit code {ending.result} and left processes {left}")

    _head(console, "6. Shut down", "end of stdin", ending.seconds)
    numbers = ", ".join(map(str, processes))
    _show(console, f"Exit code 0. No process left of the {len(processes)} servers ({numbers}).")


def _say_what_is_next(console: Console) -> None:
    name, scripts = "mcp-workbench", str(Path(sys.executable).parent)
    command = name if shutil.which(name) else shutil.which(name, path=scripts) or name

    _head(console, "Next: your own servers")
    _show(console, "Import the servers that your MCP clients have (it shows the change, and asks):")
    _copyable(console, f"{command} import")
    _show(console, "Or add one:")
    _copyable(console, f"{command} add time -- uvx mcp-server-time")
    _show(console, "Start each server once, and see what works:")
    _copyable(console, f"{command} check --connect")
    _show(console, "Then put the workbench into your clients:")
    _copyable(console, f"{command} install")


def _explain(error: WorkbenchError, log: Path) -> None:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-MAX_STDERR_LINES:]
    stderr = "\n".join(lines) or "(nothing)"
    print(f"The demo failed: {error}\nLast lines of stderr:\n{stderr}", file=sys.stderr)


def _success(what: str, answer: Answer[ToolResult]) -> ToolResult:
    if answer.result.is_error:
        raise BadAnswer(f"{what} failed: {answer.result.text}")
    return answer.result


def _head(console: Console, title: str, detail: str = "", seconds: float | None = None) -> None:
    time = "" if seconds is None else f"  {_time(seconds)}"
    console.print()
    console.print(Text.assemble((title, "bold cyan"), f"  {detail}" if detail else "", (time, "dim")))


def _show(console: Console, what: RenderableType) -> None:
    console.print(Padding(what, (0, 0, 0, 3), expand=False))


def _copyable(console: Console, line: str) -> None:
    # Never wrapped: people copy these lines.
    console.print(f"     {line}", style="green", soft_wrap=True)


def _size(text: str) -> tuple[str, str]:
    return f"{len(text):,} characters", f"~{estimate_tokens(text):,} tokens"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 0.1 else f"{seconds * 1000:.0f} ms"
