"""Handles what a server sends besides responses: requests, notifications, and lines that are no messages.

Progress goes to its call; questions, log messages and changes go to clients; the rest is counted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.conversation.call import Call
from mcp_workbench.downstream.conversation.change_stream import ChangeStream
from mcp_workbench.downstream.conversation.inquiry import Pushed
from mcp_workbench.downstream.conversation.listeners import Update
from mcp_workbench.protocol.names import (
    ELICITATION,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LOG_LEVELS,
    META_PROGRESS,
    META_SUBSCRIPTION,
    METHOD_NOT_FOUND,
    ROOTS,
    SAMPLING,
)
from mcp_workbench.protocol.questions import Question
from mcp_workbench.wire.message import (
    ABSENT,
    decode_members,
    decode_text,
    error_line,
    members_of,
    result_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_workbench.downstream.conversation.listeners import Listeners
    from mcp_workbench.downstream.conversation.session import Session
    from mcp_workbench.errors import Undecodable
    from mcp_workbench.wire.message import Id

MAX_NOISE_BYTES: Final = 128 * 1024 * 1024
"""Number of useless bytes after which a server is probed: it has to show that it still works."""
NOTIFICATION_BYTES: Final = 100
"""Assumed size of a useless notification, so that it need not be measured."""
MAX_SKIPPED_LINES: Final = 10
"""Skipped lines that are kept."""
MAX_OPEN_QUESTIONS: Final = 1000
"""Maximum number of open questions of one server."""

AMBIGUOUS: Final = (
    "several calls are in progress on this server, or were a moment ago, and the request does not say which "
    "of them it belongs to. "
    'Make the calls one after another; "callLimit": 1 in the server\'s configuration sees to that'
)
SHARED: Final = (
    "the server works for several users, or did a moment ago, and the request does not say whose it is. "
    "So it is shown to no one. Make the calls one after another, or give every client a server of its own: "
    '"isolation": "client" in the server\'s configuration'
)
CROWDED: Final = "too many requests of this server wait for an answer already"

log = logging.getLogger(__name__)

_decode_token = msgspec.json.Decoder(int | str).decode


class _Cancelled(msgspec.Struct):
    request_id: int | str = msgspec.field(name="requestId")


class ServerMessages:
    """The handler of what one server sends besides responses."""

    def __init__(self, session: Session, listeners: Listeners, on_tools_changed: Callable[[], None]) -> None:
        self._session = session
        self._log = logging.LoggerAdapter(log, {"server": session.label})
        self._listeners = listeners
        self._on_tools_changed = on_tools_changed
        self._garbage = 0
        self.skipped_lines: list[str] = []
        """The beginnings of the first lines that are no messages: they may say why a start fails."""
        self._refused = 0
        self._noise = 0

    def on_request(self, request_id: Id, method: str, params: msgspec.Raw) -> None:
        """Answer a ping, pass a question on that the server may ask, and refuse everything else."""
        rights = self._session.rights
        if method == "ping":
            self._session.reply(result_line(request_id, b"{}"))
        elif method not in (ELICITATION, SAMPLING, ROOTS) or self._session.is_modern:
            self._session.reply(error_line(request_id, METHOD_NOT_FOUND, f"Method not found: {method}"))
        elif request_id in self._session.pushed:
            taken = f"Invalid Request: id {request_id!r} is in use by a request in flight"
            self._session.reply(error_line(request_id, INVALID_REQUEST, taken))
        elif rights is not None and (refusal := rights.refusal((Question(method),))):
            self._count_noise(NOTIFICATION_BYTES)
            self._log.debug("%s", refusal)
            self._session.reply(error_line(request_id, METHOD_NOT_FOUND, refusal))
        elif len(self._session.pushed) >= MAX_OPEN_QUESTIONS:
            self._count_noise(NOTIFICATION_BYTES)
            self._session.reply(error_line(request_id, INTERNAL_ERROR, CROWDED))
        else:
            self._on_question(request_id, Question(method, params))

    def _on_question(self, request_id: Id, question: Question) -> None:
        """Pass a question on, if it is certain which client it is for. A question does not name its call."""
        attribution = self._session.attribution
        is_shared = attribution.concerned() is None
        calls = None if is_shared else attribution.calls()
        inquiry = Pushed(self._session, request_id, question, calls or [])
        self._session.pushed[request_id] = inquiry
        if is_shared:
            self._note_refusal(question.method)
            inquiry.refuse(INTERNAL_ERROR, f"{question.method}: {SHARED}")
        elif calls is None:
            inquiry.refuse(INTERNAL_ERROR, f"{question.method}: {AMBIGUOUS}")
        elif calls:
            calls[0].on_question(inquiry)
        else:
            self._listeners.ask(inquiry)

    def _note_refusal(self, method: str) -> None:
        self._refused += 1
        self._log.log(
            logging.WARNING if self._refused == 1 else logging.DEBUG,
            "%s was refused, because several users may be meant; "
            'with "isolation": "client" each client has a server of its own',
            method,
        )

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        """Pass on what concerns calls, lists and clients, and log the rest."""
        match method:
            case "notifications/progress":
                self._on_progress(params)
            case "notifications/message":
                self._on_log(params)
            case "notifications/tools/list_changed":
                self._on_tools_changed()
            case "notifications/prompts/list_changed":
                self._listeners.list_changed(self._session.origin[0], "prompts")
            case "notifications/resources/list_changed":
                self._listeners.list_changed(self._session.origin[0], "resources")
            case "notifications/resources/updated":
                self._on_updated(members_of(params))
            case "notifications/subscriptions/acknowledged":
                members = members_of(params)
                if (stream := self._stream(members)) is not None:
                    stream.on_acknowledged(members_of(members.get("notifications", ABSENT)))
            case "notifications/elicitation/complete":
                self._listeners.elicitation_complete(self._session, members_of(params))
            case "notifications/cancelled":
                self._on_cancelled(params)
            case _:
                self._count_noise(NOTIFICATION_BYTES)
                self._log.debug("%s", method)

    def on_garbage(self, problem: Undecodable) -> None:
        """Skip and count a line that is no message: a banner on stdout must not break the conversation."""
        self._garbage += 1
        self._count_noise(problem.size)
        if self._garbage == 1:
            self._log.info("writes lines to stdout that are not MCP; they are skipped")
        if len(self.skipped_lines) < MAX_SKIPPED_LINES and problem.beginning.strip():
            self.skipped_lines.append(problem.beginning.decode(errors="replace"))
        self._log.debug("skipped line %d of %d bytes: %s", self._garbage, problem.size, problem)

    def _count_noise(self, size: int) -> None:
        """Count useless bytes. A server may send them without end."""
        self._noise += size
        if self._noise > MAX_NOISE_BYTES:
            self._noise = 0
            self._session.on_silence()

    def _on_progress(self, params: msgspec.Raw) -> None:
        try:
            members = decode_members(params)
            token = _decode_token(members[META_PROGRESS])
        except (msgspec.DecodeError, RecursionError, KeyError):
            return
        call = self._session.peer.find(token)
        if isinstance(call, Call):
            call.touch()
            call.on_progress(members)

    def _on_log(self, params: msgspec.Raw) -> None:
        members = members_of(params)
        level = decode_text(members.get("level", ABSENT))
        if level not in LOG_LEVELS:
            return
        number = LOG_LEVELS.index(level)
        concerned = self._session.attribution.concerned() if self._listeners.is_shared else set()
        if concerned is None:
            return  # it may be about a call of any principal
        notified: set[object] = set()
        for call in self._session.logged:
            if concerned and call.principal not in concerned:
                continue
            wanted = call.caller.log_level
            if call.is_heard and wanted is not None and wanted <= number and call.client not in notified:
                notified.add(call.client)
                call.on_log(members)
        self._listeners.log(self._session, number, members, notified, concerned)

    def _on_updated(self, members: dict[str, msgspec.Raw]) -> None:
        if (uri := decode_text(members.get("uri", ABSENT))) is None:
            return
        stream = self._stream(members)
        watched = None if stream is None else stream.uri
        self._listeners.updated(Update(self._session, uri, watched, members))

    def _stream(self, members: dict[str, msgspec.Raw]) -> ChangeStream | None:
        """Return the stream that a notification of a modern server belongs to, if any."""
        tag = members_of(members.get("_meta", ABSENT)).get(META_SUBSCRIPTION, ABSENT)
        try:
            stream = self._session.peer.find(_decode_token(tag))
        except msgspec.DecodeError:
            return None
        return stream if isinstance(stream, ChangeStream) else None

    def _on_cancelled(self, params: msgspec.Raw) -> None:
        """Handle a cancellation: a legacy server withdraws a question, a modern one ends a stream."""
        try:
            request_id = msgspec.json.decode(params, type=_Cancelled).request_id
        except (msgspec.DecodeError, RecursionError):
            return
        if (inquiry := self._session.pushed.get(request_id)) is not None:
            inquiry.withdraw("the server withdrew it", by_server=True)
        elif isinstance(stream := self._session.peer.find(request_id), ChangeStream):
            stream.break_off()
