"""FastMCP's proxy of the servers in an `mcpServers` object over HTTP: the port and the object are given.

As in `fastmcp_proxy`, one session with the server is kept for each of a client. Answers come as JSON, which
takes less than the events that are its default.
"""

from __future__ import annotations

import json
import sys

from fastmcp.server.providers.proxy import FastMCPProxy, StatefulProxyClient

if __name__ == "__main__":
    client = StatefulProxyClient({"mcpServers": json.loads(sys.argv[2])})
    proxy = FastMCPProxy(client_factory=client.new_stateful, name="fastmcp-http")
    proxy.run(
        "http",
        show_banner=False,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        path="/mcp",
        json_response=True,
        log_level="ERROR",
    )
