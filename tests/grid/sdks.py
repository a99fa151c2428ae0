"""Official SDK clients that can be asked, each made to take the same steps.

What a client saw is a `Talk` of plain JSON, so that one test body runs over all of them.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types
from mcp import Client, MCPError

from tests.real.clients import LEGACY, MODERN, Program, parameters, plain
from tests.real.servers import NODE
from tests.servers.wares import RESERVED
from tests.support.talking import oblige
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import BaseModel

    from tests.support.client import Json
    from tests.support.sessions import Era

LOG_LEVEL = {RESERVED + "logLevel": "debug"}


@dataclass(frozen=True)
class Step:
    """One request of a client's: the name that the TypeScript SDK has for it, and its parameters."""

    verb: str
    params: Json


@dataclass(frozen=True)
class Talk:
    """What a client saw: for each step its result and its progress, and all that it was asked or told."""

    version: str
    results: list[Json]
    asked: list[Json]
    progress: list[list[Json]]
    logs: list[Json]


class Python:
    """The callbacks of a client on the Python SDK, which gives each a context by that name."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.logs: list[Json] = []

    def consider(self, method: str, params: BaseModel | None) -> Any:
        question: Json = {"method": method}
        if params is not None:
            question["params"] = plain(params)
        self.asked.append(question)
        return oblige(question)["result"]

    async def elicit(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG002
        return types.ElicitResult.model_validate(self.consider("elicitation/create", params))

    async def sample(
        self,
        context: object,  # noqa: ARG002
        params: types.CreateMessageRequestParams,
    ) -> types.CreateMessageResult:
        return types.CreateMessageResult.model_validate(self.consider("sampling/createMessage", params))

    async def list_roots(self, context: object) -> types.ListRootsResult:  # noqa: ARG002
        return types.ListRootsResult.model_validate(self.consider("roots/list", None))

    async def note(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(plain(params))


async def python(program: Program, steps: Sequence[Step], *, mode: str) -> Talk:
    """The `Client` of the Python SDK."""
    callbacks = Python()
    results: list[Json] = []
    progress: list[list[Json]] = []
    async with (
        asyncio.timeout(2 * PATIENCE),
        Client(
            parameters(program),
            mode=mode,
            elicitation_callback=callbacks.elicit,
            sampling_callback=callbacks.sample,
            list_roots_callback=callbacks.list_roots,
            logging_callback=callbacks.note,
            log_level="debug",
        ) as client,
    ):
        for step in steps:
            told: list[Json] = []
            try:
                results.append(plain(await _take(client, step, told)))
            except MCPError as error:
                results.append({"failure": str(error)})
            progress.append(told)
        return Talk(client.protocol_version, results, callbacks.asked, progress, callbacks.logs)


async def _take(client: Client, step: Step, told: list[Json]) -> BaseModel:
    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append({"progress": progress, "total": total, "message": message})

    match step.verb:
        case "callTool":
            arguments = step.params["arguments"]
            return await client.call_tool(step.params["name"], arguments, progress_callback=note)
        case "listResources":
            return await client.list_resources()
        case "listResourceTemplates":
            return await client.list_resource_templates()
        case "readResource":
            return await client.read_resource(step.params["uri"])
        case "listPrompts":
            return await client.list_prompts()
        case "getPrompt":
            return await client.get_prompt(step.params["name"], step.params["arguments"])
        case "complete":
            reference = types.PromptReference.model_validate(step.params["ref"])
            return await client.complete(reference, step.params["argument"])
    raise AssertionError(step)


async def typescript(
    program: Program, steps: Sequence[Step], *, sdk: Literal["v1", "v2"], negotiation: object = None
) -> Talk:
    """The `Client` of the TypeScript SDK, in a process of its own."""
    modern = isinstance(negotiation, dict)
    asking = [
        {"verb": step.verb, "params": {**step.params, "_meta": LOG_LEVEL} if modern else step.params}
        for step in steps
    ]
    plan = asdict(program) | {"sdk": sdk, "negotiation": negotiation, "steps": asking}
    pipe = asyncio.subprocess.PIPE
    node = await asyncio.create_subprocess_exec(
        "node", str(NODE / "talker.mjs"), stdin=pipe, stdout=pipe, stderr=pipe
    )
    async with asyncio.timeout(2 * PATIENCE):
        stdout, stderr = await node.communicate(json.dumps(plan).encode())
    assert node.returncode == 0, stderr.decode()
    return Talk(**json.loads(stdout))


@dataclass(frozen=True)
class Kind:
    """A client in one of its ways to connect."""

    name: str
    era: Era
    talk: Callable[[Program, Sequence[Step]], Awaitable[Talk]]

    @property
    def version(self) -> str:
        return MODERN if self.era == "modern" else LEGACY


PINNED = {"pin": MODERN}
KINDS = [
    Kind("Python SDK", "legacy", partial(python, mode="legacy")),
    Kind("Python SDK", "modern", partial(python, mode=MODERN)),
    Kind("TypeScript SDK v1", "legacy", partial(typescript, sdk="v1")),
    Kind("TypeScript SDK v2", "legacy", partial(typescript, sdk="v2", negotiation="legacy")),
    Kind("TypeScript SDK v2", "modern", partial(typescript, sdk="v2", negotiation=PINNED)),
]
