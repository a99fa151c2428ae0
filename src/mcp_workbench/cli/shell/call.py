"""`mcp-workbench call`: calls a tool from the shell."""

from __future__ import annotations

import asyncio
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.cli.configuration import load_or_report
from mcp_workbench.cli.shell.addresses import WrongAddress, refuse_missing, resolve
from mcp_workbench.cli.shell.arguments import WrongArguments, encoded, read_written, warnings
from mcp_workbench.cli.shell.person import ProgressLine, open_terminal
from mcp_workbench.cli.shell.questions import Questioner
from mcp_workbench.cli.shell.result_display import print_raw, read_shown, show_result
from mcp_workbench.cli.shell.saving import save
from mcp_workbench.cli.shell.schema_reading import input_schema
from mcp_workbench.cli.shell.workbenches.choosing import explained, know_toolbox, workbench_choice
from mcp_workbench.cli.shell.workbenches.mcp_client import McpClient
from mcp_workbench.cli.terminal import complain
from mcp_workbench.errors import CallError, RemoteError, WireError
from mcp_workbench.protocol.names import INVALID_PARAMS
from mcp_workbench.serve.signals import cancel_on_request_to_end
from mcp_workbench.surface.use_request import ToolId
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.cli.shell.addresses import ToolAddress
    from mcp_workbench.cli.shell.arguments import WrittenArguments
    from mcp_workbench.cli.shell.person import Terminal
    from mcp_workbench.cli.shell.workbenches.choosing import WorkbenchChoice
    from mcp_workbench.config import LoadedConfig

TOOL_ERROR: Final = 1
MISUSE: Final = 2
FAILURE: Final = 3


def run(options: argparse.Namespace) -> int:
    """Call a tool and print its result.

    Return 0, 1 (the tool reports an error), 2 (a wrong name, wrong arguments or a bad file) or 3 (the server
    or the workbench failed, or the workbench did not make the call: held, denied, limited, not authorized).
    """
    loaded = None
    if options.url is None and (loaded := load_or_report(options)) is None:
        return MISUSE
    if options.save is not None and Path(options.save).expanduser().is_file():
        complain(
            f"--save {show_name(options.save)}: the file exists already. Name another one, or a directory"
        )
        return MISUSE
    terminal = open_terminal()
    try:
        # Words after `--` are arguments too, even if they begin with a dash.
        written = read_written([*options.words, *options.program], options.args)
        return asyncio.run(_call(options, loaded, written, terminal))
    except (WrongAddress, WrongArguments) as error:
        complain(str(error))
        return MISUSE
    except RemoteError as error:
        code, text = _explain(error, options.tool)
        complain(text)
        return code
    except TimeoutError:
        complain(f"no answer within {options.timeout:g} s (--timeout). The server was told to stop")
        return FAILURE
    except (CallError, WireError) as error:
        complain(explained(error))
        return FAILURE
    finally:
        if terminal is not None:
            terminal.close()


async def _call(
    options: argparse.Namespace,
    loaded: LoadedConfig | None,
    written: WrittenArguments,
    terminal: Terminal | None,
) -> int:
    cancel_on_request_to_end()
    async with workbench_choice(options, loaded) as choice:
        with ProgressLine() as progress:
            needs_schema = bool(written.assignments)
            address, definition = await _find_tool(options.tool, choice, progress, needs_schema=needs_schema)
            arguments = written.read(schema := input_schema(definition))
            for warning in () if definition is None else warnings(arguments, schema):
                complain(f"warning: {warning}")
            client = McpClient(
                await choice.connection(),
                answer=Questioner(terminal, progress).answer,
                on_progress=progress.report,
                on_log=partial(_print_log, progress),
                log_level=None if options.log_level in (None, "off") else options.log_level,
                timeout=options.timeout,
                is_attended=terminal is not None,
            )
            progress.show(f"Calling {show_name(str(address))}")
            result = await client.use_tool(ToolId(*address.names), encoded(arguments))
    shown = read_shown(result)
    saved: list[str] = []
    if options.save is not None:
        try:
            saved = save(shown.attachments, options.save)
        except OSError as error:
            complain(f"the result cannot be saved: {error}")
            return FAILURE
        if not saved:
            complain("the result has no image, sound or file to save")
    if options.json:
        print_raw(result)
        for path in saved:
            print(f"Saved as {show_name(path)}", file=sys.stderr)
    else:
        show_result(shown, saved)
    return TOOL_ERROR if shown.is_error else 0


async def _find_tool(
    name: str, choice: WorkbenchChoice, progress: ProgressLine, *, needs_schema: bool
) -> tuple[ToolAddress, msgspec.Raw | None]:
    """Return the tool to call, and its definition. Starts its server if it has to tell the schema."""
    await know_toolbox(name, choice)
    address = resolve(name, choice.toolboxes)
    if address.server is None or address.tool is None:
        kind = "toolbox" if address.server is None else "server"
        listing = shlex.join(["mcp-workbench", "tools", show_name(str(address))])
        raise WrongAddress(f"'{show_name(name)}' is a {kind}, not a tool. Its tools: {listing}")
    if address.definition is not None or not needs_schema:
        return address, address.definition
    progress.show(f"Starting {show_name('/'.join(address.names[:2]))}")
    opening = await (await choice.connection()).open(address.toolbox, address.server)
    for toolbox_server, index in opening.tools:
        if toolbox_server.name == address.server.name:
            if address.tool not in index:
                refuse_missing(address, index)
            return address, index[address.tool]
    failures = [each for each in opening.failures if each.server == address.server.name]
    raise CallError("\n".join(each.explained() for each in failures) or f"{address} is still starting")


def _explain(error: RemoteError, tool: str) -> tuple[int, str]:
    """Return the exit code for a refusal of the workbench, and what to tell the person."""
    kind = decode_members(error.data or b"{}").get("error", ABSENT)
    name = decode_text(kind)
    if name == "ToolNotFound":
        listing = shlex.join(["mcp-workbench", "tools", tool.rpartition("/")[0] or tool, "--connect"])
        return MISUSE, f"the server has no tool '{show_name(tool)}' any more. What it has: {listing}"
    is_misuse = error.code == INVALID_PARAMS and name is not None
    return MISUSE if is_misuse else FAILURE, error.message


def _print_log(progress: ProgressLine, params: dict[str, Any]) -> None:
    """Print a log message of a server on stderr."""
    progress.erase()
    data = params.get("data")
    text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    print(show_name(f"[{params.get('level')}] {params.get('logger', '')}: {text}"), file=sys.stderr)
