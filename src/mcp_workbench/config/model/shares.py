"""The `shares` object under `http`: how much of a shared workbench one principal may use.

Owns its keys, with their types, defaults and descriptions. A principal is the holder of a token, in all of
its sessions.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

_Count = Annotated[int, Meta(ge=1, le=100_000)]
_EXPECTED = {"expected": "a number from 1 to 100000, in digits only"}


class SharesConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Limits for each principal, where several share the workbench."""

    requests: Annotated[
        _Count,
        Meta(
            description="Requests of one principal in flight at once, to all servers together. "
            "More are refused with status 429.",
            examples=[1000],
            extra=_EXPECTED,
        ),
    ] = 1000
    calls: Annotated[
        _Count,
        Meta(
            description="Calls of one principal that a server works on at once, and never more than half of "
            "the server's `callLimit`. More wait until one of them has ended.",
            examples=[32],
            extra=_EXPECTED,
        ),
    ] = 32
    waiting: Annotated[
        _Count,
        Meta(
            description="Calls of one principal that wait for one server. More fail at once.",
            examples=[500],
            extra=_EXPECTED,
        ),
    ] = 500
    questions: Annotated[
        _Count,
        Meta(
            description="Calls of one principal that wait for an answer of its user or of its client. "
            "A server that asks more is refused.",
            examples=[50],
            extra=_EXPECTED,
        ),
    ] = 50
    searches: Annotated[
        _Count,
        Meta(
            description="Searches of one principal for regular expressions in kept results at once. "
            "More wait.",
            examples=[1],
            extra=_EXPECTED,
        ),
    ] = 1
    processes: Annotated[
        _Count,
        Meta(
            description='Servers with `"isolation": "client"` that run for one principal at once, in all of '
            "its sessions.",
            examples=[16],
            extra=_EXPECTED,
        ),
    ] = 16
    total_processes: Annotated[
        _Count,
        Meta(
            description='Servers with `"isolation": "client"` that run at once, for all principals together.',
            examples=[200],
            extra=_EXPECTED,
        ),
    ] = 200
