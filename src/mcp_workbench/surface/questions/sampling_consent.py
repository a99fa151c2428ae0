"""Asks the client's user whether a server may use the client's model, where its `sampling` is `ask`.

Owns the question and the meaning of its answer. It is put to the client like a question of the server, and
once it is accepted, the client is asked what the server asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.protocol.names import ELICITATION, SAMPLING, WORKBENCH_LABEL
from mcp_workbench.protocol.questions import Question
from mcp_workbench.wire.message import ABSENT, encode
from mcp_workbench.workbench.text.sanitise import clean_text
from mcp_workbench.workbench.text.shortening import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_workbench.downstream.conversation.inquiry import Inquiry

    Answers = Mapping[str, msgspec.Raw]
    Withdrawn = Callable[[str], None] | None

BEGINNING_CHARACTERS: Final = 300
"""Length of the beginning of a prompt that the user is shown."""
MAX_SHOWN_PROMPTS: Final = 3
"""Prompts whose beginnings are shown, if a server asks for several completions at once."""
USER_REJECTED: Final = -1
"""The error code of the specification for sampling that the user does not want."""
NOT_ALLOWED: Final = f"{SAMPLING}: the user did not allow it"

_NAME: Final = "sampling-consent"
_NO_FIELDS: Final = {"type": "object", "properties": {}}


class SamplingConsent:
    """An inquiry of our own: may a server use the client's model? Accepted, `proceed` asks for the rest."""

    def __init__(self, asked: Inquiry, proceed: Callable[[], None]) -> None:
        self._asked = asked
        self._proceed = proceed
        self.session = asked.session
        prompts = [question.params for question in asked.questions.values() if question.method == SAMPLING]
        params = {
            "mode": "form",
            "message": _message(asked.session.label, prompts),
            "requestedSchema": _NO_FIELDS,
        }
        consent = Question(ELICITATION, msgspec.Raw(encode(params)), is_ours=True)
        self.questions: Mapping[str, Question] = {_NAME: consent}

    @property
    def on_withdrawn(self) -> Withdrawn:
        """Called when the server withdraws what it asked, so that the user's answer is useless."""
        return self._asked.on_withdrawn

    @on_withdrawn.setter
    def on_withdrawn(self, told: Withdrawn) -> None:
        self._asked.on_withdrawn = told

    def answer(self, answers: Answers) -> None:
        """Go on with what the server asked if the user accepts. Refuse it otherwise."""
        if _is_accepted(answers.get(_NAME, ABSENT)):
            self._proceed()
        else:
            self._asked.refuse(USER_REJECTED, NOT_ALLOWED)

    def refuse(self, code: int, reason: str, data: object = msgspec.UNSET) -> None:
        """Refuse what the server asked: the user gave no answer."""
        self._asked.refuse(code, reason, data)


class _Answer(msgspec.Struct):
    action: str = ""


class _Message(msgspec.Struct):
    content: object = None


class _Prompt(msgspec.Struct):
    system: str = msgspec.field(default="", name="systemPrompt")
    messages: list[_Message] = []

    def texts(self) -> list[str]:
        """The system prompt and the texts of the messages, in their order."""
        blocks = [block for message in self.messages for block in _blocks(message.content)]
        texts = [block.get("text") for block in blocks if isinstance(block, dict)]
        return [text for text in (self.system, *texts) if isinstance(text, str)]


def _blocks(content: object) -> list[object]:
    return content if isinstance(content, list) else [content]


def _is_accepted(answer: msgspec.Raw) -> bool:
    try:
        return msgspec.json.decode(answer, type=_Answer).action == "accept"
    except (msgspec.DecodeError, RecursionError):
        return False


def _message(label: str, prompts: list[msgspec.Raw]) -> str:
    count = len(prompts)
    wanted = "a completion" if count == 1 else f"{count} completions"
    shown = [_described(params) for params in prompts[:MAX_SHOWN_PROMPTS]]
    asks = (
        f"{WORKBENCH_LABEL} The server {label} wants {wanted} from your model (sampling). Allow it this once?"
    )
    return clean_text("\n".join([asks, *shown]))


def _described(params: msgspec.Raw) -> str:
    try:
        texts = msgspec.json.decode(params or b"{}", type=_Prompt).texts()
    except (msgspec.DecodeError, RecursionError):
        return f"A prompt of {len(params):,} bytes, which cannot be read."
    length = sum(map(len, texts))
    # On one line: a prompt must not look like more text of ours.
    beginning = shorten(" ".join(" ".join(texts).split()), BEGINNING_CHARACTERS)
    return f"A prompt of {length:,} characters, which begins: {beginning}"
