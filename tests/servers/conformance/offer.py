"""The server itself, and how its tools put a question to the client in either era."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcp.server.session import ServerSession

MODERN = "2026-07-28"

Answer = CreateMessageResult | CreateMessageResultWithTools | ElicitResult | ListRootsResult

Kept = TypeVar("Kept", bound="Callable[..., Any]")

server = MCPServer("conformance", version="1")


def tool(function: Kept) -> Kept:
    """Offers a tool that says in its description what its name says: the suite wants one of each."""
    return server.tool(description=_words(function))(function)


def prompt(function: Kept) -> Kept:
    return server.prompt(description=_words(function))(function)


def _words(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ").capitalize()


async def ask(
    ctx: Context, questions: Mapping[str, InputRequest], state: str | None = None
) -> dict[str, Answer] | InputRequiredResult:
    """All the answers, or what to return to get them: a legacy client is asked in mid-call."""
    if ctx.protocol_version != MODERN:
        return {name: await _push(ctx, question) for name, question in questions.items()}
    answers = ctx.input_responses or {}
    if questions.keys() <= answers.keys():
        return {name: answers[name] for name in questions}
    return InputRequiredResult(input_requests=dict(questions), request_state=state)


async def _push(ctx: Context, question: InputRequest) -> Answer:
    session: ServerSession = ctx.session
    belonging = ServerMessageMetadata(related_request_id=ctx.request_id)
    match question:
        case CreateMessageRequest():
            return await session.send_request(question, CreateMessageResult, metadata=belonging)
        case ElicitRequest():
            return await session.send_request(question, ElicitResult, metadata=belonging)
        case ListRootsRequest():
            return await session.send_request(question, ListRootsResult, metadata=belonging)


def form(message: str, **properties: Any) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": []}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str) -> CreateMessageRequest:
    messages = [SamplingMessage(role="user", content=TextContent(text=prompt))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, max_tokens=100))


def told(answer: Answer) -> str:
    """An answer, in a line of text."""
    match answer:
        case ElicitResult():
            return f"action={answer.action}, content={answer.content}"
        case CreateMessageResult(content=TextContent(text=text)):
            return text
        case _:
            return answer.model_dump_json()
