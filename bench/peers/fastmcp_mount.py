"""A FastMCP server that mounts a proxy of each server of an `mcpServers` object, given on the command line.

As in `fastmcp_proxy`, one session for each server is kept for the whole connection.
"""

from __future__ import annotations

import json
import sys

from fastmcp import FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient

if __name__ == "__main__":
    main: FastMCP = FastMCP("fastmcp-mount")
    for name, entry in json.loads(sys.argv[1]).items():
        client = StatefulProxyClient(StdioTransport(entry["command"], entry["args"], env=entry["env"]))
        main.mount(FastMCPProxy(client_factory=client.new_stateful, name=name), namespace=name)
    main.run(show_banner=False, log_level="ERROR")
