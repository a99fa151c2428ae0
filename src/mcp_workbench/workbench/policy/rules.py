"""The rules of the policies that concern one server, and which of them decides about a call.

Several rules may match a call. In the same place, a rule yields to one with a more specific pattern. In
different places, it yields to one of the nearer place whose pattern is as specific; and a rule that names no
tool, by `*`, a hint or a kind of request, to every one of the nearer place. Among the rules that yield to
none, the strictest decides.
Without a rule a call is allowed. Owns that order, and the words that say what decided.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.globs import matches
from mcp_workbench.config.model.policy import (
    ACTIONS,
    EVERYTHING,
    HINTS,
    KINDS,
    NO_POLICY,
    PRESETS,
    read_pattern,
)
from mcp_workbench.config.model.results import BUILTIN
from mcp_workbench.workbench.door import CallDecision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_workbench.config import Origin, WorkbenchConfig
    from mcp_workbench.config.model.policy import (
        Action,
        PolicyConfig,
        PolicyPlace,
        RequestKind,
        ToolHint,
        ToolPattern,
    )

    PatternRank = tuple[int, int]
    """How specific a pattern is: what it is, and for a glob how many characters of it are no wildcards."""
    Graded = tuple["PolicyRule", PatternRank]
    """A rule that matches a call, and how specific its pattern is."""
    Verdict = CallDecision | Mapping[ToolHint, CallDecision]
    """The decision about a tool, or one for each hint if it depends on that."""

MAX_REMEMBERED_TOOLS: Final = 10_000
"""Tools of one server whose decision is remembered: clients may send any name."""

KIND_OF_METHOD: Final[Mapping[str, RequestKind]] = {
    "resources/read": "resources",
    "prompts/get": "prompts",
    "completion/complete": "completions",
}
"""The word of a policy for each request that is not a call of a tool."""

_PLACE_RANKS: Final[Mapping[PolicyPlace, int]] = {"file": 0, "toolbox": 1, "server": 2, "token": 3}
_ANY_RANK: Final = (0, 0)
_WORD_RANK: Final = (1, 0)
_GLOB_RANK: Final = 2
_NAME_RANK: Final = (3, 0)
_WORDS: Final = frozenset((*HINTS, *KINDS))
_WILDCARDS: Final = re.compile(r"\*|\?|\[!?[^]]+\]")


class PlacedPolicy(msgspec.Struct, frozen=True):
    """A policy, and where it stands."""

    place: PolicyPlace
    where: str
    """The place for people, such as `toolbox dev`."""
    policy: PolicyConfig


class PolicyRule(msgspec.Struct, frozen=True):
    """A rule that may concern calls of one server."""

    place: int
    """How specific its place is."""
    pattern: str
    """The last part of its pattern: `*`, a hint, a kind of request, or a tool's name or glob."""
    action: Action
    words: str
    """The rule and its place, for people."""

    def rank(self, tool: str | None) -> PatternRank | None:
        """Return how specific the rule is about a tool, or about a request that is not for a tool.

        None if it does not match, or if it is about hints or kinds of requests.
        """
        pattern = self.pattern
        if pattern == EVERYTHING:
            return _ANY_RANK
        if pattern in _WORDS:
            return None
        if tool is None:
            return None
        # Equality comes first: a tool may really be called "a[b]", which as a glob means "ab".
        if tool == pattern:
            return _NAME_RANK
        return (_GLOB_RANK, len(_WILDCARDS.sub("", pattern))) if matches(pattern, tool) else None


class ServerRules:
    """The rules that concern one server for one principal, and the decisions that follow from them."""

    def __init__(
        self, rules: Sequence[PolicyRule], placed: Sequence[PlacedPolicy], *, is_builtin: bool = False
    ) -> None:
        self._rules = rules
        said = [each.policy for each in reversed(placed)]
        self.asks_at: Literal["client", "console"] = next(
            (policy.ask for policy in said if policy.ask is not None), "client"
        )
        """Where a person is asked about calls of the server."""
        hides = next((policy.hide for policy in said if policy.hide is not None), False)
        self.hides = hides and not is_builtin and any(rule.action == "deny" for rule in rules)
        """Whether tools that are denied do not exist for the principal."""
        self.verdicts: dict[str, Verdict] = {}
        """The decisions about tools that were called or listed, by name."""
        self.of_methods: dict[str, CallDecision] = {
            method: self._decide([*self._about(None), *self._about_trait(kind)])
            for method, kind in KIND_OF_METHOD.items()
        }
        """The decisions about requests that are not calls of tools, by their methods."""

    def verdict(self, tool: str) -> Verdict:
        """Return the decision about a tool, or one for each hint that its annotations may give."""
        verdict = self.verdicts.get(tool)
        if verdict is None:
            # The names are compared once, and not for each hint: there may be a thousand rules.
            named = self._about(tool)
            by_hint = {hint: self._decide([*named, *self._about_trait(hint)]) for hint in HINTS}
            verdict = by_hint["unknown"] if len({*by_hint.values()}) == 1 else by_hint
            if len(self.verdicts) >= MAX_REMEMBERED_TOOLS:
                self.verdicts.clear()
            self.verdicts[tool] = verdict
        return verdict

    def _about(self, tool: str | None) -> list[Graded]:
        """Return the rules that match a tool by its name, or every call."""
        return [(rule, rank) for rule in self._rules if (rank := rule.rank(tool)) is not None]

    def _about_trait(self, trait: ToolHint | RequestKind) -> list[Graded]:
        """Return the rules about tools with a hint, or about a kind of request."""
        return [(rule, _WORD_RANK) for rule in self._rules if rule.pattern == trait]

    def _decide(self, found: Sequence[Graded]) -> CallDecision:
        """Return the decision of the rules that match a call."""
        # Of rules that are equally specific, only the strictest can decide, and of these the first.
        strictest: dict[tuple[int, PatternRank], PolicyRule] = {}
        for rule, rank in found:
            other = strictest.setdefault((rule.place, rank), rule)
            if ACTIONS.index(rule.action) > ACTIONS.index(other.action):
                strictest[rule.place, rank] = rule
        counting = [
            (ACTIONS.index(rule.action), grade, rule)
            for grade, rule in strictest.items()
            if not any(_is_beaten(grade, other) for other in strictest)
        ]
        if not counting:
            return CallDecision("allow", "")
        *_, rule = max(counting, key=lambda it: it[:2])
        return CallDecision(rule.action, rule.words, place=self.asks_at)


