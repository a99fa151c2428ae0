"""What a server asks a client, and how a modern request carries the answers back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mcp_workbench.wire.message import ABSENT, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.wire.message import Body

    Answers = Mapping[str, msgspec.Raw]


class Question(msgspec.Struct, frozen=True):
    """One question of a server to a client: the method and its parameters."""

    method: str
    params: msgspec.Raw = ABSENT
    is_ours: bool = False
    """Whether the workbench asks on its own behalf, and has written the text."""


def retry_fields(answers: Answers | None, state: Body) -> list[bytes]:
    """Return the members that a modern request has in addition when it is sent again with answers."""
    fields = []
    if answers is not None:
        fields.append(b'"inputResponses":%b' % encode(answers))
    if state:
        fields.append(b'"requestState":%b' % bytes(state))
    return fields
