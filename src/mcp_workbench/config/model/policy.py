"""The `policy` of the file, a toolbox, a server or a token: what may be called, and how often.

Owns the words of a policy. Which rule counts for a call is decided in `workbench.policy.rules`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Action = Literal["allow", "ask", "deny"]
"""What a rule says about a call: let it pass, ask a person, or refuse it."""
ToolHint = Literal["read-only", "additive", "destructive", "unknown"]
"""What the locked annotations of a tool claim that it does. A key of a policy, beside names and globs."""
RequestKind = Literal["resources", "prompts", "completions"]
"""The requests that are not calls of tools. A key of a policy, beside names and globs."""

AskPlace = Literal["client", "console"]
"""Where a person is asked: the user of the client, or somebody in a terminal."""

_Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class CallLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many calls may be made in a minute, and be in flight at once."""

    calls_per_minute: Annotated[
        _Count | None,
        Meta(
            description="Calls that may begin within any minute.",
            examples=[60],
            extra={"expected": "a number of calls from 1 to 1000000, in digits only"},
        ),
    ] = None
    calls_in_flight: Annotated[
        _Count | None,
        Meta(
            description="Calls that may be in flight at once.",
            examples=[4],
            extra={"expected": "a number of calls from 1 to 1000000, in digits only"},
        ),
    ] = None


class LimitsConfig(CallLimits, frozen=True, kw_only=True, rename="camel"):
    """The `limits` of a policy: for all calls together, and for each of certain tools."""

    tools: Annotated[
        dict[str, CallLimits],
        Meta(description="Limits of each tool whose name matches a name or a glob."),
    ] = {}


class PolicyConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as it stands in one place of the configuration, with its preset spelled out as rules."""

    rules: dict[str, Action] = {}
    """What to do with calls, by tool names, globs, hints and kinds of requests."""
    hide: bool | None = None
    """Whether denied tools are hidden; None if this policy does not say."""
    ask: AskPlace | None = None
    """Where a person is asked: through the client, or in a terminal; None if this policy does not say."""
    limits: LimitsConfig = LimitsConfig()


CAREFUL: dict[str, Action] = {
    "read-only": "allow",
    "resources": "allow",
    "prompts": "allow",
    "completions": "allow",
    "additive": "ask",
    "destructive": "ask",
    "unknown": "ask",
}
"""The rules of the preset `careful`: ask before everything that is not read-only."""

NO_POLICY = PolicyConfig()
"""The policy of a place that has none."""
