"""`Workbench`: the toolboxes of a configuration, used by a program in its own process and event loop."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from mcp_workbench.config import load, load_data
from mcp_workbench.errors import CallError, InvalidCall
from mcp_workbench.library.awaited_call import PROGRAM, AwaitedCall, PendingCall
from mcp_workbench.library.log_masking import masking_handler
from mcp_workbench.library.typed_results import read_findings, read_opening
from mcp_workbench.protocol.names import TOOLS_CALL
from mcp_workbench.serve.running import Service, begin
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.surface.listing.open_request import DEFAULT_LIMIT, read_open
from mcp_workbench.wire.message import encode
from mcp_workbench.wire.shared import outcome_of
from mcp_workbench.workbench.client_view import ClientView
from mcp_workbench.workbench.door import LostCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from mcp_workbench.config import LoadedConfig
    from mcp_workbench.errors import StrPath
    from mcp_workbench.library.awaited_call import OnProgress
    from mcp_workbench.library.typed_results import CallResult, FindResult, OpenResult
    from mcp_workbench.workbench.call_counts import ToolCounts
    from mcp_workbench.workbench.door import Decider, Observer
    from mcp_workbench.workbench.toolbox import Opening, ToolboxSummary

NOT_ENTERED: Final = "the workbench is not open: use it as `async with Workbench(…) as workbench:`"
ENTERED_BEFORE: Final = "a Workbench can be entered only once: make another one"
CLOSED: Final = "the workbench is closed"


def load_config(config: Mapping[str, object] | StrPath, environ: Mapping[str, str]) -> LoadedConfig:
    """Load a configuration from a dict or from the file at a path. Raises ConfigError."""
    if isinstance(config, (str, os.PathLike)):
        path = os.path.expanduser(os.fspath(config))  # noqa: PTH111 - as the command does
        return load(path, environ, lookup=secret_lookup(environ))
    return load_data(config, environ, lookup=secret_lookup(environ))


class Workbench:
    """The toolboxes of a configuration, as an async context manager.

    Entering it starts nothing: a server starts when its toolbox is opened or one of its tools is called.
    Leaving it ends all servers. It opens no port, handles no signals and does not watch the file. All
    methods belong to the event loop in which it was entered.
    """

    def __init__(
        self,
        config: Mapping[str, object] | StrPath,
        *,
        environ: Mapping[str, str] | None = None,
        deciders: Sequence[Decider] = (),
        observers: Sequence[Observer] = (),
    ) -> None:
        """Take a configuration: a dict of the same form as the file, or a path. Raises ConfigError.

        `environ` stands in for `os.environ`. Each call asks the `deciders` first, and is reported to the
        `observers`.
        """
        self._environ = os.environ if environ is None else environ
        self._loaded = load_config(config, self._environ)
        self._deciders = deciders
        self._observers = observers
        self._service: Service | None = None
        self._view: ClientView | None = None
        self._is_closed = False
        self._in_flight: set[PendingCall] = set()
        self._openings: set[asyncio.Task[Opening]] = set()

    @classmethod
    def load(
        cls,
        path: StrPath,
        *,
        environ: Mapping[str, str] | None = None,
        deciders: Sequence[Decider] = (),
        observers: Sequence[Observer] = (),
    ) -> Self:
        """Load the configuration file at `path`. Raises ConfigError, which names all problems in it.

        The keyword arguments are those of `Workbench`.
        """
        return cls(path, environ=environ, deciders=deciders, observers=observers)

    async def __aenter__(self) -> Self:
        """Open the workbench. No server starts."""
        if self._service is not None:
            raise RuntimeError(ENTERED_BEFORE)
        log_handler = masking_handler()
        begin(self._loaded, self._environ, log_handler)
        self._service = Service(
            self._loaded, self._environ, log_handler, deciders=self._deciders, observers=self._observers
        )
        self._view = ClientView(self._service.workbench, takes_whole_results=True)
        self._service.workbench.warm_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel the calls in flight and end all servers, in parallel."""
        service = self._service
        if service is None or self._is_closed:
            raise RuntimeError(NOT_ENTERED)
        self._is_closed = True
        for pending in list(self._in_flight):
            pending.close()
        for opening in self._openings:
            opening.cancel()
        closing = asyncio.create_task(service.close())
        try:
            await outcome_of(closing)
        except asyncio.CancelledError:
            # Nothing waits for a good end any more, but no process may be left behind.
            service.workbench.kill()
            await closing
            raise

    @property
    def toolboxes(self) -> list[ToolboxSummary]:
        """The name, the description and the number of servers of each toolbox."""
        return self._client_view().summaries()

    @property
    def call_counts(self) -> dict[tuple[str, str, str], ToolCounts]:
        """The calls that have ended so far, by toolbox, server and tool. They stay readable after the end."""
        if self._service is None:
            raise RuntimeError(NOT_ENTERED)
        return self._service.counts.snapshot()

    async def open(self, toolbox: str) -> OpenResult:
        """Connect the servers of a toolbox, all at once, and return their tools.

        Servers that fail or are not ready within `openDeadline` are named in the result. Raises
        ToolboxNotFound, and OpeningFailed if no server could be started, or not one that is required.
        """
        opening = asyncio.create_task(self._client_view().open(toolbox, modern=PROGRAM.is_modern))
        self._openings.add(opening)
        try:
            return read_opening(await opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_closed and task is not None and not task.cancelling():
                raise RuntimeError(CLOSED) from None  # the opening was cancelled, and not the program's task
            raise
        finally:
            self._openings.discard(opening)

    async def find(self, query: str, *, limit: int = DEFAULT_LIMIT, toolbox: str | None = None) -> FindResult:
        """Search the tools that are known, in one toolbox or in all. This starts no server.

        Raises ToolboxNotFound, and InvalidCall if the query is empty or too long, or `limit` out of range.
        """
        view = self._client_view()
        if not query.strip():
            raise InvalidCall("Invalid arguments: query is empty: say what to find")
        wanted = read_open(encode({"query": query, "limit": limit}), [])
        return read_findings(await view.find(wanted.queries, wanted.limit, toolbox))

    async def call(
        self,
        toolbox: str,
        server: str,
        tool: str,
        arguments: Mapping[str, object] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the server is told why the call is cancelled
        on_progress: OnProgress | None = None,
    ) -> CallResult:
        """Call a tool, and return its result. A server that is not running is started first.

        A tool that fails returns a result with `is_error`. Raises ToolboxNotFound, ServerNotFound,
        ToolNotFound, CallRefused if a decider refuses the call, ExecutionFailed if the server does not
        deliver, TypeError if the arguments are not JSON data, and TimeoutError after `timeout` seconds.
        `on_progress` is called with each ProgressReport. To cancel the call, cancel the task that awaits it:
        the server is told.
        """
        view = self._client_view()
        given = encode(dict(arguments or {}))
        try:
            toolbox_server = view.toolbox_server(toolbox, server)
        except CallError as error:
            lost = LostCall(TOOLS_CALL, (toolbox, server), tool, view.principal.name, "", given)
            view.door.turn_away(lost, error)
            raise
        pending = PendingCall(on_progress)
        pending.call = AwaitedCall(PROGRAM, view, toolbox_server, tool, given, {}, pending)
        self._in_flight.add(pending)
        deadline = asyncio.timeout(timeout)
        try:
            async with deadline:
                pending.call.begin()
                return await pending.result
        except asyncio.CancelledError:
            pending.cancel()
            raise
        except TimeoutError:
            if not deadline.expired():
                raise  # of the program's own, in `on_progress`
            pending.cancel("timed out", "timed_out")
            raise TimeoutError(f"{toolbox}/{server}/{tool} gave no result within {timeout:g} s") from None
        finally:
            self._in_flight.discard(pending)

    def _client_view(self) -> ClientView:
        if self._view is None:
            raise RuntimeError(NOT_ENTERED)
        if self._is_closed:
            raise RuntimeError(CLOSED)
        return self._view
