"""The resources, prompts and completions of the suite."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from mcp.server.mcpserver import Context  # noqa: TC002 - the SDK reads the annotations
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)

from tests.servers.conformance.offer import ask, form, prompt, server, told
from tests.servers.conformance.plain_tools import PICTURE, embedded

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PICTURE)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:  # noqa: A002 - the template's own name for it
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@prompt
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's name
    return [
        UserMessage(embedded(resourceUri, "Embedded resource content for testing.")),
        UserMessage(TextContent(text="Please process the embedded resource above.")),
    ]


@prompt
def test_prompt_with_image() -> list[UserMessage]:
    return [
        UserMessage(ImageContent(data=PICTURE, mime_type="image/png")),
        UserMessage(TextContent(text="Please analyze the image above.")),
    ]


@prompt
async def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
    question = form("What context should the prompt use?", context={"type": "string"})
    answers = await ask(ctx, {"user_context": question})
    return answers if isinstance(answers, InputRequiredResult) else told(answers["user_context"])


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator] # the SDK has no types here
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    return Completion(values=[f"{argument.value}…"], total=1, has_more=False)


async def agree(ctx: ServerRequestContext, params: object) -> EmptyResult:
    return EmptyResult()


# MCPServer leaves these three of the legacy era to the server underneath it.
for method, kind in (
    ("logging/setLevel", SetLevelRequestParams),
    ("resources/subscribe", SubscribeRequestParams),
    ("resources/unsubscribe", UnsubscribeRequestParams),
):
    server._lowlevel_server.add_request_handler(method, kind, agree)
