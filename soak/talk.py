"""A call in the middle of which its server asks: the questions, our answers, and what must come of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from soak import ledger as books
from soak.questions import answer, name_of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from soak.ledger import Entry
    from soak.plan import Server

    Json = dict[str, Any]

MOST_ROUNDS = 10
"""In which a modern server may ask a legacy client."""


@dataclass(slots=True)
class Talk:
    """One such call."""

    token: str
    server: Server
    asks: list[list[str]]
    """The methods of its questions, round by round."""
    sizes: Sequence[int]
    """Of the answers, as they come; to decline is an answer of none."""
    act: str
    """What is done in place of an answer, once."""
    turn: int
    """The round in which it is."""
    delay: float
    """Seconds before each answer."""
    pause: float
    """Seconds before each question of a legacy server."""
    asked: int = 0
    """How many questions have come."""

    @property
    def arguments(self) -> Json:
        """Of the call."""
        return {"token": self.token, "asks": self.asks, "pause": self.pause}

    @property
    def methods(self) -> list[str]:
        """Of all questions."""
        return [method for methods in self.asks for method in methods]

    def round_of(self, number: int) -> int:
        """In which round a question comes."""
        ends = [sum(map(len, self.asks[: index + 1])) for index in range(len(self.asks))]
        return next(index for index, end in enumerate(ends) if number < end)

    def answer(self, number: int) -> Json:
        """Ours to one of the questions."""
        size = self.sizes[number % len(self.sizes)]
        return answer(name_of(self.token, number), self.methods[number], size)

    def take(self, name: str, method: str, params: Json) -> str:
        """The next question has come; what is wrong with it."""
        number, self.asked = self.asked, self.asked + 1
        if number >= len(self.methods):
            return "more questions than a server asks"
        if (name, method) != (name_of(self.token, number), self.methods[number]):
            return "a question of another call, or out of its turn"
        label = f"{self.server.toolbox}/{self.server.name}"
        return "" if params == shown(name, method, label) else "a question that was changed"

    def check(self, message: Json) -> str:
        """Whether the server was answered what we have answered."""
        got = json.loads(message["result"]["content"][0]["text"])
        error = got.pop()["error"] if got and "error" in got[-1] else None
        if got != [{"result": self.answer(number)} for number in range(len(got))]:
            return f"{books.WRONG}: an answer that was given in another call, or a damaged one"
        if error is not None:
            return books.kind_of_error(error["message"])
        if len(got) < len(self.methods):
            return f"{books.WRONG}: an answer of the client has not arrived"
        return books.OK

    def expect(self, entry: Entry, *ends: str) -> None:
        """From now on the call can only end like this, or because something is done to its server."""
        entry.own_fault = frozenset({*ends, *entry.possible})
