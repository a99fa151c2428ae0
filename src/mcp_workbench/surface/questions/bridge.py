"""Where the eras meet in the middle of a call: what a server asks is brought to its client, and answers back.

                 legacy server (Pushed)                      modern server (InputRequired)

 legacy client   is asked by a request of ours, and its      the same, and then the call is made again with
                 answer goes back                            the answers

 modern client   the call is parked and answered with the    the call is answered with the questions; what the
                 question; the retry resumes it              server has noted travels in our state, and the
                                                             retry is a call of its own

How each is done is in `asking`, `parking`, `sealing` and `downstream.inquiry`, and who is asked, in
`downstream.attribution`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import RemoteError
from mcp_workbench.fairness import RETRY_SECONDS
from mcp_workbench.protocol.names import ELICITATION, INTERNAL_ERROR, INVALID_PARAMS
from mcp_workbench.protocol.questions import Question, retry_fields
from mcp_workbench.protocol.results import read_stamps
from mcp_workbench.surface.questions.origin import with_origin
from mcp_workbench.surface.relay import results
from mcp_workbench.surface.relay.metadata import passed_on
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, members_of, starts_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Pushed
    from mcp_workbench.protocol.caller import Caller, MissingCapability
    from mcp_workbench.surface.questions.asking import Asker
    from mcp_workbench.surface.questions.parking import ParkedCall, ParkedCalls
    from mcp_workbench.surface.questions.sealing import Seal
    from mcp_workbench.surface.relay.calls import Calls
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.surface.requests import RequestParams
    from mcp_workbench.wire.message import Id
    from mcp_workbench.workbench.server_call import ServerCall

MOST_ROUNDS: Final = 10
"""Of questions in one call of a legacy client, as the SDKs have it. A modern client counts for itself."""
FIRST_WAIT, LONGEST_WAIT = 0.05, 0.25
"""Seconds between two rounds in which nothing is asked: the server just wants to be called again."""

ENDLESS: Final = f"it has asked for something {MOST_ROUNDS} times, and still asks for more"
CROWDED: Final = (
    "too many calls wait for an answer of their client already. Answer or cancel some of them, "
    f"or try again in {RETRY_SECONDS} s"
)
NO_ANSWERS: Final = "Invalid params: `inputResponses` must be an object of objects"


class Retry(msgspec.Struct, frozen=True):
    """What a call carries because its client answers questions with it."""

    extra: tuple[bytes, ...] = ()
    """Members of the request for a modern server, each after a comma."""
    parent: int | None = None
    """The number of the call that was ended with the questions, if calls are recorded."""


NO_RETRY: Final = Retry()
"""For a call that answers no question."""


class Bridge:
    """Brings the questions of servers to one client."""

    def __init__(self, asker: Asker, parking: ParkedCalls, seal: Seal) -> None:
        self._asker = asker
        self._parking = parking
        self._seal = seal

    def ask(self, call: RelayedRequest, question: Pushed) -> None:
        """Ask the client what a legacy server wants to know. The server waits, with the call in flight."""
        if lack := _lack(call.caller, question.questions):
            question.refuse(lack.code, lack.message)
        elif not self._is_within_share(call.principal, question):
            question.refuse(INTERNAL_ERROR, CROWDED)
        elif call.caller.is_modern:
            self._park(call, question)
        else:
            write = call.calls.outlet.about(call.request_id)
            asked = self._asker.ask(question, question.session.input_timeout, write)
            question.on_withdrawn = asked.take_back

    def ask_before_retry(self, call: RelayedRequest, required: InputRequired) -> None:
        """Ask the client what a modern server wants to know before the call is made again."""
        if lack := _lack(call.caller, required.questions):
            required.refuse(lack.code, lack.message)
        elif call.caller.is_modern:
            self._pass(call, required)
        elif required.questions and call.rounds < MOST_ROUNDS:
            write = call.calls.outlet.about(call.request_id)
            call.undo = self._asker.ask(required, required.session.input_timeout, write).take_back
        else:
            repeat_later(call, required)

    def _is_within_share(self, principal: str, inquiry: Pushed) -> bool:
        """Whether a legacy server may have one more question open for a principal: it has only so many."""
        if not principal:
            return True
        of_calls = (pushed.calls for pushed in inquiry.session.pushed.values())
        count = sum(any(call.principal == principal for call in calls) for calls in of_calls)
        return count <= self._parking.limit(principal)  # it counts itself

    def ask_outside(self, caller: Caller, inquiry: Pushed) -> None:
        """Asks a legacy client what a server wants to know outside of any call."""
        (asked,) = inquiry.questions.values()
        if lack := caller.lack(asked.method, asked.params):
            inquiry.refuse(lack.code, lack.message)
        else:
            inquiry.on_withdrawn = self._asker.ask(inquiry, inquiry.session.input_timeout).take_back

    def _park(self, call: RelayedRequest, inquiry: Pushed) -> None:
        """To a modern client, which a legacy server waits for."""
        if parked := call.calls.parked.get(call.request_id):
            parked.add(inquiry)
        elif not self._parking.has_room(call.principal):
            inquiry.refuse(INTERNAL_ERROR, CROWDED)
        else:
            ticket, state = self._seal.close("parked", call.bound(), inquiry.session.input_timeout)
            self._answer(call, inquiry.questions, state)
            self._parking.add(ticket, call, inquiry)

    def _pass(self, call: RelayedRequest, inquiry: InputRequired) -> None:
        """Answer a modern client with the questions of a modern server, which does not wait for it."""
        limit = inquiry.session.input_timeout
        _, state = self._seal.close("passed", call.bound(), limit, inquiry.state, call.number)
        result = _with_state(inquiry, state)
        call.ask_back(*results.modern(result, read_stamps(result)))
        call.end_with_question()

    def send_user(self, call: RelayedRequest, error: RemoteError) -> bool:
        """Tells the client that a legacy server wants its user to go somewhere, before the call is made anew.
        Whether it can be told.
        """
        visits = _read_visits(error)
        if not visits or any(call.caller.lack(asked.method, asked.params) for asked in visits.values()):
            return False
        if call.caller.is_modern:
            limit = call.session.input_timeout
            _, state = self._seal.close("anew", call.bound(), limit, parent=call.number)
            self._answer(call, visits, state)
            call.end_with_question()
        else:
            # What is to be visited has to stay as it is; the rest is an error like any other.
            message = call.toolbox_server.masked(error).message
            data = _with_origins(error, visits, call.session.label)
            call.calls.fail_with(call.request_id, RemoteError(error.code, message, data))
        return True

    def _answer(self, call: RelayedRequest, questions: Mapping[str, Question], state: str) -> None:
        label = call.session.label
        asked = {name: _for_next_hop(question, label) for name, question in questions.items()}
        asking = {"inputRequests": asked} if asked else {}
        call.ask_back(*results.asking(encode({**asking, "requestState": state})))

    def retry(
        self, calls: Calls, request_id: Id, caller: Caller, params: RequestParams, bound: bytes
    ) -> Retry | None:
        """Take a modern request that answers questions. Return what a new call needs of it; None if the
        request resumes a call that waited for it. Raises Refusal.
        """
        answers = _read_answers(params.responses)
        if not params.state:
            # Nobody has asked, as far as we know: the server says what it makes of it, or asks.
            return Retry(tuple(b",%b" % field for field in retry_fields(answers, b"")))
        state = self._seal.open(decode_text(params.state) or "", bound)
        if state.kind == "anew":
            return Retry(parent=state.parent)
        if state.kind == "passed":
            fields = retry_fields(answers if params.responses else None, state.inner)
            return Retry(tuple(b",%b" % field for field in fields), state.parent)
        parked = self._parking.take(state.nonce)
        calls.resume(parked.call, request_id, caller, params.meta)
        self._resume(parked, answers)
        return None

    def _resume(self, parked: ParkedCall, answers: dict[str, msgspec.Raw]) -> None:
        waiting, call = parked.inquiries, parked.call
        if waiting and waiting[0].questions.keys() <= answers.keys():
            waiting.popleft().answer(answers)
        if parked.answer is not None:
            call.calls.finish(call.request_id, parked.answer)
        elif waiting:
            # The next question, or the same again if it was not answered.
            self._park(call, waiting[0])
            for inquiry in list(waiting)[1:]:
                self._park(call, inquiry)


class _Visits(msgspec.Struct):
    elicitations: list[msgspec.Raw]


def _read_visits(error: RemoteError) -> dict[str, Question]:
    try:
        found = msgspec.json.decode(error.data or b"", type=_Visits).elicitations
    except (msgspec.DecodeError, RecursionError):
        return {}
    visits = [visit for visit in found if starts_with(visit, b"{")]
    return {str(number): Question(ELICITATION, visit) for number, visit in enumerate(visits, 1)}


def repeat_later(call: ServerCall, required: InputRequired) -> None:
    """Make a call again in a moment, because its server wants that; refuse if it has done so too often."""
    if call.rounds >= MOST_ROUNDS:
        required.refuse(INTERNAL_ERROR, ENDLESS)
        return
    wait = min(FIRST_WAIT * 2**call.rounds, LONGEST_WAIT)
    timer = asyncio.get_running_loop().call_later(wait, required.answer, {})
    call.undo = lambda _: timer.cancel()


def _lack(caller: Caller, questions: Mapping[str, Question]) -> MissingCapability | None:
    """What the client does not offer of that which it would be asked for."""
    lacks = (caller.lack(asked.method, asked.params) for asked in questions.values())
    return next(filter(None, lacks), None)


def _read_answers(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        answers = decode_members(raw or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise Refusal(INVALID_PARAMS, NO_ANSWERS) from None
    if not all(starts_with(answer, b"{") for answer in answers.values()):
        raise Refusal(INVALID_PARAMS, NO_ANSWERS)
    return answers


def _with_origins(error: RemoteError, visits: Mapping[str, Question], label: str) -> bytes:
    """What a legacy client is told of visits that are needed, each with which server wants it."""
    told = [with_origin(label, visit.method, members_of(visit.params)) for visit in visits.values()]
    return encode({**decode_members(error.data or b"{}"), "elicitations": told})


def _with_state(inquiry: InputRequired, state: str) -> bytes:
    """A modern server's questions, with our state in the place of its own."""
    members = decode_members(inquiry.result)
    asked = {}
    for name, raw in members_of(members.get("inputRequests", ABSENT)).items():
        asked[name] = {**members_of(raw), **_for_next_hop(inquiry.questions[name], inquiry.session.label)}
    return encode({**members, **({"inputRequests": asked} if asked else {}), "requestState": state})


def _for_next_hop(asked: Question, label: str) -> dict[str, object]:
    """A question of the server `label` as it is put to a modern client."""
    if not asked.params:
        return {"method": asked.method}
    params = with_origin(label, asked.method, members_of(asked.params))
    return {"method": asked.method, "params": passed_on(params)}
