"""What a server says outside of any call reaches only clients that may use its toolbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.conversation.listeners import Listeners, Update
from tests.downstream.limits.test_call_queue import Line
from tests.wire.loops import IN_JUMPING_TIME

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.conversation.listeners import ListKind
    from mcp_workbench.protocol.caller import Caller

    Members = dict[str, msgspec.Raw]

pytestmark = IN_JUMPING_TIME


class Client:
    """Writes down what it is told. May use the toolboxes of which it has the names."""

    callers: tuple[Caller, ...] = ()
    takes_questions = True

    def __init__(self, principal: str, *toolboxes: str) -> None:
        self.principal = principal
        self.client = self
        self.toolboxes = toolboxes
        self.told: list[str] = []

    def sees(self, toolbox: str) -> bool:
        return toolbox in self.toolboxes

    def on_question(self, *_: object) -> None:
        self.told.append("question")

    def on_log(self, *_: object) -> None:
        self.told.append("log")

    def on_list_changed(self, kind: ListKind) -> None:
        self.told.append(kind)

    def on_updated(self, update: Update) -> None:
        self.told.append(update.uri)

    def on_elicitation_complete(self, *_: object) -> None:
        self.told.append("complete")


async def test_a_client_whose_toolbox_was_withdrawn_is_told_nothing_more_of_it() -> None:
    """With an access token the toolboxes may change from one request of a session to the next."""
    listeners, session = Listeners(), Line().connection.session
    toolbox = session.origin[0]
    before, still = Client("ann", toolbox), Client("bob", toolbox)
    for client in (before, still):
        listeners.add(client)
    before.toolboxes = ()
    listeners.updated(Update(session, "x://1", None, {}))
    listeners.elicitation_complete(session, {})
    listeners.list_changed(toolbox, "prompts")
    assert (before.told, still.told) == ([], ["x://1", "complete", "prompts"])
