"""A workbench that serves over HTTP already: one of this user's, or one that the user names."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.cli.shell.workbenches.connection import TOKEN_VARIABLE
from mcp_workbench.cli.shell.workbenches.mcp_client import McpClient
from mcp_workbench.config.model.workbench import LISTING_BUDGET_TOKENS, OPEN_DEADLINE_SECONDS
from mcp_workbench.downstream.remote.client import HttpClient
from mcp_workbench.downstream.remote.events import EventParser
from mcp_workbench.errors import BadAnswer, BadStatus, BrokenOff, Refused, StartError, ToolNotFound
from mcp_workbench.protocol.headers import NAMED_BY, encode_value
from mcp_workbench.protocol.names import MODERN
from mcp_workbench.surface.metatools import OPEN_TOOLBOX
from mcp_workbench.wire.lines import MAX_LINE_BYTES
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, request_line
from mcp_workbench.workbench.client_view import FoundTool, SearchFindings
from mcp_workbench.workbench.toolbox import Opening, Toolbox
from mcp_workbench.workbench.toolbox_server import KnownTools
from mcp_workbench.workbench.unconnected_server import UnconnectedServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp_workbench.cli.shell.workbenches.connection import OnMessage
    from mcp_workbench.downstream.remote.client import HttpResponse
    from mcp_workbench.wire.message import Body
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import Index, ToolboxServer

NO_TOKEN: Final = f"Put a token that it accepts into ${TOKEN_VARIABLE}"
STATUS_CHARACTERS: Final = 300
"""How much of the body is quoted of a response that is not JSON."""

_OUR_MEMBERS: Final = ("toolbox_name", "source_server", "listed", "description")


class ToldServer(UnconnectedServer):
    """A server of a workbench elsewhere, with the tools that the workbench lists for it."""

    reason = "it belongs to another workbench"

    def __init__(self, toolbox: str, name: str, index: Index) -> None:
        super().__init__((toolbox, name))
        self._index = index

    @property
    def is_up(self) -> bool:
        """Return True: the workbench has connected it to list its tools."""
        return True

    async def tools(self, *, modern: bool) -> Index:  # noqa: ARG002 - the same for both
        """Return the tools that the workbench lists for the server."""
        return self._index

    def known(self) -> KnownTools:
        """Return the tools that the workbench lists for the server."""
        return KnownTools(self._index, None)

    def definition(self, tool: str) -> msgspec.Raw | None:
        """Return the definition of a tool; None if the server has none of that name."""
        return self._index.get(tool)

    async def take(self, call: ServerCall) -> None:
        """Raise ToolNotFound: calls go to the workbench that has the server."""
        raise ToolNotFound(call.tool or "", self.name, self.origin[0], [])


class _Opened(msgspec.Struct):
    tools: list[msgspec.Raw] = []
    description: str = ""
    failed_servers: list[dict[str, Any]] = []
    starting_servers: list[dict[str, Any]] = []
    not_searched: dict[str, list[str]] = {}


class _Listed(msgspec.Struct):
    name: str
    toolbox_name: str
    source_server: str


_decode_opened = msgspec.json.Decoder(_Opened).decode
_decode_listed = msgspec.json.Decoder(_Listed).decode


class HttpWorkbench:
    """A workbench at a URL. Its toolboxes are those of the configuration, if that is known here too."""

    def __init__(self, http: HttpClient, toolboxes: Mapping[str, Toolbox] | None) -> None:
        self._http = http
        self._client = McpClient(self)
        self._has_own_toolboxes = toolboxes is None
        self._toolboxes = dict(toolboxes or {})

    @property
    def toolboxes(self) -> Mapping[str, Toolbox]:
        """The toolboxes of the configuration, or those that the workbench has told so far."""
        return self._toolboxes

    async def exchange(self, request_id: int, method: str, params: Body, on_message: OnMessage) -> bytes:
        """Send a request and return the line of its response. To cancel it, its connection is closed."""
        headers = [
            (b"Accept", b"application/json, text/event-stream"),
            (b"Content-Type", b"application/json"),
            (b"MCP-Protocol-Version", MODERN.encode()),
            (b"Mcp-Method", method.encode()),
        ]
        if (name := decode_members(params).get(NAMED_BY.get(method, ""))) is not None:
            headers.append((b"Mcp-Name", encode_value(decode_text(name) or "")))
        body = request_line(request_id, method, bytes(params))
        async with self._http.stream("POST", headers, body) as response:
            if response.content_type == "text/event-stream":
                return await _last_event(response, on_message)
            return await _body(response)

    async def open(self, toolbox: Toolbox, server: ToolboxServer | None) -> Opening:
        """Let the workbench open a toolbox, and return the tools of all its servers or of one."""
        answer = await self._open_toolbox({"toolbox_name": toolbox.name, "detail": "full"})
        found = {
            name: index
            for name, index in _by_server(answer.tools).items()
            if server is None or server.name == name
        }
        if self._has_own_toolboxes:
            servers = [ToldServer(toolbox.name, name, index) for name, index in found.items()]
            toolbox = _toolbox(toolbox.name, answer.description, servers)
            self._toolboxes[toolbox.name] = toolbox
        tools: list[tuple[ToolboxServer, Index]] = [
            (toolbox_server, found[name])
            for name, toolbox_server in toolbox.toolbox_servers.items()
            if name in found
        ]
        starting = [str(entry.get("server")) for entry in answer.starting_servers]
        return Opening(toolbox, tools, starting, [_failure(entry) for entry in answer.failed_servers])

    async def find(self, query: str, limit: int, toolbox: str | None) -> SearchFindings:
        """Let the workbench search the tools that it knows."""
        within = {} if toolbox is None else {"toolbox_name": toolbox}
        answer = await self._open_toolbox({"query": query, "limit": limit, "detail": "full", **within})
        found = [
            FoundTool((listed.toolbox_name, listed.source_server), listed.name, definition, None)
            for listed, definition in map(_read_tool, answer.tools)
        ]
        unknown = [(name, server) for name, servers in answer.not_searched.items() for server in servers]
        return SearchFindings([found], unknown)

    async def list_toolboxes(self) -> None:
        """Ask the workbench for the names of its toolboxes. Raises WireError."""
        for name in await self._client.toolbox_names():
            self._toolboxes[name] = _toolbox(name, "", [])

    async def _open_toolbox(self, arguments: dict[str, object]) -> _Opened:
        answer = await self._client.call(OPEN_TOOLBOX, arguments)
        try:
            return _decode_opened(decode_members(answer).get("structuredContent", msgspec.Raw(b"{}")))
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"its list of tools cannot be read: {error}") from None


@asynccontextmanager
async def http_workbench(
    url: str, token: str | None, toolboxes: Mapping[str, Toolbox] | None = None
) -> AsyncIterator[HttpWorkbench]:
    """Use the workbench at a URL. Without `toolboxes` it is asked which it has. Raises WireError."""
    http = HttpClient(url, {"Authorization": f"Bearer {token}"} if token else {}, None)
    try:
        workbench = HttpWorkbench(http, toolboxes)
        if toolboxes is None:
            await workbench.list_toolboxes()
        yield workbench
    finally:
        await http.close()


async def _last_event(response: HttpResponse, on_message: OnMessage) -> bytes:
    """Pass on the notifications of a stream, and return the response that ends it."""
    parser = EventParser(MAX_LINE_BYTES)
    while chunk := await response.chunk():
        for event in parser.feed(chunk):
            line = bytes(event.data)
            if "method" not in decode_members(line):
                return line
            on_message(line)
    raise BrokenOff("the workbench ended the connection before it had answered")


async def _body(response: HttpResponse) -> bytes:
    """Return the body of a response that is JSON. Raises WireError for any other."""
    body = b""
    while chunk := await response.chunk():
        body += chunk
        if len(body) > MAX_LINE_BYTES:
            raise BadAnswer("its answer is too long")
    text = body[:STATUS_CHARACTERS].decode(errors="replace").strip()
    if response.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise Refused(f"the workbench refuses: HTTP status {response.status}", NO_TOKEN)
    if response.content_type == "application/json" and "jsonrpc" in decode_members(body):
        return body
    raise BadStatus(response.status, f"no MCP Workbench answers there: HTTP status {response.status}, {text}")


def _toolbox(name: str, description: str, servers: list[ToldServer]) -> Toolbox:
    return Toolbox(
        name,
        description,
        servers,
        [],
        open_deadline=OPEN_DEADLINE_SECONDS,
        listing_budget=LISTING_BUDGET_TOKENS,
    )


def _by_server(tools: list[msgspec.Raw]) -> dict[str, dict[str, msgspec.Raw]]:
    found: dict[str, dict[str, msgspec.Raw]] = {}
    for listed, definition in map(_read_tool, tools):
        found.setdefault(listed.source_server, {})[listed.name] = definition
    return found


def _read_tool(shown: msgspec.Raw) -> tuple[_Listed, msgspec.Raw]:
    """Return the names of a tool in a listing, and its definition as its server has it. Raises BadAnswer."""
    try:
        listed, members = _decode_listed(shown), decode_members(shown)
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"its list of tools cannot be read: {error}") from None
    origin = f"[{listed.toolbox_name}/{listed.source_server}]"
    text = (decode_text(members.get("description", ABSENT)) or "").removeprefix(origin)
    description = {"description": text.removeprefix(" ")} if text else {}
    others = {key: value for key, value in members.items() if key not in _OUR_MEMBERS}
    return listed, msgspec.Raw(encode({"name": listed.name, **description, **others}))


def _failure(entry: dict[str, Any]) -> StartError:
    server = str(entry.get("server"))
    reason = str(entry.get("error", "")).removeprefix(str(StartError(server, "")))
    return StartError(
        server,
        reason,
        stderr=[str(line) for line in entry.get("stderr", ())],
        hint=str(entry.get("hint", "")),
    )
