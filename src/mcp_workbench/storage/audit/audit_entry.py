"""What the audit has of one call: a line of JSON. The members are documented, and stay."""

from __future__ import annotations

import msgspec

MAX_LINE_BYTES = 256 * 1024
"""Size of the longest line. A longer one was not written by the workbench."""


class AuditEntry(msgspec.Struct, omit_defaults=True, gc=False):
    """One line of the audit: a call that has ended, or that calls are missing."""

    time: str
    """When the call ended: local time with its offset, in milliseconds."""
    run: str
    """Identifies the workbench that recorded the call. With `number`, it identifies the call."""
    pid: int
    """The process id of the workbench."""
    number: int = 0
    """Counts the calls of this workbench from 1 on."""
    method: str = ""
    """The MCP method: `tools/call`, `resources/read`, `prompts/get` or `completion/complete`."""
    toolbox: str = ""
    server: str = ""
    name: str = ""
    """The tool, the resource URI or the prompt, as the server knows it."""
    outcome: str = ""
    """How the call ended, see `Outcome` of the door."""
    error: str = ""
    """The kind of error; empty if there was none."""
    seconds: float = 0.0
    """How long the call took, with all waiting."""
    request_bytes: int = 0
    response_bytes: int = 0
    principal: str = ""
    client: str = ""
    parent: int = 0
    """The number of the call that this one continues; 0 if there is none."""
    sources: tuple[str, ...] = ()
    """The servers whose kept results were handed to the server: `toolbox/server`."""
    decision: str = ""
    """What the policy decided: `allow`, `ask` or `deny`; empty if there is none."""
    rule: str = ""
    """The rule that decided about the call."""
    decided_by: str = ""
    """Who decided: `policy`, `user`, `session` or `console`."""
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The arguments with secrets masked, if they are recorded. A text says why they were left out."""
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The result of the server with secrets masked, if it is recorded. A text says why it was left out."""
    missing: int = 0
    """How many calls of this workbench are not in the audit, because it could not be written. A line with
    this number is about no call."""


encode_entries = msgspec.json.Encoder().encode_lines
decode_entry = msgspec.json.Decoder(AuditEntry).decode
