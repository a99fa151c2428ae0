"""The echo server speaking HTTP itself: bare Starlette, and nothing behind it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from bench.echo_server import EchoServer
from bench.over_http.settings import SETTINGS

if TYPE_CHECKING:
    from starlette.requests import Request


class Echo:
    """The only endpoint."""

    def __init__(self, server: EchoServer) -> None:
        self._server = server

    async def post(self, request: Request) -> Response:
        """Answers one message."""
        parts = self._server.answer(orjson.loads(await request.body()))
        return (
            Response(b"".join(parts), media_type="application/json") if parts else Response(status_code=202)
        )


if __name__ == "__main__":
    echo = Echo(EchoServer(sys.argv[2], int(sys.argv[3]), modern=False))
    app = Starlette(routes=[Route("/mcp", echo.post, methods=["POST"])])
    uvicorn.run(app, port=int(sys.argv[1]), **SETTINGS)
