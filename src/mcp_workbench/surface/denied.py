"""A request over HTTP that is not let in: what its sender is told, in the terms of HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Denied(Exception):
    """Nothing was done for the request. The reason is for whoever sent it, and quotes no token."""

    def __init__(self, status: int, reason: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        self.reason = reason
        self.headers = list(headers)
        super().__init__(f"{status}: {reason}")
