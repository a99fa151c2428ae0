"""Other MCP clients: where they keep their servers, how to read these, and how to write an entry for them."""

from mcp_workbench.config.clients.conversion import Converted, convert
from mcp_workbench.config.clients.finding import find_files, read_file
from mcp_workbench.config.clients.found import FileContext, FoundFile, FoundServer
from mcp_workbench.config.clients.installing import entry_for, install_target
from mcp_workbench.config.clients.machine import Machine, this_machine
from mcp_workbench.config.clients.model import Client, ClientFile, Scope
from mcp_workbench.config.clients.table import CLIENTS, client_named

__all__ = [
    "CLIENTS",
    "Client",
    "ClientFile",
    "Converted",
    "FileContext",
    "FoundFile",
    "FoundServer",
    "Machine",
    "Scope",
    "client_named",
    "convert",
    "entry_for",
    "find_files",
    "install_target",
    "read_file",
    "this_machine",
]
