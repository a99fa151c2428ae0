"""Asks a legacy client what a server wants to know, by requests of ours.

Owns these requests until they are answered, refused or taken back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import RemoteError, RequestTimeout
from mcp_workbench.protocol.names import ELICITATION, INTERNAL_ERROR, META_PROGRESS
from mcp_workbench.surface.questions.origin import with_origin
from mcp_workbench.surface.relay.metadata import passed_on
from mcp_workbench.wire.message import (
    ABSENT,
    decode_text,
    encode,
    members_of,
    notification_line,
    request_line,
    starts_with,
)
from mcp_workbench.wire.request import Request

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.inquiry import Inquiry
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.protocol.questions import Question
    from mcp_workbench.surface.output import Write
    from mcp_workbench.wire.peer import Peer

    Members = dict[str, msgspec.Raw]

MOST_VISITS: Final = 1000
"""Places that a client was asked to send its user to, and that a server may say the user has been to."""

COMPLETE: Final = "notifications/elicitation/complete"


class Asker:
    """Asks one client."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._visits: dict[tuple[Session, str], None] = {}

    def ask(self, inquiry: Inquiry, limit: float, write: Write | None = None) -> Round:
        """Puts all questions of an inquiry to the client, by a way of their own if there is one, and then its
        answers to the server.
        """
        asked = Round(self._peer, inquiry, limit, write or self._peer.send)
        for name, question in inquiry.questions.items():
            asked.put(name, question.method, self._params(question, inquiry.session))
        return asked

    def on_progress(self, members: Members) -> None:
        """The client says that it is at it."""
        try:
            token = msgspec.json.decode(members.get(META_PROGRESS, ABSENT), type=int)
        except msgspec.DecodeError:
            return
        if isinstance(question := self._peer.find(token), _Question):
            question.on_progress(members)

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """The user has been where the client was asked to send them, if it was this one."""
        visit = (session, decode_text(members.get("elicitationId", ABSENT)) or "")
        if visit in self._visits:
            del self._visits[visit]
            self._peer.notify(COMPLETE, encode(members))

    def _params(self, question: Question, session: Session) -> Members:
        members = with_origin(session.label, question.method, members_of(question.params))
        if question.method == ELICITATION and decode_text(members.get("mode", ABSENT)) == "url":
            # The modern era has no such id, and the legacy one demands it.
            members.setdefault("elicitationId", msgspec.Raw(encode(os.urandom(16).hex())))
            self._visits[session, decode_text(members["elicitationId"]) or ""] = None
            if len(self._visits) > MOST_VISITS:
                del self._visits[next(iter(self._visits))]
        return members


class Round:
    """The questions of one inquiry that are with the client."""

    def __init__(self, peer: Peer, inquiry: Inquiry, limit: float, write: Write) -> None:
        self._peer = peer
        self._write = write
        self.inquiry = inquiry
        self._limit = limit
        self._open: dict[str, _Question] = {}
        self._answers: dict[str, msgspec.Raw] = {}

    def put(self, name: str, method: str, members: Members) -> None:
        """Asks one question."""
        question = _Question(self, name, method, idle=self._limit, total=self._limit)
        question.token = members_of(members.get("_meta", ABSENT)).get(META_PROGRESS, ABSENT)
        stamps = {META_PROGRESS: self._peer.next_id} if question.token else {}
        self._open[name] = question
        params = encode(passed_on(members, **stamps))
        self._peer.start(question, request_line(self._peer.next_id, method, params), self._write)

    def take(self, name: str, answer: msgspec.Raw) -> None:
        """One is answered."""
        del self._open[name]
        self._answers[name] = answer
        if len(self._answers) == len(self.inquiry.questions):
            self.inquiry.answer(self._answers)

    def fail(self, name: str, code: int, reason: str, data: object = msgspec.UNSET) -> None:
        """One is not answered, so that the others are of no use."""
        del self._open[name]
        self.take_back("another question that came with it was not answered")
        self.inquiry.refuse(code, reason, data)

    def take_back(self, reason: str) -> None:
        """The client need not answer any more."""
        questions, self._open = self._open, {}
        for question in questions.values():
            self._peer.forget(question)
            self.tell_cancelled(question, reason)

    def tell_cancelled(self, question: Request, reason: str) -> None:
        """Tells the client that nobody waits for an answer any more."""
        cancelled = encode({"requestId": question.id, "reason": reason})
        self._write(notification_line("notifications/cancelled", cancelled))


class _Question(Request):
    """One of them."""

    round: Round
    name: str
    method: str
    token: msgspec.Raw = ABSENT
    """What the server wants to hear of progress under, if it does."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Passes the answer on as it came."""
        if starts_with(result, b"{"):
            self.round.take(self.name, result)
        else:
            self.round.fail(self.name, INTERNAL_ERROR, f"{self.method}: the client's answer is not an object")

    def fail(self, error: WireError) -> None:
        """Passes the client's own error on, or says why there is none."""
        if isinstance(error, RemoteError):
            data = msgspec.UNSET if error.data is None else msgspec.Raw(error.data)
            self.round.fail(self.name, error.code, error.message, data)
            return
        self.round.fail(self.name, INTERNAL_ERROR, f"{self.method}: the client gave no answer: {error}")
        if isinstance(error, RequestTimeout):
            self.round.tell_cancelled(self, "timed out")

    def on_progress(self, members: Members) -> None:
        """Passes it on under the server's own token."""
        if self.token:
            members[META_PROGRESS] = self.token
            self.round.inquiry.session.peer.notify("notifications/progress", encode(members))
