"""The tools that ask the client: elicitation, sampling, roots, in one round and in several."""

from __future__ import annotations

import json

from mcp.server.mcpserver import Context  # noqa: TC002 - the SDK reads the annotations
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
)

from tests.servers.conformance.offer import MODERN, ask, form, sample, told, tool

TEXT = {"type": "string"}
YES_OR_NO = {"type": "boolean"}


async def ask_and_tell(
    ctx: Context, state: str | None = None, **questions: InputRequest
) -> str | InputRequiredResult:
    answers = await ask(ctx, questions, state)
    return answers if isinstance(answers, InputRequiredResult) else "; ".join(map(told, answers.values()))


@tool
async def test_sampling(prompt: str, ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, thought=sample(prompt))


@tool
async def test_elicitation(message: str, ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, response=form(message, response=TEXT))


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str | InputRequiredResult:
    question = form(
        "Please review the defaults",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await ask_and_tell(ctx, review=question)


@tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str | InputRequiredResult:
    titled = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
    plain = ["option1", "option2", "option3"]
    question = form(
        "Please select",
        untitledSingle={"type": "string", "enum": plain},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await ask_and_tell(ctx, selection=question)


@tool
async def test_streaming_elicitation(ctx: Context) -> str | InputRequiredResult:
    await ctx.report_progress(50, 100)
    return await ask_and_tell(ctx, value=form("A value?", value=TEXT))


@tool
async def test_missing_capability(ctx: Context) -> str:
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool samples",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "The client can sample"


@tool
async def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, user_name=form("What is your name?", name=TEXT))


@tool
async def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, capital_question=sample("What is the capital of France?"))


@tool
async def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, client_roots=ListRootsRequest())


@tool
async def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
    answer = await ask_and_tell(ctx, "pending", confirm=form("Please confirm", ok=YES_OR_NO))
    if isinstance(answer, str) and ctx.protocol_version == MODERN:
        assert ctx.request_state == "pending"
    return answer


@tool
async def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(ctx, "untouched", confirm=form("Please confirm", ok=YES_OR_NO))


@tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    return await ask_and_tell(
        ctx,
        "asked for three",
        user_name=form("What is your name?", name=TEXT),
        greeting=sample("Generate a greeting"),
        client_roots=ListRootsRequest(),
    )


@tool
async def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name, and then for a colour; the modern era keeps the name in the state."""
    name: object = json.loads(ctx.request_state or "{}").get("name")
    if name is None:
        first = await ask(
            ctx, {"step1": form("Step 1: What is your name?", name=TEXT)}, json.dumps({"round": 1})
        )
        if isinstance(first, InputRequiredResult):
            return first
        name = _field(first["step1"], "name")
    colour = {"step2": form("Step 2: What is your favorite color?", color=TEXT)}
    second = await ask(ctx, colour, json.dumps({"name": name}))
    if isinstance(second, InputRequiredResult):
        return second
    return f"{name} likes {_field(second['step2'], 'color')}"


@tool
async def test_input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
    """Asks for what the client can do, and for nothing else."""
    able = ctx.client_capabilities
    questions: dict[str, InputRequest] = {}
    if able and able.sampling is not None:
        questions["thought"] = sample("Say hello")
    if able and able.elicitation is not None:
        questions["name"] = form("What is your name?", name=TEXT)
    return await ask_and_tell(ctx, "asked", **questions)


def _field(answer: object, name: str) -> object:
    return answer.content.get(name) if isinstance(answer, ElicitResult) and answer.content else None
