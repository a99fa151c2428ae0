"""Which rule decides about a call: a plain, slow model, written from the words of docs/policy.md."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

WORDS = ("read-only", "additive", "destructive", "unknown", "resources", "prompts", "completions")
STRICTNESS = ("allow", "ask", "deny")
PRESETS = {
    "careful": {
        **dict.fromkeys(("read-only", "resources", "prompts", "completions"), "allow"),
        **dict.fromkeys(("additive", "destructive", "unknown"), "ask"),
    }
}


@dataclass(frozen=True)
class Asked:
    """A call: its server, the name of the tool (None for another request), and its hint or kind."""

    toolbox: str
    server: str
    tool: str | None
    word: str


def decision(call: Asked, policies: dict[str, dict[str, Any]]) -> str:
    """What the policies by place (`file`, `toolbox`, `server`, `token`) that concern a call say about it."""
    rules = []
    for place, policy in policies.items():
        spelled = PRESETS.get(policy.get("preset", ""), {}) | {
            key: value for key, value in policy.items() if value in STRICTNESS
        }
        rules += [
            (specific, action)
            for key, action in spelled.items()
            if (specific := _specificity(key, place, call)) is not None
        ]
    left = [(one, action) for one, action in rules if not any(_yields(one, other) for other, _ in rules)]
    return max((action for _, action in left), key=STRICTNESS.index, default="allow")


def _yields(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    (place, pattern), (other_place, other_pattern) = one, other
    names_no_tool = pattern[0] < 2
    if other_place > place:
        return bool(names_no_tool or other_pattern >= pattern)
    return bool(other_place == place and other_pattern > pattern)


def _specificity(key: str, place: str, call: Asked) -> tuple[float, tuple[int, int]] | None:
    """How specific a rule is in its place and in its pattern; None if it does not match the call."""
    toolbox, server, tool = "*", "*", key
    if "/" in key and place in ("file", "token"):
        toolbox, server, tool = key.split("/", 2)
    elif "/" in key and place == "toolbox":
        server, tool = key.split("/", 1)
    if not (fnmatchcase(call.toolbox, toolbox) and fnmatchcase(call.server, server)):
        return None
    pattern = _pattern(tool, call)
    if pattern is None:
        return None
    named = "server" if server != "*" else "toolbox" if toolbox != "*" else "file"
    order = ("file", "toolbox", "server", "token")
    where = max(order.index(place), order.index(named))
    # Inside a token, a pattern that names a place is the more specific one.
    return (where + order.index(named) / 10 if place == "token" else where), pattern


def _pattern(tool: str, call: Asked) -> tuple[int, int] | None:
    if tool == "*":
        return 0, 0
    if tool in WORDS:
        return (1, 0) if tool == call.word else None
    if call.tool is None:
        return None
    if tool == call.tool:
        return 3, 0
    literal = sum(letter not in "*?" for letter in tool)
    return (2, literal) if fnmatchcase(call.tool, tool) else None
