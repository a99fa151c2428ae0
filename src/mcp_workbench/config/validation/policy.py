"""Checks the `policy` of the file, a toolbox, a server or a token.

Owns the rules of the object, and what people write by mistake instead. A word that is not understood is an
error, never ignored: what was meant to limit calls must not be without effect. Loaded only for a file that
has a policy. Values are not quoted, because they may come from a variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from mcp_workbench.config.edit_distance import edit_distance
from mcp_workbench.config.model.policy import (
    ACTIONS,
    EVERYTHING,
    HINTS,
    KINDS,
    CallLimits,
    LimitsConfig,
    PolicyConfig,
    PresetName,
    read_pattern,
)
from mcp_workbench.config.validation.fields import as_object, convert_fields, kind_of, plain_fields
from mcp_workbench.config.validation.problems import quoted
from mcp_workbench.config.validation.suggest import meant_key
from mcp_workbench.config.validation.text import check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config.model.policy import PolicyPlace
    from mcp_workbench.config.validation.problems import Place, Problems

_EXAMPLE = '"policy": "careful", or "policy": { "delete_*": "deny", "destructive": "ask" }'
_ACTIONS = 'one of "allow", "ask", "deny"'
_SAME_ACTION = {
    **dict.fromkeys(("allowed", "accept", "always", "auto", "grant", "permit", "true", "yes"), "allow"),
    **dict.fromkeys(("approve", "approval", "confirm", "manual", "prompt", "warn"), "ask"),
    **dict.fromkeys(
        ("block", "blocked", "denied", "disallow", "false", "forbid", "never", "no", "refuse", "reject"),
        "deny",
    ),
}
_PLACES = ("client", "console")
_SAME_PLACE = {"elicitation": "client", "user": "client", "shell": "console", "terminal": "console"}
_SAME_WORD = {
    "readonlyhint": "read-only",
    "destructivehint": "destructive",
    **{kind.removesuffix("s"): kind for kind in KINDS},
    **dict.fromkeys(("all", "any", "default", "else", "everything", "otherwise", "tools"), EVERYTHING),
}
_PRESETS = get_args(PresetName)
_FORMS: dict[PolicyPlace, str] = {
    "file": 'a pattern with "/" is toolbox/server/tool',
    "token": 'a pattern with "/" is toolbox/server/tool',
    "toolbox": 'a pattern with "/" is server/tool',
    "server": "a pattern is about the name of the tool only",
}
_LIMIT_FIELDS = plain_fields(CallLimits)
_LIMIT_KEYS = CallLimits.__struct_encode_fields__
_LIMITS = '"limits": { "callsPerMinute": 60, "callsInFlight": 4 }'
_MIN_WORD_CHARACTERS = 7
"""Characters of the shortest word of which one with a wrong letter counts as a slip."""


def read_policy(
    value: object, kind: PolicyPlace, place: Place, problems: Problems, around: Sequence[str] = ()
) -> PolicyConfig:
    """Return the policy of some place. Report every mistake in it, and leave out what is wrong.

    `around` are the names of the toolbox, and of the server, that the policy belongs to.
    """
    return _Reader(kind, around, problems).read(value, place)


class _Reader:
    """Reads one policy, and reports the mistakes in it."""

    def __init__(self, kind: PolicyPlace, around: Sequence[str], problems: Problems) -> None:
        self._kind = kind
        self._around = around
        self._problems = problems

    def read(self, value: object, place: Place) -> PolicyConfig:
        """Return the policy, which is the name of a preset or an object."""
        if isinstance(value, str):
            preset = self._word(value, _PRESETS, {}, place, "the name of a preset: ")
            return PolicyConfig() if preset is None else PolicyConfig(preset=preset)
        if not isinstance(value, dict):
            what = f'should be "careful" or an object, not {kind_of(value)}'
            self._problems.add(place, what, f"Write {_EXAMPLE}")
            return PolicyConfig()
        settings: dict[str, Any] = {}
        rules: dict[str, Any] = {}
        for key, said in value.items():
            inside = (*place, key)
            if key in _SETTINGS and said not in ACTIONS:
                if (setting := _SETTINGS[key](self, said, inside)) is not None:
                    settings[key] = setting
            elif self._is_pattern(key, inside):
                action = self._action(key, said, inside)
                if action is not None:
                    rules[key] = action
        return PolicyConfig(rules=rules, **settings)

    def _action(self, key: str, value: object, place: Place) -> Any:
        if key in _PRESETS:
            self._problems.add(place, "is a preset, and not a pattern", f'Write "preset": "{key}"')
            return None
        if isinstance(value, bool) and meant_key(key, ("hide",)) is None:
            what = f"should be {_ACTIONS}, not a boolean"
            self._problems.add(place, what, f'Did you mean "{"allow" if value else "deny"}"?')
            return None
        if isinstance(value, list) and key in ACTIONS:
            what = "a rule has the pattern first, and then what to do"
            self._problems.add(place, what, f'Write each as a key of its own: "delete_*": "{key}"')
            return None
        if not isinstance(value, str) or value in (*_PRESETS, *_PLACES):
            setting = meant_key(key, _SETTINGS)
            if setting is not None:
                self._problems.add(place, "unknown key", f'Did you mean "{setting}"? Write it exactly so.')
                return None
        return self._word(value, ACTIONS, _SAME_ACTION, place, "")

    def _word(
        self, value: object, words: Sequence[str], same: dict[str, str], place: Place, noun: str
    ) -> Any:
        """Return a value that has to be one of some words; report another one, with the word it may mean."""
        if isinstance(value, str) and value in words:
            return value
        listed = ", ".join(f'"{word}"' for word in words)
        what = f"should be {noun}{'one of ' if len(words) > 1 else ''}{listed}"
        if not isinstance(value, str):
            self._problems.add(place, f"{what}, not {kind_of(value)}", f"Write {_EXAMPLE}")
            return None
        folded = value.strip().lower()
        meant = folded if folded in words else same.get(folded) or meant_key(folded, words)
        remedy = f"Write {_EXAMPLE}" if meant is None else f'Did you mean "{meant}"? Write it exactly so.'
        self._problems.add(place, what, remedy)
        return None

    def _preset(self, value: object, place: Place) -> Any:
        return self._word(value, _PRESETS, {}, place, "the name of a preset: ")

    def _hide(self, value: object, place: Place) -> bool | None:
        if isinstance(value, bool):
            return value
        what = f"should be true or false, not {kind_of(value)}"
        self._problems.add(place, what, 'Write "hide": true to hide the tools that are denied.')
        return None

    def _ask(self, value: object, place: Place) -> Any:
        if isinstance(value, list) or (isinstance(value, str) and value in (*HINTS, *KINDS)):
            what = "a rule has the pattern first, and then what to do"
            self._problems.add(place, what, 'Write "destructive": "ask"')
            return None
        return self._word(value, _PLACES, _SAME_PLACE, place, "where a person is asked: ")

    def _limits(self, value: object, place: Place) -> LimitsConfig | None:
        limits = as_object(value, place, _LIMITS, self._problems)
        if limits is None:
            return None
        values = self._counts(limits, (*_LIMIT_KEYS, "tools"), place)
        tools: dict[str, CallLimits] = {}
        if "tools" in limits:
            inside = (*place, "tools")
            example = '"tools": { "search_*": { "callsPerMinute": 10 } }'
            for pattern, each in (as_object(limits["tools"], inside, example, self._problems) or {}).items():
                if not self._is_pattern(pattern, (*inside, pattern), names_only=True):
                    continue
                example = f'{quoted(pattern)}: {{ "callsPerMinute": 10 }}'
                entry = as_object(each, (*inside, pattern), example, self._problems)
                if entry is not None:
                    counts = self._counts(entry, _LIMIT_KEYS, (*inside, pattern))
                    tools[pattern] = CallLimits(**counts)
        return LimitsConfig(tools=tools, **values)

    def _counts(self, entry: dict[str, object], known: Sequence[str], place: Place) -> dict[str, Any]:
        for key in entry:
            if key not in known:
                meant = meant_key(key, known)
                listed = ", ".join(f'"{word}"' for word in known)
                remedy = f'Did you mean "{meant}"? Write it exactly so.' if meant else f"Write {listed}."
                self._problems.add((*place, key), "unknown key", remedy)
        return convert_fields(entry, _LIMIT_FIELDS, place, self._problems)

    def _is_pattern(self, key: str, place: Place, *, names_only: bool = False) -> bool:
        """Whether a key can be the pattern of a rule. Report one that cannot be one."""
        if key == EVERYTHING:
            return True
        if not key.strip():
            self._problems.add(place, "a pattern cannot be empty", 'Write "*" for every call.')
            return False
        check_text(key, place, self._problems)
        if not self._has_its_parts(key, place):
            return False
        pattern = read_pattern(key, self._kind)
        tool = "" if pattern is None else pattern.tool
        if tool in (*HINTS, *KINDS):
            if names_only:
                what = "limits of single tools are by their names or globs"
                self._problems.add(place, what, f'Write "{EVERYTHING}" for each tool.')
            return not names_only
        if (word := _meant_word(tool)) is not None:
            spelled = self._problems.spelling(place)
            start = spelled.rfind("/") + 1
            escaped = f"{spelled[:start]}[{spelled[start]}]{spelled[start + 1 :]}"
            remedy = f'Did you mean "{word}"? For a tool that is really called so, write {quoted(escaped)}.'
            self._problems.add(place, "is not a word of a policy", remedy)
            return False
        return True

    def _has_its_parts(self, key: str, place: Place) -> bool:
        form = _FORMS[self._kind]
        wrong = f"{form} {_here(self._kind)}"
        if self._kind in ("toolbox", "server"):
            own = "/".join(self._around)
            rest = self._rest(own, place)
            if rest and (self._kind == "server" or "/" in rest):
                self._problems.add(place, wrong, f"Write {quoted(rest)}")
                return False
        if self._kind == "server":
            if rest := self._rest(self._around[-1], place):
                what = f"matches a tool with this whole name; for the tool {quoted(rest)}, write only that"
                self._problems.warn(place, what)
            return True
        if read_pattern(key, self._kind) is not None:
            return True
        parts = [part or EVERYTHING for part in self._problems.spelling(place).split("/")]
        missing = [EVERYTHING] * (form.rpartition(" ")[2].count("/") + 1 - len(parts))
        right = dict.fromkeys(("/".join([*missing, *parts]), "/".join([*parts, *missing])))
        self._problems.add(place, wrong, f"Write {' or '.join(map(quoted, right))}")
        return False

    def _rest(self, name: str, place: Place) -> str:
        """Return what follows this name and a slash in a pattern; empty if it does not begin so."""
        spelled = self._problems.spelling(place)
        return spelled.removeprefix(f"{name}/") if spelled.startswith(f"{name}/") else ""


_SETTINGS = {
    "preset": _Reader._preset,  # noqa: SLF001 - of this module
    "hide": _Reader._hide,  # noqa: SLF001 - of this module
    "ask": _Reader._ask,  # noqa: SLF001 - of this module
    "limits": _Reader._limits,  # noqa: SLF001 - of this module
}
"""The keys that are no patterns, unless their value says what to do with a call: a tool may have the name."""


def _here(kind: PolicyPlace) -> str:
    return "at the top of the file" if kind == "file" else f"in the policy of a {kind}"


def _meant_word(key: str) -> str | None:
    """Return the hint or the kind of request that a key is probably meant to be, or None."""
    folded = _fold(key)
    for word in (*HINTS, *KINDS):
        limit = 1 if len(word) >= _MIN_WORD_CHARACTERS else 0
        if edit_distance(folded, _fold(word), limit) <= limit:
            return word
    return _SAME_WORD.get(folded)


def _fold(key: str) -> str:
    return key.strip().lower().replace("_", "").replace("-", "").replace(" ", "")
