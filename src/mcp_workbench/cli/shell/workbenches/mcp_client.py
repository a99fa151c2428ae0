"""A modern MCP client for the shell: requests to a workbench, progress, log messages and questions.

Owns the messages. `WorkbenchConnection` transports them, and `answer` puts the questions to a person. A
legacy server's questions arrive in the same form, because the workbench translates between the versions.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench import __version__
from mcp_workbench.errors import BadAnswer, RemoteError
from mcp_workbench.protocol import names
from mcp_workbench.protocol.caller import PROGRAM_EXTENSION
from mcp_workbench.surface.metatools import OPEN_TOOLBOX, USE_TOOL
from mcp_workbench.wire.message import ABSENT, decode_members, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_workbench.cli.shell.workbenches.connection import WorkbenchConnection
    from mcp_workbench.surface.use_request import ToolId

    Json = dict[str, Any]

ELICITATION: Final[dict[str, object]] = {"form": {}, "url": {}}
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 5.0
"""Longest pause before a call is repeated because its server wants that, and asks for nothing."""
MAX_ROUNDS: Final = 100
"""Times that a call is sent, because its server asks for something or wants to be called again."""


class ServerQuestion(msgspec.Struct, frozen=True):
    """A request of a server for input, in the middle of a call."""

    method: str
    params: dict[str, Any] = {}


class _Error(msgspec.Struct):
    code: int
    message: str
    data: msgspec.Raw = ABSENT


class _Response(msgspec.Struct):
    result: msgspec.Raw = ABSENT
    error: _Error | None = None


class _Notification(msgspec.Struct):
    method: str = ""
    params: dict[str, Any] = {}


class _Asked(msgspec.Struct):
    kind: str = msgspec.field(default="complete", name="resultType")
    requests: dict[str, ServerQuestion] = msgspec.field(default_factory=dict, name="inputRequests")
    state: msgspec.Raw = msgspec.field(default=ABSENT, name="requestState")


class _Property(msgspec.Struct):
    enum: list[str] = []


class _Schema(msgspec.Struct):
    properties: dict[str, _Property] = {}


class _MetaTool(msgspec.Struct):
    name: str
    schema: _Schema = msgspec.field(default_factory=_Schema, name="inputSchema")


class _Tools(msgspec.Struct):
    tools: list[_MetaTool] = []


_decode_response = msgspec.json.Decoder(_Response).decode
_decode_notification = msgspec.json.Decoder(_Notification).decode
_decode_asked = msgspec.json.Decoder(_Asked).decode
_decode_tools = msgspec.json.Decoder(_Tools).decode


async def _decline(_: ServerQuestion) -> Json:
    return {"action": "decline"}


def _ignore(_: Json) -> None: ...


class McpClient:
    """A client of one workbench. Its callbacks take what arrives while a request is in flight."""

    def __init__(
        self,
        workbench: WorkbenchConnection,
        *,
        answer: Callable[[ServerQuestion], Awaitable[Json]] = _decline,
        on_progress: Callable[[Json], None] = _ignore,
        on_log: Callable[[Json], None] = _ignore,
        log_level: str | None = None,
        timeout: float | None = None,
        is_attended: bool = False,
    ) -> None:
        """Take a connection and callbacks. `is_attended` tells whether a person gives the answers."""
        self._workbench = workbench
        self._answer = answer
        self._callbacks = {"notifications/progress": on_progress, "notifications/message": on_log}
        self._timeout = timeout
        self._numbers = itertools.count(1)
        self._meta = {
            names.META_VERSION: names.MODERN,
            names.META_CLIENT: {"name": "mcp-workbench-cli", "version": __version__},
            names.META_CAPABILITIES: {
                "elicitation": ELICITATION,
                "extensions": {PROGRAM_EXTENSION: {"attended": is_attended}},
            },
            **({} if log_level is None else {names.META_LOG_LEVEL: log_level}),
        }

    async def use_tool(self, tool: ToolId, arguments: msgspec.Raw) -> msgspec.Raw:
        """Call a tool of a server, and return its result as it came. Questions are answered meanwhile.

        Raises WireError (RemoteError if the workbench refuses or the server fails), and TimeoutError.
        """
        return await self.call(USE_TOOL, {"tool": tool, "arguments": arguments})

    async def call(self, name: str, arguments: dict[str, object]) -> msgspec.Raw:
        """Call a meta-tool, and return its result. Raises WireError and TimeoutError."""
        params: dict[str, object] = {"name": name, "arguments": arguments}
        wait = FIRST_WAIT_SECONDS
        for _ in range(MAX_ROUNDS):
            result = await self._request(names.TOOLS_CALL, params)
            asked = _read_asked(result)
            if asked is None:
                return result
            if asked.requests:
                responses = {key: await self._answer(each) for key, each in asked.requests.items()}
            else:
                responses = {}
                await asyncio.sleep(wait)
                wait = min(2 * wait, MAX_WAIT_SECONDS)
            state = {"requestState": asked.state} if asked.state else {}
            params = {"name": name, "arguments": arguments, "inputResponses": responses, **state}
        raise BadAnswer(f"it has asked for input {MAX_ROUNDS} times, and still asks for more")

    async def toolbox_names(self) -> list[str]:
        """Return the names of the toolboxes, which are in the input schema of `open_toolbox`."""
        result = await self._request("tools/list", {})
        try:
            tools = _decode_tools(result).tools
        except msgspec.MsgspecError:
            tools = []
        for tool in tools:
            if tool.name == OPEN_TOOLBOX:
                return tool.schema.properties.get("toolbox_name", _Property()).enum
        raise BadAnswer("it is not an MCP Workbench")

    async def _request(self, method: str, params: dict[str, object]) -> msgspec.Raw:
        number = next(self._numbers)
        meta = {**self._meta, names.META_PROGRESS: number}
        async with asyncio.timeout(self._timeout):
            line = await self._workbench.exchange(
                number, method, encode({**params, "_meta": meta}), self._on_message
            )
        try:
            response = _decode_response(line)
        except msgspec.MsgspecError as error:
            raise BadAnswer(f"its answer cannot be read: {error}") from None
        if response.error is not None:
            data = bytes(response.error.data) or None
            raise RemoteError(response.error.code, response.error.message, data)
        return response.result

    def _on_message(self, line: bytes) -> None:
        try:
            message = _decode_notification(line)
        except msgspec.MsgspecError:
            return
        if (callback := self._callbacks.get(message.method)) is not None:
            callback(message.params)


def _read_asked(result: msgspec.Raw) -> _Asked | None:
    """Return what a result asks for; None if it is the result of the call."""
    try:
        if "resultType" not in decode_members(result):
            return None
        asked = _decode_asked(result)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return asked if asked.kind == "input_required" else None
