"""What servers ask in mid-call, and the answers: made from a name, so that both ends know what is right."""

from __future__ import annotations

from soak import bodies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

ELICITATION = "elicitation/create"
SAMPLING = "sampling/createMessage"
ROOTS = "roots/list"
METHODS = (ELICITATION, SAMPLING, ROOTS)
CAPABILITIES: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
"""What the client declares in either era. That it can sample with tools it does not say."""
NAME = "soak/question"
"""Where a question has its name, in its metadata: a request for roots has no other place for it."""
SCHEMA: Json = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
ASKED = 120
"""Characters of a question."""


def name_of(token: str, number: int) -> str:
    """The name of a call's question."""
    return f"{token}.{number}"


def question(name: str, method: str) -> Json:
    """The parameters of a question."""
    text = bodies.text(f"{name} asks", ASKED)
    meta = {NAME: name}
    if method == ELICITATION:
        return {"mode": "form", "message": text, "requestedSchema": SCHEMA, "_meta": meta}
    if method == SAMPLING:
        prompt = {"role": "user", "content": {"type": "text", "text": text}}
        return {"messages": [prompt], "maxTokens": 100, "_meta": meta}
    return {"_meta": meta}


def shown(name: str, method: str, label: str) -> Json:
    """The parameters as the client gets them: what a person reads names the server that asks."""
    params = question(name, method)
    if method == ELICITATION:
        return {**params, "message": f"[{label}] {params['message']}"}
    return {**params, "systemPrompt": f"[{label}]"} if method == SAMPLING else params


def answer(name: str, method: str, size: int) -> Json:
    """The answer to it, of about so many characters; to decline, of none."""
    text = bodies.text(f"{name} answers", size)
    if method == ELICITATION:
        return {"action": "accept", "content": {"answer": text}} if size else {"action": "decline"}
    if method == SAMPLING:
        return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "soak"}
    return {"roots": [{"uri": f"file:///{name}", "name": text}] if size else []}
