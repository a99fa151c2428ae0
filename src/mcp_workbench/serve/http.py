"""Serves one workbench to many clients over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from mcp_workbench.errors import Denied
from mcp_workbench.serve.address import PATH, Address, listen
from mcp_workbench.serve.admission import AdmissionFiles, metadata, metadata_paths
from mcp_workbench.serve.connection_limits import MAX_CONNECTIONS, ConnectionLimits, allowed_connections
from mcp_workbench.serve.connections import LimitedConnection
from mcp_workbench.serve.running import ProcessService, begin, loop_runner
from mcp_workbench.storage.running_workbenches import RunningWorkbench, recorded
from mcp_workbench.surface.http.clients import Clients
from mcp_workbench.surface.http.endpoint import Endpoint

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import Message, Receive, Scope, Send

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.admission import Admission
    from mcp_workbench.serve.logs import StderrHandler
    from mcp_workbench.serve.logs.refusal_log import RefusalLog
    from mcp_workbench.serve.running import Service

DRAIN_SECONDS: Final = 20.0
"""Seconds that calls in flight get after a signal to end."""
FLUSH_SECONDS: Final = 3
"""Seconds that clients get to read the last answers."""
KEEP_ALIVE_SECONDS: Final = 75
"""Seconds that an idle connection is kept open: longer than most reverse proxies keep theirs."""
_REQUESTED_HEADERS: Final = b"access-control-request-headers"

log = logging.getLogger(__name__)


def run(
    loaded: LoadedConfig,
    environ: Mapping[str, str],
    log_handler: StderrHandler,
    address: Address,
    tokens: LoadedTokens | None,
) -> int:
    """Serve until a signal arrives. Return the exit code. Raises CannotListen."""
    begin(loaded, environ, log_handler)
    descriptors = _raise_descriptor_limit()
    limits = ConnectionLimits(allowed_connections(descriptors), descriptors=descriptors)
    sockets = listen(address)
    bound = Address(address.host, sockets[0].getsockname()[1])
    loop_runner()(_serve(loaded, environ, log_handler, (sockets, bound, limits), tokens))
    return 0


async def _serve(
    loaded: LoadedConfig,
    environ: Mapping[str, str],
    log_handler: StderrHandler,
    listening: tuple[list[socket.socket], Address, ConnectionLimits],
    tokens: LoadedTokens | None,
) -> None:
    sockets, address, limits = listening
    service = ProcessService(loaded, environ, log_handler)
    async with serving_http(service, address.host, tokens) as application:
        server = _Server(_settings(application, limits, application.admission.refusal_log))
        serving = asyncio.create_task(server.serve(sockets))
        record = RunningWorkbench(
            pid=os.getpid(),
            url=f"http://{address.for_this_machine}{PATH}",
            config=loaded.path,
            started_at=time.time(),
            needs_token=not application.admission.is_open,
        )
        with recorded(record, environ):
            log.info("serving at http://%s%s (Ctrl-C ends it)", address, PATH)
            await service.interrupted.wait()
        log.info("ending: calls in flight have %g s to finish (Ctrl-C again: at once)", DRAIN_SECONDS)
    server.should_exit = True
    server.force_exit = service.second_signal.is_set()
    await serving


@asynccontextmanager
async def serving_http(
    service: Service, host: str, tokens: LoadedTokens | None, path: str = PATH
) -> AsyncIterator[HttpApplication]:
    """Run a service as an ASGI application. On exit, end its calls, servers and clients."""
    clients = Clients(service.workbench, service.environ)
    admission_files = AdmissionFiles(
        host,
        service.loaded,
        tokens,
        environ=service.environ,
        log_handler=service.log_handler,
        clients=clients,
        policy=service.policy,
    )
    endpoint = Endpoint(clients, admission_files.admission)

    def on_reload(reloaded: LoadedConfig) -> None:
        admission_files.reconfigure(reloaded)
        clients.refresh()

    async def drain() -> None:
        endpoint.is_closing = True
        clients.end_streams()
        await service.until_second_signal(clients.drain(DRAIN_SECONDS))
        endpoint.is_closed = True
        await service.until_second_signal(admission_files.write_last_use())

    async with AsyncExitStack() as stack:
        # Closed in reverse: no new requests, then the calls, then the servers, then the clients.
        stack.callback(clients.close)
        stack.push_async_callback(service.close)
        stack.push_async_callback(drain)
        stack.callback(admission_files.close)
        stack.callback(service.stop_watching)
        service.start(on_reload)
        admission_files.start()
        yield HttpApplication(endpoint, admission_files.admission, path)


def _settings(front: HttpApplication, limits: ConnectionLimits, refusal_log: RefusalLog) -> uvicorn.Config:
    return uvicorn.Config(
        front,
        http=cast("type[asyncio.Protocol]", partial(LimitedConnection, limits, refusal_log)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=FLUSH_SECONDS + 1,  # by then all connections are closed
    )


def _raise_descriptor_limit() -> int | None:
    """Allow this process as many file descriptors as it can use: the default is often a thousand.

    Returns how many it may have; None where there is no limit that could be found.
    """
    try:
        import resource  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MAX_CONNECTIONS if hard == resource.RLIM_INFINITY else min(2 * MAX_CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return None if soft == resource.RLIM_INFINITY else soft


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the service, which has more to end than uvicorn."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals: the service handles them."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections. Abort those whose clients do not read their answers in time."""
        timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._abort_connections)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def _abort_connections(self) -> None:
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedConnection):
                connection.abort()


