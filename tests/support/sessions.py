"""The two eras of the protocol as a client speaks them, so that one test body runs over both."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from tests.servers.scripted import MODERN_VERSION, RESERVED
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.client import Json, RawClient, Reply

Era = Literal["legacy", "modern"]

CLIENT_INFO = {"name": "raw-client", "version": "0"}
NEWEST_LEGACY = "2025-11-25"


class RpcError(AssertionError):
    """The workbench answered with a JSON-RPC error where a result was expected."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.error = error


class Session(ABC):
    """A client of one era on a connection that others may share."""

    era: ClassVar[Era]

    def __init__(self, client: RawClient, version: str) -> None:
        self.client = client
        self.version = version
        self.capabilities: Json = {}
        self.greeting: Json = {}

    @abstractmethod
    async def greet(self) -> Json:
        """Learns about the server, as the era does it; the result is that of the handshake or discovery."""

    @abstractmethod
    def stamp(self, meta: Json | None) -> Json:
        """The `_meta` of a request."""

    async def begin(
        self, method: str, params: str = "{}", meta: Json | None = None, request_id: object = None
    ) -> asyncio.Future[Reply]:
        stamped = self.stamp(meta)
        if stamped:
            comma = "" if params == "{}" else ","
            params = f'{params[:-1]}{comma}"_meta":{json.dumps(stamped)}}}'
        return await self.client.begin(method, params, request_id)

    async def exchange(
        self, method: str, params: str = "{}", meta: Json | None = None, request_id: object = None
    ) -> Reply:
        answer = await self.begin(method, params, meta, request_id)
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def request(self, method: str, params: Json | None = None, meta: Json | None = None) -> Json:
        """The whole response object."""
        return (await self.exchange(method, json.dumps(params or {}), meta)).message

    async def list_tools(self) -> list[Json]:
        tools: list[Json] = result_of(await self.request("tools/list"))["tools"]
        return tools

    async def call(self, name: str, arguments: Json, meta: Json | None = None) -> Json:
        """The result of one of the workbench's own tools."""
        return result_of(await self.request("tools/call", {"name": name, "arguments": arguments}, meta))

    async def open_toolbox(self, name: str, **how: object) -> Json:
        return await self.call("open_toolbox", {"toolbox_name": name, **how})

    async def use_tool(
        self, toolbox: str, server: str, tool: str, arguments: Json | None = None, meta: Json | None = None
    ) -> Json:
        reply = await self.use_tool_raw(toolbox, server, tool, json.dumps(arguments or {}), meta)
        return result_of(reply.message)

    async def use_tool_raw(
        self, toolbox: str, server: str, tool: str, arguments: str, meta: Json | None = None
    ) -> Reply:
        """The same, with the arguments as raw text and the line of the answer."""
        answer = await self.begin_tool(toolbox, server, tool, arguments, meta=meta)
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def begin_tool(
        self,
        toolbox: str,
        server: str,
        tool: str,
        arguments: str = "{}",
        *,
        meta: Json | None = None,
        request_id: object = None,
    ) -> asyncio.Future[Reply]:
        identifier = json.dumps({"toolbox": toolbox, "server": server, "tool": tool})
        params = f'{{"name":"use_tool","arguments":{{"tool":{identifier},"arguments":{arguments}}}}}'
        return await self.begin("tools/call", params, meta, request_id)


class LegacySession(Session):
    """Requests after an `initialize` handshake."""

    era = "legacy"

    def __init__(self, client: RawClient, version: str = NEWEST_LEGACY) -> None:
        super().__init__(client, version)

    async def greet(self) -> Json:
        params = {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": CLIENT_INFO,
        }
        self.greeting = result_of(await self.client.request("initialize", params))
        await self.client.notify("notifications/initialized")
        return self.greeting

    def stamp(self, meta: Json | None) -> Json:
        return meta or {}


class ModernSession(Session):
    """Requests that each carry version, identity and capabilities; there is no handshake."""

    era = "modern"

    def __init__(self, client: RawClient, version: str = MODERN_VERSION) -> None:
        super().__init__(client, version)

    async def greet(self) -> Json:
        self.greeting = result_of(await self.request("server/discover"))
        return self.greeting

    def stamp(self, meta: Json | None) -> Json:
        return {
            RESERVED + "protocolVersion": self.version,
            RESERVED + "clientInfo": CLIENT_INFO,
            RESERVED + "clientCapabilities": self.capabilities,
            **(meta or {}),
        }


def session_of(era: Era, client: RawClient) -> Session:
    return ModernSession(client) if era == "modern" else LegacySession(client)


def result_of(message: Json) -> Json:
    if "error" in message:
        raise RpcError(message["error"])
    result: Json = message["result"]
    return result


def text_of(result: Json) -> str:
    """The one piece of text that a successful result holds."""
    assert result.get("isError", False) is False, result
    return _only_text(result)


def failure_of(result: Json) -> str:
    """The text of a result that says it is an error."""
    assert result.get("isError") is True, result
    return _only_text(result)


def names(tools: Sequence[Json]) -> list[str]:
    return [tool["name"] for tool in tools]


def _only_text(result: Json) -> str:
    (content,) = result["content"]
    text: str = content["text"]
    return text
