"""What the soak's client hears without having asked: questions, progress, changes, log messages.

It believes none of it: what nobody wants, or comes from a server that does not exist, is a problem.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from soak.library import LEVELS, PREFIX
from soak.questions import METHODS, NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from soak.ledger import Ledger
    from soak.plan import Place

    Json = dict[str, Any]
    Id = int | str
    OnQuestion = Callable[["Question"], None]

SILENT = len(LEVELS)
"""Above all levels of log messages."""


class Question:
    """A request of the workbench's."""

    def __init__(self, message: Json) -> None:
        self.id: Id = message["id"]
        self.method: str = message["method"]
        self.params: Json = message.get("params", {})
        self.name: str = self.params.get("_meta", {}).get(NAME, "")
        self.taken_back = asyncio.Event()


class Ears:
    """Sorts what comes, and tells whom it concerns."""

    def __init__(self, place: Place, ledger: Ledger) -> None:
        self._place = place
        self._ledger = ledger
        self._known: set[str] = set()
        """Labels of servers that exist."""
        self._questions: dict[Id, Question] = {}
        self.talks: dict[str, OnQuestion] = {}
        """Who takes the questions of a call, by its token."""
        self.progress: dict[str, int] = {}
        """Notifications by token, of the calls in flight that asked for them."""
        self.announced = 0
        """How often the tools of the workbench were said to have changed."""
        self.level = 0
        """From which on log messages are pushed."""
        self.levels: Counter[tuple[str, int]] = Counter()
        """Servers with a modern request in flight that wants log messages, each with the level of it."""
        self.logs: dict[str, list[str]] = {}
        """Levels of the messages that came, by the token of the call that they are about."""
        self.streams: dict[Id, Callable[[list[str]], None]] = {}
        """Who is told what a stream of ours will tell, by its request."""
        self.updates: dict[tuple[Id | None, str], int] = {}
        """How often a resource was said to have changed, on a stream or without one."""

    def hear(self, message: Json) -> None:
        """Takes a message that is no answer."""
        kind, params = message["method"], message.get("params", {})
        if "id" in message:
            problem = self._asked(message)
        elif kind == "notifications/message":
            problem = self._logged(params)
        elif kind == "notifications/resources/updated":
            problem = self._updated(params)
        elif kind == "notifications/subscriptions/acknowledged":
            problem = self._acknowledged(params)
        elif kind == "notifications/cancelled":
            problem = self._taken_back(params)
        else:
            problem = self._noticed(kind, params)
        if problem:
            self._ledger.problems.append(f"{problem}: {json.dumps(message)[:300]}")
        self._ledger.seen[kind] += 1

    def _noticed(self, kind: str, params: Json) -> str:
        if kind == "notifications/progress":
            # Nobody's while the last reports of a call and its answer come together.
            if params.get("progressToken") in self.progress:
                self.progress[params["progressToken"]] += 1
        elif kind == "notifications/tools/list_changed":
            self.announced += 1
        elif kind not in {"notifications/resources/list_changed", "notifications/prompts/list_changed"}:
            return "an unexpected message"
        return ""

    def _asked(self, message: Json) -> str:
        question = Question(message)
        if question.method not in METHODS:
            return "an unexpected message"
        if question.id in self._questions:
            return "a question under an id of another"
        take = self.talks.get(question.name.partition(".")[0])
        if take is None:
            return "a question of no call in flight"
        self._questions[question.id] = question
        take(question)
        return ""

    def _taken_back(self, params: Json) -> str:
        question = self._questions.get(params["requestId"])
        if question is None or question.taken_back.is_set():
            return "a question was taken back that is none, or twice"
        question.taken_back.set()
        return ""

    def _acknowledged(self, params: Json) -> str:
        acknowledge = self.streams.get(_stream(params) or "")
        if acknowledge is None:
            return "an acknowledgement of no stream"
        acknowledge(params["notifications"].get("resourceSubscriptions", []))
        return ""

    def _updated(self, params: Json) -> str:
        key = (_stream(params), params["uri"])
        if key not in self.updates:
            return "an update that nobody wants"
        self.updates[key] += 1
        return ""

    def _logged(self, params: Json) -> str:
        toolbox, _, rest = params["logger"].partition("/")
        label = f"{toolbox}.{rest.partition('/')[0]}"
        if not self._exists(label):
            return "a log message of no server"
        level = LEVELS.index(params["level"])
        least = min(
            (one for (server, one), count in self.levels.items() if server == label and count), default=SILENT
        )
        if level < min(self.level, least):
            return "a log message that nobody wants"
        if isinstance(data := params["data"], dict):
            if data["server"] != label:
                return "a log message under the name of another server"
            self.logs.setdefault(data["token"], []).append(params["level"])
        return ""

    def _exists(self, label: str) -> bool:
        if label not in self._known and self._place.lives(label):
            self._known.add(label)
        return label in self._known


def _stream(params: Json) -> Id | None:
    tag: Id | None = params.get("_meta", {}).get(PREFIX + "subscriptionId")
    return tag
