"""`mcp-workbench remove`, `enable`, `disable` and `move`: edits of the configuration file."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.setup.asking import confirm
from mcp_workbench.cli.setup.failures import report_failures
from mcp_workbench.cli.terminal import complain, say
from mcp_workbench.errors import CannotChange
from mcp_workbench.setup import editing
from mcp_workbench.setup.config_file import edit, read_document
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from mcp_workbench.config import Origin
    from mcp_workbench.config.documents import Document
    from mcp_workbench.setup.config_file import Edited

    Work = Callable[[Document, Origin], int | None]


def run(options: argparse.Namespace) -> int:
    """Edit the configuration. Return 0, 1 (nothing was changed) or 2 (a wrong name, or a bad file)."""
    path = configuration_path(options.config)
    return report_failures(path, lambda: _COMMANDS[options.command](path, options))


def report_edit(edited: Edited, what: str) -> None:
    """Say what was changed, in which line, and warn of values that are missing now."""
    place = show_name(edited.path) + (f":{edited.line}" if edited.line is not None else "")
    say(f"{what}: {place}")
    if edited.is_changed and not edited.is_new:
        say("A running workbench uses the change within seconds.")
    for problem in edited.missing:
        complain(f"warning: {problem}")


def _remove(path: str, options: argparse.Namespace) -> int:
    toolbox = editing.find_toolbox(read_document(path).data, options.server)
    if toolbox is not None:
        return _remove_toolbox(path, toolbox, options)
    edited, (toolbox, server) = _edit(path, options, editing.remove)
    report_edit(edited, f"Removed {_shown((toolbox, server))}")
    if not any(origin[0] == toolbox for origin in editing.servers_of(edited.data)):
        command = shlex.join(["mcp-workbench", "remove", f"{toolbox}/"])
        say(f"The toolbox '{show_name(toolbox)}' has no servers now. To remove it too: {show_name(command)}")
    return 0


def _remove_toolbox(path: str, toolbox: str, options: argparse.Namespace) -> int:
    document = read_document(path)
    servers = [server for box, server in editing.servers_of(document.data) if box == toolbox]
    named = f": {', '.join(map(show_name, servers))}" if servers else ""
    what = f"the toolbox '{show_name(toolbox)}' with {count(len(servers), 'server', 'servers')}{named}"
    complain(f"this removes {what}")
    if not confirm("Remove it?", yes=options.yes):
        return 1

    def change(current: Document) -> int | None:
        found = editing.find_toolbox(current.data, options.server)
        # Another process may have changed it while the person was asked.
        if found is None or current.data != document.data:
            raise CannotChange(
                path, "it has changed meanwhile", "Nothing was written. Run the command again."
            )
        return editing.remove_toolbox(current, found)

    edited = edit(path, os.environ, change, command="remove")
    report_edit(edited, f"Removed {what}")
    return 0


def _enable(path: str, options: argparse.Namespace) -> int:
    edited, origin = _edit(path, options, editing.enable)
    report_edit(edited, f"Enabled {_shown(origin)}" if edited.is_changed else _same(origin, "enabled"))
    return 0


def _disable(path: str, options: argparse.Namespace) -> int:
    edited, origin = _edit(path, options, editing.disable)
    report_edit(edited, f"Disabled {_shown(origin)}" if edited.is_changed else _same(origin, "disabled"))
    return 0


def _move(path: str, options: argparse.Namespace) -> int:
    toolbox: str = options.toolbox

    def move(document: Document, origin: Origin) -> int | None:
        return editing.move(document, origin, toolbox, options.description)

    edited, origin = _edit(path, options, move)
    where = f"the toolbox '{show_name(toolbox)}'"
    report_edit(edited, f"Moved {_shown(origin)} to {where}" if edited.is_changed else _same(origin, "there"))
    return 0


def _edit(path: str, options: argparse.Namespace, work: Work) -> tuple[Edited, Origin]:
    """Edit the entry of the server that the command line names. Return the server too."""
    found: list[Origin] = []

    def change(document: Document) -> int | None:
        # Anew in each attempt, because another process may have removed it meanwhile.
        found.append(editing.find_server(document.data, options.server))
        return work(document, found[-1])

    return edit(path, os.environ, change, command=options.command), found[-1]


def _shown(origin: Origin) -> str:
    return show_name("/".join(origin))


def _same(origin: Origin, what: str) -> str:
    return f"{_shown(origin)} is {what} already, and nothing is changed"


_COMMANDS: dict[str, Callable[[str, argparse.Namespace], int]] = {
    "disable": _disable,
    "enable": _enable,
    "move": _move,
    "remove": _remove,
}
