"""Puts the questions of servers to a legacy client, as requests of the workbench to the client.

Owns these requests until they are answered, refused or withdrawn.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import RemoteError, RequestTimeout
from mcp_workbench.protocol.names import ELICITATION, INTERNAL_ERROR, META_PROGRESS
from mcp_workbench.surface.questions.origin import shown_params
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
from mcp_workbench.wire.request import AwaitedRequest, Request

if TYPE_CHECKING:
    from mcp_workbench.downstream.conversation.inquiry import Inquiry
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import WireError
    from mcp_workbench.protocol.questions import Question
    from mcp_workbench.surface.output import Write
    from mcp_workbench.wire.peer import Peer

    Members = dict[str, msgspec.Raw]

MAX_URL_ELICITATIONS: Final = 1000
"""URL elicitations of one client that are remembered, so that a server can report them as complete."""

COMPLETE: Final = "notifications/elicitation/complete"


class Asker:
    """Puts the questions of servers to one client."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._url_elicitations: dict[tuple[Session, str], None] = {}
        """The URLs that the client was asked to open, by server session and elicitation id."""

    def ask(self, inquiry: Inquiry, limit: float, write: Write | None = None) -> Round:
        """Send the client all questions of an inquiry. The inquiry gets its answers, or a refusal.

        `limit` is the timeout in seconds. `write` sends the questions, if not the client's usual output.
        """
        round_ = Round(self._peer, inquiry, limit, write or self._peer.send)
        for name, question in inquiry.questions.items():
            round_.ask(name, question.method, self._params(question, inquiry.session))
        return round_

    async def ask_user(self, question: bytes, limit: float, write: Write) -> msgspec.Raw:
        """Ask the client's user what the workbench itself wants to know, and return the answer.

        The question is withdrawn if it times out, or if the task that awaits this is cancelled. Raises
        WireError.
        """
        peer = self._peer
        request = AwaitedRequest(asyncio.get_running_loop().create_future(), idle=limit, total=limit)
        peer.start(request, request_line(peer.next_id, ELICITATION, question), write)
        try:
            return await request.answer
        except (asyncio.CancelledError, RequestTimeout) as error:
            peer.forget(request)
            reason = "timed out" if isinstance(error, RequestTimeout) else "no longer needed"
            _notify_cancelled(write, request, reason)
            raise

    def on_progress(self, members: Members) -> None:
        """Tell the server that asks about the progress that the client reports on a question."""
        try:
            token = msgspec.json.decode(members.get(META_PROGRESS, ABSENT), type=int)
        except msgspec.DecodeError:
            return
        if isinstance(question := self._peer.find(token), _Question):
            question.on_progress(members)

    def on_elicitation_complete(self, session: Session, members: Members) -> None:
        """Tell the client that its user has completed a URL elicitation, if this client was asked."""
        elicitation = (session, decode_text(members.get("elicitationId", ABSENT)) or "")
        if elicitation in self._url_elicitations:
            del self._url_elicitations[elicitation]
            self._peer.notify(COMPLETE, encode(members))

    def _params(self, question: Question, session: Session) -> Members:
        members = shown_params(session.label, question)
        if question.method == ELICITATION and decode_text(members.get("mode", ABSENT)) == "url":
            # The modern protocol has no such id, and the legacy one requires it.
            members.setdefault("elicitationId", msgspec.Raw(encode(os.urandom(16).hex())))
            self._url_elicitations[session, decode_text(members["elicitationId"]) or ""] = None
            if len(self._url_elicitations) > MAX_URL_ELICITATIONS:
                del self._url_elicitations[next(iter(self._url_elicitations))]
        return members


class Round:
    """The questions of one inquiry that the client is asked. If one is not answered, the inquiry fails."""

    def __init__(self, peer: Peer, inquiry: Inquiry, limit: float, write: Write) -> None:
        self._peer = peer
        self._write = write
        self.inquiry = inquiry
        self._limit = limit
        self._open: dict[str, _Question] = {}
        self._answers: dict[str, msgspec.Raw] = {}

    def ask(self, name: str, method: str, members: Members) -> None:
        """Send the client one question of the inquiry."""
        question = _Question(self, name, method, idle=self._limit, total=self._limit)
        question.token = members_of(members.get("_meta", ABSENT)).get(META_PROGRESS, ABSENT)
        stamps = {META_PROGRESS: self._peer.next_id} if question.token else {}
        self._open[name] = question
        params = encode(passed_on(members, **stamps))
        self._peer.start(question, request_line(self._peer.next_id, method, params), self._write)

    def on_answer(self, name: str, answer: msgspec.Raw) -> None:
        """Take the client's answer to one question. The last answer completes the inquiry."""
        del self._open[name]
        self._answers[name] = answer
        if len(self._answers) == len(self.inquiry.questions):
            self.inquiry.answer(self._answers)

    def on_failure(self, name: str, code: int, reason: str, data: object = msgspec.UNSET) -> None:
        """Refuse the inquiry because one question was not answered, and withdraw the others."""
        del self._open[name]
        self.withdraw("another question of the same inquiry was not answered")
        self.inquiry.refuse(code, reason, data)

    def withdraw(self, reason: str) -> None:
        """Cancel all questions that the client has not answered yet."""
        questions, self._open = self._open, {}
        for question in questions.values():
            self._peer.forget(question)
            self.notify_cancelled(question, reason)

    def notify_cancelled(self, question: Request, reason: str) -> None:
        """Tell the client that its answer to a question is no longer needed."""
        _notify_cancelled(self._write, question, reason)


def _notify_cancelled(write: Write, question: Request, reason: str) -> None:
    cancelled = encode({"requestId": question.id, "reason": reason})
    write(notification_line("notifications/cancelled", cancelled))


class _Question(Request):
    """A question of an inquiry, as a request to the client."""

    round: Round
    name: str
    method: str
    token: msgspec.Raw = ABSENT
    """The server's progress token; absent if the server wants no progress reports."""

    def succeed(self, result: msgspec.Raw) -> None:
        """Take the client's answer as it is, if it is an object."""
        if starts_with(result, b"{"):
            self.round.on_answer(self.name, result)
        else:
            self.round.on_failure(
                self.name, INTERNAL_ERROR, f"{self.method}: the client's answer is not an object"
            )

    def fail(self, error: WireError) -> None:
        """Refuse the inquiry with the client's own error, or say why there was no answer."""
        if isinstance(error, RemoteError):
            data = msgspec.UNSET if error.data is None else msgspec.Raw(error.data)
            self.round.on_failure(self.name, error.code, error.message, data)
            return
        self.round.on_failure(self.name, INTERNAL_ERROR, f"{self.method}: the client gave no answer: {error}")
        if isinstance(error, RequestTimeout):
            self.round.notify_cancelled(self, "timed out")

    def on_progress(self, members: Members) -> None:
        """Report the client's progress to the server, under the server's own token."""
        if self.token:
            members[META_PROGRESS] = self.token
            self.round.inquiry.session.peer.notify("notifications/progress", encode(members))
