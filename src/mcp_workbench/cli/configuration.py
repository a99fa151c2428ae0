"""Finds and loads the configuration of a command, and reports a file that cannot be used."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.cli.terminal import print_json
from mcp_workbench.config import load, locate
from mcp_workbench.config.places import FILE_NAME
from mcp_workbench.errors import ConfigError
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.workbench.text.sanitise import show_name
from mcp_workbench.workbench.trust.judgement import CHANGES_LOG

if TYPE_CHECKING:
    import argparse

    from mcp_workbench.config import LoadedConfig


def configuration_path(option: str | None) -> str:
    """Return the path of the configuration file. Say on stderr which it is, if that is not obvious.

    A file that is named, or is in the working directory, is obvious. One from `$WORKBENCH_CONFIG` or from the
    user's configuration directory is not.
    """
    path = locate(option, os.environ)
    if option is None and path != FILE_NAME:
        print(f"Configuration: {show_name(path)}", file=sys.stderr)
    return path


def load_or_report(options: argparse.Namespace, *, as_json: bool = False) -> LoadedConfig | None:
    """Return the configuration that the options name, and set up the log to mask its secrets.

    If the configuration cannot be used, report its problems and return None.
    """
    path = configuration_path(options.config)
    try:
        loaded = load(path, os.environ, lookup=secret_lookup(os.environ))
    except ConfigError as error:
        report_problems(error, options, as_json=as_json)
        return None
    set_up(options.log_level or "off", options.log_format or "text").hide(loaded.secrets)
    # The next workbench has nothing to say about what a command has seen first.
    changes = logging.getLogger(CHANGES_LOG)
    changes.setLevel(logging.NOTSET if options.log_level else logging.INFO)
    return loaded


def report_problems(error: ConfigError, options: argparse.Namespace, *, as_json: bool) -> None:
    """Report the problems of a file that cannot be used: on stderr, or as JSON on stdout."""
    if as_json:
        problems = [msgspec.to_builtins(problem) for problem in error.problems]
        print_json({"file": os.fspath(error.path), "valid": False, "problems": problems})
    else:
        report(error, options.log_format or "text")