class HttpApplication:
    """The ASGI application: the MCP endpoint, health checks and OAuth metadata."""

    def __init__(self, endpoint: Endpoint, admission: Admission, path: str = PATH) -> None:
        self._endpoint = endpoint
        self._path = path
        self.admission = admission
        self._others = Starlette(
            routes=[
                Route("/healthz", self._is_alive),
                Route("/readyz", self._is_ready),
                Route("/.well-known/{rest:path}", self._describe),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request. Nearly all are for the MCP endpoint."""
        if scope["type"] != "http":
            return
        if scope["path"] != self._path and _path_within(scope) != self._path:
            await self._others(scope, receive, send)
            return
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None:
            await self._endpoint(scope, receive, send)
        else:
            await self._serve_page(origin, scope, receive, send)

    async def _serve_page(self, origin: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a web page, with the CORS headers that its browser needs."""
        origins = self.admission.origins
        requested = next((value for name, value in scope["headers"] if name == _REQUESTED_HEADERS), b"")
        if scope["method"] == "OPTIONS" and (allowed := origins.preflight(origin, requested)):
            await send({"type": "http.response.start", "status": 204, "headers": allowed})
            await send({"type": "http.response.body"})
            return
        allowed = origins.cors(origin)

        async def send_allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *allowed]
            await send(message)

        await self._endpoint(scope, receive, send_allowed if allowed else send)

    async def _is_alive(self, _: Request) -> Response:
        return Response('{"status":"alive"}', media_type="application/json")

    async def _is_ready(self, _: Request) -> Response:
        if self._endpoint.is_closing:
            return Response('{"status":"ending"}', 503, media_type="application/json")
        return Response('{"status":"ready"}', media_type="application/json")

    async def _describe(self, request: Request) -> Response:
        issuer = self.admission.issuer
        try:
            self.admission.check(request.scope["headers"], request.client.host if request.client else "")
        except Denied as denied:
            return Response(denied.reason, denied.status)
        if issuer is None or request.url.path not in metadata_paths(issuer):
            return Response("Not Found", 404)
        answer = Response(metadata(issuer), media_type="application/json")
        # A web page of an allowed origin has to find out where to log in.
        origin = request.headers.get("origin", "").encode("latin-1")
        answer.raw_headers.extend(self.admission.origins.cors(origin))
        return answer


def _path_within(scope: Scope) -> str:
    """The path of a request below the path that the application is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"
