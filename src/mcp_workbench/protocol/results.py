"""The members of a result that say what it is, whoever sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

TOO_DEEP: Final = "its result is nested too deeply"


class Stamps(msgspec.Struct):
    """The members of a result that are about it, as far as it has them."""

    result_type: msgspec.Raw = msgspec.field(default=ABSENT, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


_decode_stamps = msgspec.json.Decoder(Stamps).decode


def read_stamps(result: Body) -> Stamps:
    """The stamps of a result that is an object. Raises BadAnswer."""
    try:
        return _decode_stamps(result)
    except RecursionError:
        # Whoever has decoded the line was a few calls nearer to the limit of them.
        raise BadAnswer(TOO_DEEP) from None
