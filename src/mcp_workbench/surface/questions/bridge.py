"""Asks the client what a server wants to know in the middle of a call, across protocol versions.

                 legacy server (Pushed)                      modern server (InputRequired)

 legacy client   gets a request from the workbench; its      gets a request from the workbench; then the call
                 answer goes to the server                   is sent again with the answers

 modern client   the call is parked, and answered with       the call is answered with the questions; our
                 the question; the retry resumes it          `requestState` contains the server's, and the
                                                             retry is a new call

Details are in `asking`, `parking`, `sealing` and `downstream.conversation.inquiry`. Which client is asked is
decided in `downstream.conversation.attribution`. Where `sampling` is `ask`, each case is preceded by a
question of our own (`sampling_consent`).
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import RemoteError
from mcp_workbench.fairness import RETRY_SECONDS
from mcp_workbench.protocol.caller import MissingCapability
from mcp_workbench.protocol.names import (
    ELICITATION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    SAMPLING,
)
from mcp_workbench.protocol.questions import Question, retry_fields
from mcp_workbench.protocol.results import read_stamps
from mcp_workbench.surface.questions.origin import shown_params
from mcp_workbench.surface.relay import stamping
from mcp_workbench.surface.relay.metadata import passed_on
from mcp_workbench.surface.requests import Refusal
from mcp_workbench.wire.message import ABSENT, decode_members, decode_text, encode, members_of, starts_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.downstream.conversation.inquiry import InputRequired, Inquiry, Pushed
    from mcp_workbench.protocol.caller import Caller
    from mcp_workbench.surface.questions.asking import Asker
    from mcp_workbench.surface.questions.parking import ParkedCall, ParkedCalls
    from mcp_workbench.surface.questions.sealing import Seal
    from mcp_workbench.surface.relay.in_flight import RequestsInFlight
    from mcp_workbench.surface.relay.relayed import RelayedRequest
    from mcp_workbench.surface.requests import RequestParams
    from mcp_workbench.wire.message import Id
    from mcp_workbench.workbench.policy.approver import UserAnswer
    from mcp_workbench.workbench.server_call import ServerCall

MAX_ROUNDS: Final = 10
"""Rounds of questions in one call of a legacy client, as in the SDKs. Modern clients count for themselves."""
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.05, 0.25
"""Seconds before a call is sent again if the server asks nothing but only wants to be called again."""

ENDLESS: Final = f"it has asked for something {MAX_ROUNDS} times, and still asks for more"
CROWDED: Final = (
    "too many calls already wait for an answer from their client. Answer or cancel some of them, "
    f"or try again in {RETRY_SECONDS} s"
)
APPROVAL: Final = "approval"
"""The name of the question whether a call may be made, in what a modern client is asked."""
NOBODY_TO_ASK: Final = (
    f"{SAMPLING}: the configuration of the workbench asks the user first "
    '("sampling": "ask"), and the client has not declared the capability elicitation'
)
NO_ANSWERS: Final = "Invalid params: `inputResponses` must be an object of objects"


class Retry(msgspec.Struct, frozen=True):
    """What a new call needs if its client retries with answers to questions."""

    extra: tuple[bytes, ...] = ()
    """Members of the request for a modern server, each after a comma."""
    parent: int | None = None
    """The number of the call that was ended with the questions, if calls are recorded."""
    approval: UserAnswer | None = None
    """What a person has answered to the question whether the call may be made, if that was asked."""


NO_RETRY: Final = Retry()
"""The retry of a call that answers no question: nothing."""


class Bridge:
    """Puts the questions of servers to one client, and their answers to the servers."""

    def __init__(self, asker: Asker, parking: ParkedCalls, seal: Seal) -> None:
        self._asker = asker
        self._parking = parking
        self._seal = seal

    def ask(self, call: RelayedRequest, question: Pushed) -> None:
        """Ask the client what a legacy server wants to know. The server waits, with the call in flight."""
        if lack := _lack(call.caller, question):
            question.refuse(lack.code, lack.message)
        elif not self._is_within_share(call.principal, question):
            question.refuse(INTERNAL_ERROR, CROWDED)
        else:
            _put_after_consent(question, partial(self._put, call))

    def _put(self, call: RelayedRequest, inquiry: Inquiry) -> None:
        """Put a question to the client while a legacy server waits for the answer."""
        if call.caller.is_modern:
            self._park(call, inquiry)
        else:
            write = call.requests.output.about(call.request_id)
            round_ = self._asker.ask(inquiry, inquiry.session.input_timeout, write)
            inquiry.on_withdrawn = round_.withdraw

    def ask_before_retry(self, call: RelayedRequest, required: InputRequired) -> None:
        """Ask the client what a modern server wants to know before the call is made again."""
        if lack := _lack(call.caller, required):
            required.refuse(lack.code, lack.message)
        elif call.caller.is_modern and _needs_consent(required):
            # The server does not wait. The call is parked all the same, with the questions that may follow.
            self._park(call, _consent(required, lambda: self._pass_on(call, required)))
        elif call.caller.is_modern:
            self._pass_on(call, required)
        elif required.questions and call.rounds < MAX_ROUNDS:
            _put_after_consent(required, partial(self._put_before_retry, call))
        else:
            repeat_later(call, required)

    async def ask_user(self, call: RelayedRequest, question: bytes, limit: float) -> msgspec.Raw:
        """Ask the user of a legacy client what the workbench wants to know. Raises WireError."""
        return await self._asker.ask_user(question, limit, call.requests.output.about(call.request_id))

    def ask_before_call(self, call: RelayedRequest, question: bytes, limit: float) -> None:
        """Answer a modern client with a question of the workbench. The retry is a new call."""
        _, state = self._seal.seal("approve", call.bound(), limit, parent=call.number)
        asked = {APPROVAL: {"method": ELICITATION, "params": msgspec.Raw(question)}}
        call.ask_back(*stamping.question_result(encode({"inputRequests": asked, "requestState": state})))
        call.end_with_question()

    def _put_before_retry(self, call: RelayedRequest, inquiry: Inquiry) -> None:
        """Put questions to a legacy client while no server works on its call."""
        write = call.requests.output.about(call.request_id)
        call.undo = self._asker.ask(inquiry, inquiry.session.input_timeout, write).withdraw

    def _is_within_share(self, principal: str, inquiry: Pushed) -> bool:
        """Whether a principal is within its limit of open questions of one legacy server."""
        if not principal:
            return True
        of_calls = (pushed.calls for pushed in inquiry.session.pushed.values())
        count = sum(any(call.principal == principal for call in calls) for calls in of_calls)
        return count <= self._parking.limit(principal)  # this inquiry is counted already

    def ask_outside(self, caller: Caller, inquiry: Pushed) -> None:
        """Ask a legacy client what a server wants to know outside of any call."""
        if lack := _lack(caller, inquiry):
            inquiry.refuse(lack.code, lack.message)
        else:
            _put_after_consent(inquiry, self._put_outside)

    def _put_outside(self, inquiry: Inquiry) -> None:
        inquiry.on_withdrawn = self._asker.ask(inquiry, inquiry.session.input_timeout).withdraw

    def _park(self, call: RelayedRequest, inquiry: Inquiry) -> None:
        """Answer a modern client with a question, and park the call until the retry."""
        if parked := call.requests.parked.get(call.request_id):
            parked.add(inquiry)
        elif not self._parking.can_park(call.principal):
            inquiry.refuse(INTERNAL_ERROR, CROWDED)
        else:
            ticket, state = self._seal.seal("parked", call.bound(), inquiry.session.input_timeout)
            self._answer(call, inquiry.questions, state)
            self._parking.add(ticket, call, inquiry)

    def _pass_on(self, call: RelayedRequest, inquiry: InputRequired) -> None:
        """Answer a modern client with the questions of a modern server, which does not wait for it."""
        limit = inquiry.session.input_timeout
        _, state = self._seal.seal(
            "passed",
            call.bound(),
            limit,
            inquiry.state,
            parent=call.number,
            approved_by=call.approved_by,
        )
        result = _with_state(inquiry, state)
        call.ask_back(*stamping.modern_result(result, read_stamps(result)))
        call.end_with_question()

    def send_user(self, call: RelayedRequest, error: RemoteError) -> bool:
        """Tell the client which URLs its user must open before a call to a legacy server can succeed.

        Return False if the client cannot open URLs. It has not been told then.
        """
        questions = _read_url_elicitations(error)
        if not questions or any(call.caller.lack(each.method, each.params) for each in questions.values()):
            return False
        if call.caller.is_modern:
            limit = call.session.input_timeout
            _, state = self._seal.seal(
                "anew", call.bound(), limit, parent=call.number, approved_by=call.approved_by
            )
            self._answer(call, questions, state)
            call.end_with_question()
        else:
            # Secrets are masked in the message, but the URLs have to stay as they are.
            message = call.toolbox_server.masked(error).message
            data = _with_origins(error, questions, call.session.label)
            call.requests.fail_with(call.request_id, RemoteError(error.code, message, data))
        return True

    def _answer(self, call: RelayedRequest, questions: Mapping[str, Question], state: str) -> None:
        label = call.session.label
        rendered = {name: _for_client(question, label) for name, question in questions.items()}
        asking = {"inputRequests": rendered} if rendered else {}
        call.ask_back(*stamping.question_result(encode({**asking, "requestState": state})))

    def retry(
        self, requests: RequestsInFlight, request_id: Id, caller: Caller, params: RequestParams, bound: bytes
    ) -> Retry | None:
        """Take a modern request that answers questions, or carries a state.

        Return what a new call needs from it, or None if the request resumes a parked call. Raises Refusal.
        """
        answers = _read_answers(params.responses)
        if not params.state:
            # Without a state there was no question that we know of: the server decides what the answers mean.
            return Retry(tuple(b",%b" % field for field in retry_fields(answers, b"")))
        state = self._seal.open(decode_text(params.state) or "", bound)
        if state.kind == "approve":
            from mcp_workbench.workbench.policy.approval_form import read_answer  # noqa: PLC0415 - with a policy

            answer = answers.get(APPROVAL)
            return Retry(parent=state.parent, approval=None if answer is None else read_answer(answer))
        # Whoever has approved the call is not asked again because its server has asked something.
        approval = None
        if state.approved_by:
            from mcp_workbench.workbench.policy.approver import UserAnswer  # noqa: PLC0415 - few calls need one

            approval = UserAnswer("once", state.approved_by)
        if state.kind == "anew":
            return Retry(parent=state.parent, approval=approval)
        if state.kind == "passed":
            fields = retry_fields(answers if params.responses else None, state.inner)
            return Retry(tuple(b",%b" % field for field in fields), state.parent, approval)
        parked = self._parking.take(state.nonce)
        requests.resume(parked.call, request_id, caller, params.meta)
        self._resume(parked, answers)
        return None

    def _resume(self, parked: ParkedCall, answers: dict[str, msgspec.Raw]) -> None:
        waiting, call = parked.inquiries, parked.call
        if waiting and waiting[0].questions.keys() <= answers.keys():
            waiting.popleft().answer(answers)
        if parked.answer is not None:
            call.requests.finish(call.request_id, *parked.answer)
        elif waiting:
            # The next question, or the same one again if it was not answered.
            self._park(call, waiting[0])
            for inquiry in list(waiting)[1:]:
                self._park(call, inquiry)


class _UrlElicitations(msgspec.Struct):
    elicitations: list[msgspec.Raw]


def _read_url_elicitations(error: RemoteError) -> dict[str, Question]:
    try:
        found = msgspec.json.decode(error.data or b"", type=_UrlElicitations).elicitations
    except (msgspec.DecodeError, RecursionError):
        return {}
    objects = [params for params in found if starts_with(params, b"{")]
    return {str(number): Question(ELICITATION, params) for number, params in enumerate(objects, 1)}


def repeat_later(call: ServerCall, required: InputRequired) -> None:
    """Make a call again in a moment, because its server wants that; refuse if it has done so too often."""
    if call.rounds >= MAX_ROUNDS:
        required.refuse(INTERNAL_ERROR, ENDLESS)
        return
    wait = min(FIRST_WAIT_SECONDS * 2**call.rounds, MAX_WAIT_SECONDS)
    timer = asyncio.get_running_loop().call_later(wait, required.answer, {})
    call.undo = lambda _: timer.cancel()


def _needs_consent(inquiry: Inquiry) -> bool:
    """Whether the user has to allow an inquiry before the client gets it."""
    rights = inquiry.session.rights
    return rights is not None and rights.needs_consent(inquiry.questions.values())


def _consent(inquiry: Inquiry, proceed: Callable[[], None]) -> Inquiry:
    """Return the question whether the user allows an inquiry. If it is accepted, `proceed` is called."""
    from mcp_workbench.surface.questions.sampling_consent import SamplingConsent  # noqa: PLC0415 - rare

    return SamplingConsent(inquiry, proceed)


def _put_after_consent(inquiry: Inquiry, put: Callable[[Inquiry], None]) -> None:
    """Put an inquiry to the client, or at first the question whether the user allows it."""
    put(_consent(inquiry, partial(put, inquiry)) if _needs_consent(inquiry) else inquiry)


def _lack(caller: Caller, inquiry: Inquiry) -> MissingCapability | None:
    """Return the first capability that the client lacks for these questions; None if it has them all."""
    lacks = (caller.lack(question.method, question.params) for question in inquiry.questions.values())
    lack = next(filter(None, lacks), None)
    if lack is None and _needs_consent(inquiry) and caller.lack(ELICITATION, ABSENT):
        return MissingCapability(METHOD_NOT_FOUND, NOBODY_TO_ASK)
    return lack


def _read_answers(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        answers = decode_members(raw or b"{}")
    except (msgspec.DecodeError, RecursionError):
        raise Refusal(INVALID_PARAMS, NO_ANSWERS) from None
    if not all(starts_with(answer, b"{") for answer in answers.values()):
        raise Refusal(INVALID_PARAMS, NO_ANSWERS)
    return answers


def _with_origins(error: RemoteError, questions: Mapping[str, Question], label: str) -> bytes:
    """Return the error data for a legacy client: every elicitation marked with the server that asks."""
    labelled = [shown_params(label, question) for question in questions.values()]
    return encode({**decode_members(error.data or b"{}"), "elicitations": labelled})


def _with_state(inquiry: InputRequired, state: str) -> bytes:
    """Return a modern server's result with labelled questions, and with our state in place of its own."""
    members = decode_members(inquiry.result)
    rendered = {}
    for name, raw in members_of(members.get("inputRequests", ABSENT)).items():
        rendered[name] = {**members_of(raw), **_for_client(inquiry.questions[name], inquiry.session.label)}
    return encode({**members, **({"inputRequests": rendered} if rendered else {}), "requestState": state})


def _for_client(question: Question, label: str) -> dict[str, object]:
    """Return a question of the server `label` in the form that a modern client gets."""
    if not question.params:
        return {"method": question.method}
    return {"method": question.method, "params": passed_on(shown_params(label, question))}
