"""A server written with the official Python SDK, which serves either era: as its client opens.

Its tools ask as the SDK has it: by pushed requests in the legacy era, by `input_required` in the modern one.
"""

from __future__ import annotations

import warnings
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

MODERN = "2026-07-28"
NOTE = "note://today"

server = MCPServer("official")


class Answer(BaseModel):
    """What a form asks for."""

    said: str


def ask_name() -> Elicit[Answer]:
    return Elicit("Your name?", Answer)


def ask_more(name: Annotated[Answer, Resolve(ask_name)]) -> Elicit[Answer]:
    return Elicit(f"And then, {name.said}?", Answer)


def sample() -> Sample:
    content = TextContent(type="text", text="tea")
    return Sample([SamplingMessage(role="user", content=content)], max_tokens=10)


def list_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def greet(name: Annotated[Answer, Resolve(ask_name)]) -> str:
    return f"Hello, {name.said}"


@server.tool()
def interview(name: Annotated[Answer, Resolve(ask_name)], more: Annotated[Answer, Resolve(ask_more)]) -> str:
    return f"{name.said}, {more.said}"


@server.tool()
def think(thought: Annotated[CreateMessageResult, Resolve(sample)]) -> str:
    assert isinstance(thought.content, TextContent)
    return thought.content.text


@server.tool()
def look_around(found: Annotated[ListRootsResult, Resolve(list_roots)]) -> str:
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
async def visit(ctx: Context) -> str | InputRequiredResult:
    """Sends the user to an address, which the SDK leaves to its user in the modern era."""
    message, url = "Sign in", "https://example.org/sign-in"
    if ctx.protocol_version != MODERN:
        return (await ctx.elicit_url(message, url, "e-1")).action
    if ctx.input_responses is None:
        question = ElicitRequest(params=ElicitRequestURLParams(message=message, url=url))
        return InputRequiredResult(input_requests={"visit": question}, request_state="visiting")
    answer = ctx.input_responses["visit"]
    assert isinstance(answer, ElicitResult)
    return answer.action


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await anyio.sleep(0.05)  # some clients lose what arrives together with the answer
    return "counted"


@server.tool()
async def mutter(ctx: Context) -> str:
    with warnings.catch_warnings(action="ignore"):  # the SDK discourages what legacy servers still do
        await ctx.debug("a trifle", logger_name="db")
        await ctx.error({"code": 7})
    return "said"


@server.tool()
async def rewrite(ctx: Context) -> str:
    """Tells of a changed resource, and of changed lists."""
    if ctx.protocol_version == MODERN:
        await ctx.notify_resource_updated(NOTE)
        await ctx.notify_prompts_changed()
    else:
        await ctx.session.send_prompt_list_changed()
    return "rewritten"


@server.resource(NOTE)
def note() -> str:
    return "Nothing today"


@server.resource("note://{day}/page")
def page(day: str) -> str:
    return f"The page of {day}"


@server.prompt()
def review(language: str) -> str:
    return f"Review this {language}"


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator] # the SDK has no types here
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    name = ref.name if isinstance(ref, PromptReference) else ref.uri
    return Completion(values=[f"{name} {argument.name} {argument.value}"])


if __name__ == "__main__":
    server.run()
