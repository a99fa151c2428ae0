"""What a server says that it has, beyond tools."""

from __future__ import annotations

from typing import Literal

import msgspec

from mcp_workbench.wire.message import ABSENT, members_of

TRUE = msgspec.Raw(b"true")

MAX_INFO_BYTES = 16 * 1024
"""Bytes that a server may say about itself, and which are remembered."""

Capability = Literal["resources", "prompts", "completions"]


class Offer(msgspec.Struct, frozen=True):
    """Its capabilities, as far as we make use of them."""

    tools_change: bool = False
    """Whether it says when its tools have changed."""
    prompts: bool = False
    prompts_change: bool = False
    resources: bool = False
    resources_change: bool = False
    updates: bool = False
    """Whether it says when a resource has changed."""
    completions: bool = False
    logging: bool = False
    server_info: msgspec.Raw = ABSENT
    """What it says about itself."""

    @property
    def changing(self) -> list[str]:
        """The kinds of things of which it says when their list has changed."""
        changing = {
            "tools": self.tools_change,
            "prompts": self.prompts_change,
            "resources": self.resources_change,
        }
        return [kind for kind, is_said in changing.items() if is_said]

    def has(self, capability: Capability) -> bool:
        """Whether this is among them."""
        offered: bool = getattr(self, capability)
        return offered


def read_offer(capabilities: msgspec.Raw, server_info: msgspec.Raw = ABSENT) -> Offer:
    """The offer in the `capabilities` of a handshake or a discovery; what cannot be read is not offered."""
    has = members_of(capabilities)
    tools, prompts, resources = (
        members_of(has.get(name, ABSENT)) for name in ("tools", "prompts", "resources")
    )
    return Offer(
        tools_change=tools.get("listChanged") == TRUE,
        prompts="prompts" in has,
        prompts_change=prompts.get("listChanged") == TRUE,
        resources="resources" in has,
        resources_change=resources.get("listChanged") == TRUE,
        updates=resources.get("subscribe") == TRUE,
        completions="completions" in has,
        logging="logging" in has,
        # Copied: it would keep the whole line in memory.
        server_info=server_info.copy() if len(server_info) <= MAX_INFO_BYTES else ABSENT,
    )
