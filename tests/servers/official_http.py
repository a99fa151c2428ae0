"""The server of `official`, over HTTP: on a port, in one of the ways that the SDK has for it."""

from __future__ import annotations

import sys

from tests.servers.official import server

if __name__ == "__main__":
    port, way = int(sys.argv[1]), sys.argv[2]
    if way == "sse":
        server.run(transport="sse", port=port)
    else:
        server.run(
            transport="streamable-http",
            port=port,
            json_response="json" in way,
            stateless_http="stateless" in way,
        )
