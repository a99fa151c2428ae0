"""What the conformance suite runs as the client under test: the workbench, and a user in front of it.

The suite starts this program with the address of a server of its own. The program configures that server,
starts the workbench over stdio, and acts through it: opens the toolbox, uses every tool, reads what there is
to read. Where the workbench says that a login is needed, the program runs the command that it names.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.login import log_in
from tests.support.client import RawClient, clean_environment, serve_command, write_config
from tests.support.configs import toolboxes
from tests.support.sessions import RpcError, Session, names, result_of, session_of

if TYPE_CHECKING:
    from tests.support.client import Json

MODERN = "2026-07-28"
METADATA = "https://conformance-test.local/client-metadata.json"
"""The client ID metadata document that the suite expects to be named."""

ROUNDS = 4
"""Of questions and answers, for one call."""
LOGINS = 3
"""More than these in one scenario, and the suite speaks of a loop."""

LOGIN = re.compile(r"mcp-workbench login ((?:'[^']*'|[^\s\"'\\])+(?: --scope (?:'[^']*'|[^\s\"'\\])+)?)")
"""The command that an error names, with what follows it."""

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
CONTEXT: Json = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))


class User:
    """Uses the one server there is, and logs in when told to."""

    def __init__(self, session: Session, config: Path, home: Path) -> None:
        self._session = session
        self._config = config
        self._home = home
        self._logins = 0

    async def open(self) -> list[Json]:
        """The tools of the server."""
        opened = await self._persist("open_toolbox", {"toolbox_name": "box", "detail": "full"})
        tools: list[Json] = opened["structuredContent"]["tools"]
        return tools

    async def use(self, tool: str, arguments: Json) -> Json:
        identifier = {"toolbox": "box", "server": "judge", "tool": tool}
        return await self._persist("use_tool", {"tool": identifier, "arguments": arguments})

    async def look_around(self) -> None:
        """Reads the first resource and the first prompt."""
        for resource in (await self._list("resources"))[:1]:
            await self._session.request("resources/read", {"uri": resource["uri"]})
        for prompt in (await self._list("prompts"))[:1]:
            await self._session.request("prompts/get", {"name": prompt["name"]})

    async def _list(self, kind: str) -> list[Json]:
        listed: list[Json] = result_of(await self._session.request(f"{kind}/list"))[kind]
        return listed

    async def _persist(self, name: str, arguments: Json) -> Json:
        """One call, and again after a login for as long as the answer asks for one."""
        while True:
            result = await self._call(name, arguments)
            said = json.dumps(result) if result.get("isError") else ""
            command = LOGIN.search(said)
            if command is None:
                if said and name == "open_toolbox":
                    raise SystemExit(f"{name} failed: {said}")
                return result
            if self._logins == LOGINS:
                raise SystemExit(f"still not logged in after {LOGINS} logins: {said}")
            self._logins += 1
            await log_in(self._config, shlex.split(command[1]), clean_environment(self._home))

    async def _call(self, name: str, arguments: Json) -> Json:
        """Answers the questions of a modern server: those of a legacy one come by themselves."""
        params: Json = {"name": name, "arguments": arguments}
        for _ in range(ROUNDS):
            result = result_of(await self._session.request("tools/call", params))
            if result.get("resultType") != "input_required":
                return result
            asked = result.get("inputRequests", {})
            params |= {"inputResponses": {key: answer(question) for key, question in asked.items()}}
            params |= {key: result[key] for key in ("requestState",) if key in result}
        raise SystemExit(f"{name} asks and asks")


def answer(question: Json) -> Json:
    """What a user says who agrees to everything."""
    match question["method"]:
        case "elicitation/create":
            fields = question["params"].get("requestedSchema", {}).get("properties", {})
            return {"action": "accept", "content": {name: example(field) for name, field in fields.items()}}
        case "sampling/createMessage":
            said = {"type": "text", "text": "Hello"}
            return {"role": "assistant", "content": said, "model": "a-model", "stopReason": "endTurn"}
        case _:
            return {"roots": []}


def example(schema: Json) -> object:
    """A value that the schema allows, its default first of all."""
    if "default" in schema:
        return schema["default"]
    kinds = {"string": "x", "integer": 5, "number": 5, "boolean": True, "array": [], "object": {}}
    return kinds.get(schema.get("type", ""), "x")


def arguments_for(tool: Json) -> Json:
    schema = tool["inputSchema"]
    fields = schema.get("properties", {})
    return {name: example(fields.get(name, {})) for name in schema.get("required", [])}


def entry(url: str, home: Path) -> Json:
    """The server as a user writes it down."""
    told: Json = {"clientMetadataUrl": METADATA}
    if "client_id" in CONTEXT:
        told = {"clientId": CONTEXT["client_id"]}
    if "client_secret" in CONTEXT:
        told["clientSecret"] = CONTEXT["client_secret"]
    if "private_key_pem" in CONTEXT:
        key = home / "key.pem"
        key.write_text(CONTEXT["private_key_pem"], encoding="utf-8")
        told["privateKeyFile"] = str(key)
    if "client-credentials" in SCENARIO:
        told["grant"] = "client_credentials"
    return {"url": url, **({"oauth": told} if SCENARIO.startswith("auth/") else {})}


async def act(user: User) -> None:
    tools = await user.open()
    if SCENARIO == "json-schema-2020-12-preservation":
        (focal,) = [tool for tool in tools if tool["name"] == "json_schema_2020_12_tool"]
        await user.use("json_schema_echo", {"schema": focal["inputSchema"]})
    elif "toolCalls" in CONTEXT:
        for call in CONTEXT["toolCalls"]:
            if call["name"] in names(tools):
                await user.use(call["name"], call.get("arguments") or {})
    else:
        for tool in tools:
            await user.use(tool["name"], arguments_for(tool))
        if tools and not SCENARIO.startswith("auth/"):
            await user.look_around()


async def main(url: str) -> None:
    era = "modern" if os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] == MODERN else "legacy"
    with tempfile.TemporaryDirectory(prefix="judged-") as directory:
        home = Path(directory)
        config = write_config(home, toolboxes(box={"judge": entry(url, home)}))
        async with RawClient(serve_command(config), clean_environment(home)) as client:
            client.respond = lambda asked: {"result": answer(asked)}
            session = session_of("modern" if era == "modern" else "legacy", client)
            session.capabilities = {"elicitation": {}, "sampling": {}, "roots": {}}
            await session.greet()
            try:
                await act(User(session, config, home))
            except RpcError as error:
                raise SystemExit(f"an answer that is an error: {error}") from None
            finally:
                print(client.stderr, file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
