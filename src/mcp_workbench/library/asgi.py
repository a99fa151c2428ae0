"""The ASGI application that `http_app` returns, with the lifespan that starts and ends its workbench."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse
from starlette.routing import Router

from mcp_workbench.config.hosts import is_loopback
from mcp_workbench.library.log_masking import masking_handler
from mcp_workbench.serve.http import serving_http
from mcp_workbench.serve.running import Service, begin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.types import Receive, Scope, Send

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.config.tokens import LoadedTokens
    from mcp_workbench.serve.http import HttpApplication
    from mcp_workbench.workbench.door import Decider, Observer

NOT_STARTED: Final = (
    "the lifespan of http_app is not running. A web framework does not run the lifespan of an application "
    "that is mounted into another one: pass `lifespan=app.lifespan` to the outer one, or enter "
    "`app.lifespan()` in the lifespan that it has"
)
RUNNING: Final = "the lifespan of http_app is running already"
FROM_ELSEWHERE: Final = (
    "Forbidden: this server can be reached from other machines, and the workbench has neither tokens nor an "
    "issuer. Pass host and token_file to http_app"
)


class HttpApp:
    """An ASGI application that serves a workbench over HTTP while its lifespan runs."""

    def __init__(
        self,
        loaded: LoadedConfig,
        tokens: LoadedTokens | None,
        *,
        path: str,
        host: str,
        environ: Mapping[str, str],
        deciders: Sequence[Decider],
        observers: Sequence[Observer],
    ) -> None:
        self._loaded = loaded
        self._tokens = tokens
        self._path = path
        self._host = host
        self._environ = environ
        self._deciders = deciders
        self._observers = observers
        self._application: HttpApplication | None = None
        self._router = Router(lifespan=self.lifespan)
        """Speaks the lifespan protocol with the web server, where the application is not mounted."""

    @asynccontextmanager
    async def lifespan(self, app: object = None) -> AsyncIterator[None]:  # noqa: ARG002 - frameworks pass theirs
        """Run the workbench from its start to the end of its servers. It can be run again after its end."""
        if self._application is not None:
            raise RuntimeError(RUNNING)
        log_handler = masking_handler()
        begin(self._loaded, self._environ, log_handler)
        service = Service(
            self._loaded, self._environ, log_handler, deciders=self._deciders, observers=self._observers
        )
        try:
            async with serving_http(service, self._host, self._tokens, self._path) as application:
                self._application = application
                yield
        finally:
            self._application = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request. Raises RuntimeError if the lifespan is not running."""
        if scope["type"] == "lifespan":
            await self._router(scope, receive, send)
            return
        application = self._application
        if application is None:
            raise RuntimeError(NOT_STARTED)
        if application.admission.is_open and not _reaches_this_machine_only(scope):
            await PlainTextResponse(FROM_ELSEWHERE, 403)(scope, receive, send)
            return
        await application(scope, receive, send)


def _reaches_this_machine_only(scope: Scope) -> bool:
    """Whether a request came to an address of this machine that no other machine can reach.

    The `Host` header does not tell: any client can write `localhost` into it.
    """
    address, port = scope.get("server") or ("", None)
    return port is None or is_loopback(address)