def rules_of(origin: Origin, config: WorkbenchConfig, token: PlacedPolicy | None = None) -> ServerRules:
    """Return the rules that concern a server of a configuration, for the holder of a token if there is one.

    The built-in server reads what the principal has got already. Only rules that name it concern it.
    """
    placed = [*placed_policies(origin, config), *([] if token is None else [token])]
    by_name = is_builtin(origin, config)
    return ServerRules(
        [rule for each in placed for rule in _rules_in(each, origin, by_name=by_name)],
        placed,
        is_builtin=by_name,
    )


def placed_policies(origin: Origin, config: WorkbenchConfig) -> list[PlacedPolicy]:
    """Return the policies of the file, the toolbox and the server that have one, from the outside in."""
    toolbox = config.toolboxes.get(origin[0])
    server = None if toolbox is None else toolbox.servers.get(origin[1])
    policies: list[tuple[PolicyPlace, str, PolicyConfig]] = [
        ("file", "the file", config.policy),
        ("toolbox", f"toolbox {origin[0]}", NO_POLICY if toolbox is None else toolbox.policy),
        ("server", f"server {'/'.join(origin)}", NO_POLICY if server is None else server.policy),
    ]
    return [PlacedPolicy(*each) for each in policies if each[2] != NO_POLICY]


def is_builtin(origin: Origin, config: WorkbenchConfig) -> bool:
    """Whether a server is the built-in one. A configured server may have its names."""
    toolbox = config.toolboxes.get(origin[0])
    return origin == BUILTIN and (toolbox is None or origin[1] not in toolbox.servers)


def concerns(pattern: ToolPattern, origin: Origin) -> bool:
    """Whether a pattern is about tools of this server."""
    return matches(pattern.toolbox, origin[0]) and matches(pattern.server, origin[1])


def _rules_in(placed: PlacedPolicy, origin: Origin, *, by_name: bool) -> Iterator[PolicyRule]:
    """Return the rules of one policy that are about a server, those of its preset included.

    With `by_name`, only those that name the toolbox or a tool.
    """
    policy = placed.policy
    preset = {} if policy.preset is None else PRESETS[policy.preset]
    written = [(key, action, "") for key, action in policy.rules.items()]
    written += [
        (key, action, f' of the preset "{policy.preset}"')
        for key, action in preset.items()
        if key not in policy.rules
    ]
    for key, action, source in written:
        pattern = read_pattern(key, placed.place)
        if pattern is None or not concerns(pattern, origin):
            continue
        if by_name and pattern.toolbox != origin[0] and not _is_name(pattern.tool):
            continue
        tool = pattern.tool if pattern.tool.strip(EVERYTHING) else EVERYTHING
        words = f'"{key}": "{action}"{source} of {placed.where}'
        yield PolicyRule(_place_rank(pattern, placed.place), tool, action, words)


def _is_name(pattern: str) -> bool:
    """Whether a pattern is the name of a tool, rather than a glob, a hint or a kind of request."""
    return pattern not in _WORDS and _WILDCARDS.search(pattern) is None


def _place_rank(pattern: ToolPattern, place: PolicyPlace) -> int:
    """Return how specific the place of a rule is. A pattern that names a toolbox counts as its own."""
    named = 2 if pattern.server != EVERYTHING else 1 if pattern.toolbox != EVERYTHING else 0
    return _PLACE_RANKS[place] + named if place == "token" else max(_PLACE_RANKS[place], named)


def _is_beaten(one: tuple[int, PatternRank], other: tuple[int, PatternRank]) -> bool:
    """Whether a rule yields to another, given the ranks of the places and the patterns of both."""
    (place, pattern), (other_place, other_pattern) = one, other
    if place == other_place:
        return pattern < other_pattern
    # A rule without a name yields to every rule of a nearer place: `"*": "allow"` exempts a trusted server.
    return place < other_place and pattern <= max(other_pattern, _WORD_RANK)
