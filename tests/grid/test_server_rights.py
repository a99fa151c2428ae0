"""What the configuration denies a server, or asks the user about first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grid.features import proves
from tests.grid.questions import ROOTS, form, sample, shown, url
from tests.servers.wares import RESERVED
from tests.support.sessions import failure_of
from tests.support.talking import able, oblige

if TYPE_CHECKING:
    from tests.grid.benches import Cell
    from tests.support.client import Json

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def server_keys() -> Json:
    return {"elicitation": "deny", "roots": "deny", "sampling": "ask"}


def decline(question: Json) -> Json:
    return (
        {"result": {"action": "decline"}} if question["method"] == "elicitation/create" else oblige(question)
    )


@proves("denied")
async def test_what_is_denied_is_not_declared_and_reaches_no_client(cell: Cell) -> None:
    told = await cell.call()
    if cell.server == "legacy":
        (greeting,) = cell.journal.messages("initialize")
        declared = greeting["params"]["capabilities"]
    else:
        declared = told["meta"][RESERVED + "clientCapabilities"]
    assert declared == {"sampling": able("modern")["sampling"]}
    for question, key in ((form(), "elicitation"), (url(), "elicitation"), (ROOTS, "roots")):
        if cell.server == "legacy":
            ((answer,), last) = await cell.answers({"ask": [question]}, {"ask": []})
            text, code = answer["error"]["message"], answer["error"]["code"]
            assert (code, last) == (-32601, [])
        else:
            text = failure_of(await cell.result({"ask": [question]}))
        assert f'the configuration of the workbench denies it to this server ("{key}": "deny")' in text
        assert text.endswith(f'. To allow it, write "{key}": "allow" in the entry of the server')
    if cell.session.era == "legacy":
        await cell.client.notify("notifications/roots/list_changed")
    await cell.call()
    assert cell.talker.asked == []
    assert cell.sent("notifications/roots/list_changed") == []


@proves("consent")
async def test_the_model_is_sampled_after_the_user_has_consented(cell: Cell) -> None:
    question = sample("tea " * 500, systemPrompt="Be\nbrief")
    answers = await cell.answers({"ask": [question]}, {"ask": [question]})
    asked = cell.talker.asked
    assert [it["method"] for it in asked] == ["elicitation/create", "sampling/createMessage"] * 2
    message = asked[0]["params"]["message"]
    assert message.startswith(
        f"[workbench] The server dev/{cell.server} wants a completion from your model (sampling)."
    )
    assert "A prompt of 2,008 characters, which begins: Be brief tea tea" in message
    assert asked[1] == shown(question, cell.server)
    assert answers == [[oblige(question)], [oblige(question)]]


@proves("consent")
async def test_the_model_is_not_sampled_if_the_user_declines(cell: Cell) -> None:
    cell.talker.respond = decline
    if cell.server == "legacy":
        ((answer,),) = await cell.answers({"ask": [sample()]})
        assert answer["error"] == {"code": -1, "message": "sampling/createMessage: the user did not allow it"}
    else:
        assert "the user did not allow it" in failure_of(await cell.result({"ask": [sample(), sample()]}))
    assert [it["method"] for it in cell.talker.asked] == ["elicitation/create"]
