"""What a server offers, and what it tells models, according to its handshake."""

from __future__ import annotations

from typing import Literal

import msgspec

from mcp_workbench.wire.message import ABSENT, decode_text, members_of

TRUE = msgspec.Raw(b"true")

MAX_INFO_BYTES = 16 * 1024
"""Maximum size of the `serverInfo` that is kept."""
MAX_INSTRUCTIONS_CHARACTERS = 16 * 1024
"""Length of the `instructions` that are kept. Longer ones are cut."""

Capability = Literal["resources", "prompts", "completions"]


class Offer(msgspec.Struct, frozen=True):
    """The capabilities of a server that the workbench uses."""

    tools: bool = False
    tools_change: bool = False
    """Whether the server notifies of changes in its list of tools."""
    prompts: bool = False
    prompts_change: bool = False
    resources: bool = False
    resources_change: bool = False
    updates: bool = False
    """Whether the server notifies of changes in a resource."""
    completions: bool = False
    logging: bool = False
    server_info: msgspec.Raw = ABSENT
    """The `serverInfo` of the server as JSON."""
    instructions: str = ""
    """What the server's author tells models about the use of its tools."""

    @property
    def changing(self) -> list[str]:
        """The kinds of lists that the server notifies of changes in."""
        changing = {
            "tools": self.tools_change,
            "prompts": self.prompts_change,
            "resources": self.resources_change,
        }
        return [kind for kind, is_said in changing.items() if is_said]

    def has(self, capability: Capability) -> bool:
        """Whether the server offers this capability."""
        offered: bool = getattr(self, capability)
        return offered


def read_offer(
    capabilities: msgspec.Raw, server_info: msgspec.Raw = ABSENT, instructions: msgspec.Raw = ABSENT
) -> Offer:
    """Return the offer in the members of a response. What cannot be read is not offered."""
    has = members_of(capabilities)
    tools, prompts, resources = (
        members_of(has.get(name, ABSENT)) for name in ("tools", "prompts", "resources")
    )
    return Offer(
        tools="tools" in has,
        tools_change=tools.get("listChanged") == TRUE,
        prompts="prompts" in has,
        prompts_change=prompts.get("listChanged") == TRUE,
        resources="resources" in has,
        resources_change=resources.get("listChanged") == TRUE,
        updates=resources.get("subscribe") == TRUE,
        completions="completions" in has,
        logging="logging" in has,
        # Copied: a view would keep the whole line in memory.
        server_info=server_info.copy() if len(server_info) <= MAX_INFO_BYTES else ABSENT,
        instructions=(decode_text(instructions) or "").strip()[:MAX_INSTRUCTIONS_CHARACTERS],
    )
