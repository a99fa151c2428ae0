"""The members of a result that describe the result itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.errors import BadAnswer
from mcp_workbench.wire.message import ABSENT

if TYPE_CHECKING:
    from mcp_workbench.wire.message import Body

TOO_DEEP: Final = "its result is nested too deeply"


class Stamps(msgspec.Struct):
    """The `resultType` and `_meta` of a result, if it has them."""

    result_type: msgspec.Raw = msgspec.field(default=ABSENT, name="resultType")
    meta: msgspec.Raw = msgspec.field(default=ABSENT, name="_meta")


_decode_stamps = msgspec.json.Decoder(Stamps).decode


def read_stamps(result: Body) -> Stamps:
    """Return the `resultType` and `_meta` of a result that is a JSON object. Raises BadAnswer."""
    try:
        return _decode_stamps(result)
    except RecursionError:
        # The line was decoded on a shallower call stack, which allowed a few levels more.
        raise BadAnswer(TOO_DEEP) from None
