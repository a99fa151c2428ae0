"""The `policy` of the file, a toolbox, a server or a token: what may be called, and how often.

Owns the words of a policy, and which tools a pattern is about. Which rule counts for a call is decided in
`workbench.policy.rules`.
"""

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

Action = Literal["allow", "ask", "deny"]
"""What a rule says about a call: let it pass, ask a person, or refuse it."""
ToolHint = Literal["read-only", "additive", "destructive", "unknown"]
"""What the locked annotations of a tool claim that it does. A key of a policy, beside names and globs."""
RequestKind = Literal["resources", "prompts", "completions"]
"""The requests that are not calls of tools. A key of a policy, beside names and globs."""
PolicyPlace = Literal["file", "toolbox", "server", "token"]
"""Where in the files a policy stands."""
PresetName = Literal["careful"]
"""A set of rules that has a name."""

ACTIONS: tuple[Action, ...] = get_args(Action)
"""What rules say, from the mildest to the strictest."""
HINTS: tuple[ToolHint, ...] = get_args(ToolHint)
KINDS: tuple[RequestKind, ...] = get_args(RequestKind)
EVERYTHING = "*"
"""The pattern that matches every call of every kind."""

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
    """A policy as it stands in one place of the configuration."""

    rules: dict[str, Action] = {}
    """What to do with calls, by tool names, globs, hints and kinds of requests, without the preset."""
    preset: PresetName | None = None
    """The rules with a name that hold where `rules` has none with the same key."""
    hide: bool | None = None
    """Whether denied tools are hidden; None if this policy does not say."""
    ask: AskPlace | None = None
    """Where a person is asked: through the client, or in a terminal; None if this policy does not say."""
    limits: LimitsConfig = LimitsConfig()


PRESETS: dict[PresetName, dict[str, Action]] = {
    "careful": {
        "read-only": "allow",
        "resources": "allow",
        "prompts": "allow",
        "completions": "allow",
        "additive": "ask",
        "destructive": "ask",
        "unknown": "ask",
    }
}
"""The rules of each preset. `careful` asks before everything that is not read-only."""

NO_POLICY = PolicyConfig()
"""The policy of a place that has none."""


class ToolPattern(msgspec.Struct, frozen=True):
    """The three parts of a pattern: each a name or a glob, and `*` where the pattern does not say."""

    toolbox: str
    server: str
    tool: str


_PARTS: dict[PolicyPlace, int] = {"file": 3, "token": 3, "toolbox": 2, "server": 1}


def read_pattern(written: str, place: PolicyPlace) -> ToolPattern | None:
    """Return the parts of a pattern in a policy of some place; None if it has too few, or an empty one.

    Only the last part may hold further slashes, because tools may have them in their names.
    """
    if "/" not in written or place == "server":
        return ToolPattern(EVERYTHING, EVERYTHING, written) if written else None
    count = _PARTS[place]
    parts = written.split("/", count - 1)
    if len(parts) < count or not all(parts):
        return None
    return ToolPattern(*(EVERYTHING,) * (3 - count), *parts)
