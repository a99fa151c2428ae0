"""Questions that a server may ask, whole, with members that nobody has heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.client import Json

ROOTS: Json = {"method": "roots/list"}


def form(message: str = "Your name?", **members: object) -> Json:
    schema = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
    params = {"mode": "form", "message": message, "requestedSchema": schema, "x-unknown": {"kept": [1.5]}}
    return {"method": "elicitation/create", "params": params, **members}


def url(elicitation: str = "e-1", address: str = "https://example.org/sign-in?a=%20b") -> Json:
    """As a legacy server asks it; a modern one gives no `elicitationId`."""
    params = {"mode": "url", "message": "Sign in", "url": address, "elicitationId": elicitation}
    return {"method": "elicitation/create", "params": params}


def sample(text: str = "tea", **params: object) -> Json:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    asked = {"messages": messages, "maxTokens": 100, "temperature": 0.5, "x-unknown": None, **params}
    return {"method": "sampling/createMessage", "params": asked}


def shown(question: Json, server: str) -> Json:
    """The question as a person is shown it: it names the server that asks, and the host that a URL opens."""
    params = question["params"]
    label = f"[dev/{server}]"
    if question["method"] == "sampling/createMessage":
        told = {"systemPrompt": f"{label} {params.get('systemPrompt', '')}".strip()}
    else:
        host = "(opens example.org) " if params.get("mode") == "url" else ""
        told = {"message": f"{label} {host}{params['message']}"}
    return {**question, "params": {**params, **told}}


def sample_with_tools() -> Json:
    tool = {"name": "weather", "description": "Tells it", "inputSchema": {"type": "object"}, "x-unknown": 1}
    return sample("the weather", tools=[tool], toolChoice={"mode": "required"})
