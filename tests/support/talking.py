"""A client that can be asked, in either era, so that one test body runs over both.

A legacy client answers requests that are pushed to it; a modern one answers `input_required` by making the
same request again. What it says to a question is `respond`'s, and what it was asked is written down.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.sessions import result_of

if TYPE_CHECKING:
    from tests.support.client import Json, Respond
    from tests.support.sessions import Era, Session

ROOTS = [{"uri": "file:///home/ada/project", "name": "Ada's project", "x-unknown": {"kept": 1}}]


def able(era: Era) -> Json:
    """The capabilities of a client that can be asked anything."""
    told_of_roots = {"listChanged": True} if era == "legacy" else {}
    return {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": told_of_roots,
    }


def oblige(question: Json) -> Json:
    """Says yes to everything, and repeats what the server asked, so that a crossed answer shows."""
    params = question.get("params", {})
    if question["method"] == "roots/list":
        return {"result": {"roots": ROOTS}}
    if question["method"] == "sampling/createMessage":
        said = {"type": "text", "text": f"on {params['messages'][0]['content']['text']}"}
        sampled = {"role": "assistant", "content": said, "model": "raw-model", "stopReason": "endTurn"}
        return {"result": {**sampled, "x-unknown": [1.5, None]}}
    if params.get("mode") == "url":
        return {"result": {"action": "accept"}}
    said = {"said": without_origin(params["message"])}
    return {"result": {"action": "accept", "content": said, "x-unknown": {"kept": True}}}


def without_origin(message: str) -> str:
    """A message as the server has written it, without the server's name that the workbench puts before it."""
    return re.sub(r"^\[\w+/[\w-]+\] ", "", message)


class Talker:
    """A session whose client answers."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.respond: Respond = oblige
        self.asked: list[Json] = []
        self.rounds = 0
        """How often a modern client was told that input is required."""
        session.client.respond = self._consider

    def begin_anew(self) -> None:
        self.respond, self.asked, self.rounds = oblige, [], 0

    async def request(self, method: str, params: Json, meta: Json | None = None) -> Json:
        """The result, after as many rounds as it takes."""
        result = result_of(await self.session.request(method, params, meta))
        while result.get("resultType") == "input_required":
            again = {**params, **self.answers_to(result)}
            result = result_of(await self.session.request(method, again, meta))
        return result

    def answers_to(self, result: Json) -> Json:
        """What a modern client adds to the request that it makes again."""
        self.rounds += 1
        told = {"requestState": result["requestState"]} if "requestState" in result else {}
        if "inputRequests" not in result:
            return told
        answers = {key: self._consider(question) for key, question in result["inputRequests"].items()}
        return told | {"inputResponses": {key: answer["result"] for key, answer in answers.items() if answer}}

    def _consider(self, question: Json) -> Json | None:
        self.asked.append({name: question[name] for name in ("method", "params") if name in question})
        return self.respond(question)


def using(server: str, arguments: Json, *, tool: str = "converse", toolbox: str = "dev") -> Json:
    """The parameters of a `tools/call` that uses a tool of a server."""
    identifier = {"toolbox": toolbox, "server": server, "tool": tool}
    return {"name": "use_tool", "arguments": {"tool": identifier, "arguments": arguments}}
