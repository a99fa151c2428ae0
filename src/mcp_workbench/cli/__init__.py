"""The command line. Each command has a module of its own, which is imported when the command is run."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from mcp_workbench.cli.plain import read_plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TextIO

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command of the command line, and return its exit code."""
    _ensure_stderr()
    arguments = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the encoding of the terminal lacks is shown as a question mark.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _command(arguments)()
        if sys.stdout is not None:  # `serve` keeps one that was closed before the start
            sys.stdout.flush()
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    except BrokenPipeError:
        # The reader of our output has closed the pipe. Python would fail once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _ensure_stderr() -> None:
    """Make sure that stderr exists, before another file that is opened gets its descriptor."""
    if sys.stderr is None:
        # With None, `print` would write to stdout.
        sys.stderr = _open_nowhere(2)


def _open_nowhere(descriptor: int) -> TextIO:
    """Return a stream under this descriptor, which was closed, that discards what is written to it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _command(arguments: Sequence[str]) -> Callable[[], int]:
    """Return the command to run. Exits the process if the arguments are wrong, or ask for help."""
    if (plain := read_plain(arguments)) is not None:
        log_level, log_format = plain.log_level or "info", plain.log_format or "text"
        return partial(_serve, plain.config, log_level, log_format, keep_going=plain.keep_going)
    if arguments[:1] == ["_complete"]:
        from mcp_workbench.cli.completion.answering import run as complete

        return partial(complete, arguments[1:])
    from mcp_workbench.cli.options import parser

    return partial(_run, parser().parse_args(arguments))


def _run(options: argparse.Namespace) -> int:
    if options.command == "serve" and options.token_file is not None and options.http is None:
        from mcp_workbench.cli.terminal import complain

        # Without --http the file would protect nothing.
        complain("--token-file is for --http: mcp-workbench serve --http 0.0.0.0:8000 --token-file …")
        return 2
    if options.command == "serve" and options.keep_going and options.http is not None:
        from mcp_workbench.cli.terminal import complain

        # A mistake in `http` could let more clients in than intended.
        complain("--keep-going is for one client over stdin and stdout. Leave it out with --http")
        return 2
    if options.command is None or (options.command == "serve" and options.http is None):
        log_level, log_format = options.log_level or "info", options.log_format or "text"
        return _serve(options.config, log_level, log_format, keep_going=options.keep_going)
    gc.enable()
    if sys.stdout is None:  # closed before the start: what counts is the exit code
        sys.stdout = _open_nowhere(1)
    from mcp_workbench.cli.commands import run

    return run(options)


def _serve(config: str | None, log_level: str, log_format: str, *, keep_going: bool) -> int:
    from mcp_workbench.config import load, load_usable, locate
    from mcp_workbench.config.places import FILE_NAME
    from mcp_workbench.errors import ConfigError
    from mcp_workbench.serve.logs import report, set_up
    from mcp_workbench.serve.stdio import run as run_stdio
    from mcp_workbench.storage.secret_lookup import secret_lookup

    log_handler = set_up(log_level, log_format)
    path = locate(config, os.environ)
    if config is None and path != FILE_NAME:
        logging.getLogger(__name__).info("the configuration is %s", path)
    try:
        lookup = secret_lookup(os.environ)
        loaded = (load_usable if keep_going else load)(path, os.environ, lookup=lookup)
    except ConfigError as error:
        report(error, log_format)
        return 2
    return run_stdio(loaded, os.environ, log_handler, keeps_going=keep_going)
