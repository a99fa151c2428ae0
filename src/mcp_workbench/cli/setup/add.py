"""`mcp-workbench add`: adds a server to the configuration, after a trial that shows its tools."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.inspection.failure_blocks import failure_lines
from mcp_workbench.cli.setup.asking import confirm, is_interactive
from mcp_workbench.cli.setup.edit import report_edit
from mcp_workbench.cli.setup.failures import report_failures
from mcp_workbench.cli.terminal import complain, print_json, say
from mcp_workbench.config.places import FILE_NAME
from mcp_workbench.errors import ConfigError, NameTaken
from mcp_workbench.serve.logs import set_up
from mcp_workbench.setup import editing
from mcp_workbench.setup.config_file import check, edit, read_document
from mcp_workbench.setup.new_entry import entry_of
from mcp_workbench.setup.trial import Trial, load_alone, try_server
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.workbench.text.counting import count
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from mcp_workbench.setup.config_file import Edited
    from mcp_workbench.setup.editing import Addition

MAX_SHOWN_TOOLS: Final = 20
"""Tools that are listed by name after a trial, at most."""
NO_TRIAL: Final = Trial(seconds=0.0)
"""The outcome if the server is not to be tried."""


def run(options: argparse.Namespace) -> int:
    """Add a server. Return 0, 1 (it was not added) or 2 (a wrong command line, or a bad file)."""
    path = configuration_path(options.config)
    return report_failures(path, lambda: _add(path, options))


def _add(path: str, options: argparse.Namespace) -> int:
    environ = os.environ
    # A workbench that finds its file in the working directory starts its servers there too.
    is_elsewhere = options.config is not None or path != FILE_NAME
    entry = entry_of(
        options.words,
        options.program,
        options.env,
        options.header,
        directory=Path.cwd() if is_elsewhere else None,
    )
    document = read_document(path)
    data = document.data
    addition = editing.Addition(
        toolbox=editing.choose_toolbox(data, options.toolbox),
        server=options.name,
        entry=entry,
        description=options.description or editing.describe_toolbox(options.name, entry),
    )
    try:
        editing.add(document, addition)
    except NameTaken:
        if not is_interactive():
            raise
        if not confirm(f"There is another server {_shown(addition)} already. Replace it?", yes=False):
            return 1
        addition = msgspec.structs.replace(addition, replace=True)
        editing.add(document, addition)
    # Before the trial, so that nobody waits for a server that cannot be added.
    check(data, document.data, environ, path)
    trial = NO_TRIAL if options.no_check else _try(addition, options, environ, path)
    if not options.no_check and not _is_accepted(trial, addition, path, options):
        return 1
    if options.description is None:
        description = editing.describe_toolbox(options.name, entry, trial.title)
        addition = msgspec.structs.replace(addition, description=description)
    edited = edit(path, environ, lambda document: editing.add(document, addition), command="add")
    _report(edited, addition, trial, options)
    return 0


def _try(addition: Addition, options: argparse.Namespace, environ: Mapping[str, str], path: str) -> Trial:
    """Start the server. Values that are not there are a reason for a failure too."""
    try:
        loaded = load_alone(addition, environ, secret_lookup(environ), str(Path(path).parent))
    except ConfigError as error:
        reasons = "; ".join(problem.what for problem in error.problems)
        return Trial(
            seconds=0.0, cause="failed", error=reasons, hint=" ".join(p.remedy for p in error.problems)
        )
    set_up(options.log_level or "off", options.log_format or "text").hide(loaded.secrets)
    if not options.json:
        say(f"Starting {_shown(addition)} to see its tools …")
    return asyncio.run(try_server(loaded, environ))


def _is_accepted(trial: Trial, addition: Addition, path: str, options: argparse.Namespace) -> bool:
    """Whether the server is to be added: it works, or needs only a login, or the person wants it anyway."""
    if not options.json:
        _show_trial(trial)
    if not trial.error or trial.wants_login or options.yes:
        return True
    if is_interactive():
        return confirm(f"{_shown(addition)} does not work. Add it anyway?", yes=False)
    if options.json:
        print_json(_outcome(path, addition, trial, added=False))
    complain(f"{_shown(addition)} is not added, because it does not work. --no-check adds it untried")
    return False


def _show_trial(trial: Trial) -> None:
    if trial.wants_login:
        say("It requires a login.")
    elif trial.cause is not None:
        complain("\n".join(failure_lines(trial.cause, trial.error, trial.hint, trial.stderr)))
    else:
        more = ", …" if len(trial.tools) > MAX_SHOWN_TOOLS else ""
        names = ", ".join(map(show_name, trial.tools[:MAX_SHOWN_TOOLS]))
        tools = count(len(trial.tools), "tool", "tools")
        say(f"{tools} in {trial.seconds:.1f} s{': ' if names else ''}{names}{more}")


def _report(edited: Edited, addition: Addition, trial: Trial, options: argparse.Namespace) -> None:
    if options.json:
        outcome = _outcome(edited.path, addition, trial, added=True)
        warnings = [str(problem) for problem in edited.missing]
        print_json({**outcome, "line": edited.line, "changed": edited.is_changed, "warnings": warnings})
        return
    what = "Added" if edited.is_changed else "It is there already:"
    report_edit(edited, f"{what} {_shown(addition)}")
    if trial.wants_login:
        command = shlex.join(["mcp-workbench", "login", f"{addition.toolbox}/{addition.server}"])
        say(f"Log in to it: {show_name(command)}")
    if edited.is_new:
        say("Next, put the workbench into your client: mcp-workbench install")


def _outcome(path: str, addition: Addition, trial: Trial, *, added: bool) -> dict[str, object]:
    tried = {} if trial is NO_TRIAL else {"trial": msgspec.to_builtins(trial)}
    return {
        "file": path,
        "toolbox": addition.toolbox,
        "server": addition.server,
        "added": added,
        **tried,
    }


def _shown(addition: Addition) -> str:
    return show_name(f"{addition.toolbox}/{addition.server}")
