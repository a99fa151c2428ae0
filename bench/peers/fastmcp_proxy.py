"""FastMCP's proxy of the servers in an `mcpServers` object, given as JSON on the command line.

One session for each server is kept for the whole connection (`StatefulProxyClient`): the fastest of the ways
that its documentation shows, for the default opens a session anew for every request.
"""

from __future__ import annotations

import json
import sys

from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient

if __name__ == "__main__":
    client = StatefulProxyClient({"mcpServers": json.loads(sys.argv[1])})
    proxy = FastMCPProxy(client_factory=client.new_stateful, name="fastmcp-proxy")
    proxy.run(show_banner=False, log_level="ERROR")
