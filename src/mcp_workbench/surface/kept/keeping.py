"""Keeping what is large in a result before it is passed on, beside other calls if that takes a while."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mcp_workbench.surface.kept.results import shorten

if TYPE_CHECKING:
    import msgspec

    from mcp_workbench.downstream.call import Stamps
    from mcp_workbench.surface.relayed import Use
    from mcp_workbench.workbench.kept.drawer import Drawer

SOON: Final = 128 * 1024
"""Bytes of a result that is made short in less than 5 ms."""
LIMIT: Final = 60.0
"""Seconds for any other."""


def keep(use: Use, result: msgspec.Raw, stamps: Stamps | None, drawer: Drawer) -> bool:
    """Answers a call with its result in short, now or later. False if it is to be passed on as it is."""
    if len(result) > SOON or not drawer.has_room(len(result)):
        use.calls.finish_after(use, partial(_keep_later, use, result, stamps, drawer))
        return True
    limit = use.shelf.inline_limit
    short = shorten(result, limit)
    if short is None:
        return False
    drawer.keep_now(short.contents, use.shelf.server, limit)
    use.on_result(short.result, stamps)
    return True


async def _keep_later(use: Use, result: msgspec.Raw, stamps: Stamps | None, drawer: Drawer) -> None:
    server, limit = use.shelf.server, use.shelf.inline_limit
    try:
        short = await drawer.work(partial(shorten, result, limit), LIMIT)
    except TimeoutError:
        short = None
    is_kept = short is not None and await drawer.keep(short.contents, server, limit)
    use.on_result(short.result if is_kept and short is not None else result, stamps)
