"""What of a message's metadata goes on to the client: all but what is stamped anew on every hop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.offer import members_of
from mcp_workbench.protocol import META_PROGRESS, RESERVED_META

if TYPE_CHECKING:
    import msgspec

    Members = dict[str, msgspec.Raw]


def passed_on(params: Members, **stamps: object) -> dict[str, object]:
    """Parameters of a server's as the client gets them, with stamps of ours in their metadata."""
    if "_meta" not in params:
        return {**params, "_meta": stamps} if stamps else {**params}
    meta = members_of(params["_meta"])
    kept = {key: meta[key] for key in meta if key != META_PROGRESS and not key.startswith(RESERVED_META)}
    return {**params, "_meta": {**kept, **stamps}}
