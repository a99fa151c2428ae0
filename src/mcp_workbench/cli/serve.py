"""`mcp-workbench serve --http`: serves many clients over HTTP."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.cli.configuration import configuration_path
from mcp_workbench.cli.terminal import complain
from mcp_workbench.config import load
from mcp_workbench.errors import CannotListen, ConfigError
from mcp_workbench.serve.address import read_address
from mcp_workbench.serve.admission import load_credentials
from mcp_workbench.serve.http import run as run_http
from mcp_workbench.serve.logs import report, set_up
from mcp_workbench.storage.secret_lookup import secret_lookup

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Serve over HTTP until a signal arrives. Return 0, 1 (cannot listen) or 2 (a bad file or address)."""
    log_format = options.log_format or "text"
    log_handler = set_up(options.log_level or "info", log_format)
    try:
        listen_on = read_address(options.http)
    except ValueError as error:
        complain(f"--http: {error}")
        return 2
    try:
        loaded = load(configuration_path(options.config), os.environ, lookup=secret_lookup(os.environ))
        tokens = load_credentials(listen_on.host, listen_on.port, options.token_file, loaded, os.environ)
        return run_http(loaded, os.environ, log_handler, listen_on, tokens)
    except ConfigError as error:
        report(error, log_format)
        return 2
    except CannotListen as error:
        complain(str(error))
        return 1
