"""The `policy` of the file, of a toolbox, of a server and of a token: what is read, and every mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import load_usable
from mcp_workbench.config.model.policy import (
    NO_POLICY,
    CallLimits,
    LimitsConfig,
    PolicyConfig,
    ToolPattern,
    read_pattern,
)
from mcp_workbench.config.tokens import load_tokens
from mcp_workbench.errors import Problem
from tests.config.loading import load_content, problems, toolbox, write

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_workbench.config.model.policy import Action, PolicyPlace

EXAMPLE = 'Write "policy": "careful", or "policy": { "delete_*": "deny", "destructive": "ask" }'
ACTIONS = 'should be one of "allow", "ask", "deny"'
PRESET = 'should be the name of a preset: "careful"'
FIRST = "a rule has the pattern first, and then what to do"
NO_WORD = "is not a word of a policy"
THREE = 'a pattern with "/" is toolbox/server/tool at the top of the file'
TWO = 'a pattern with "/" is server/tool in the policy of a toolbox'
ONE = "a pattern is about the name of the tool only in the policy of a server"


def exactly(word: str) -> str:
    return f'Did you mean "{word}"? Write it exactly so.'


def really(word: str, escaped: str) -> str:
    return f'Did you mean "{word}"? For a tool that is really called so, write "{escaped}".'


def at(place: PolicyPlace, policy: object) -> dict[str, Any]:
    """A file whose policy stands in some place."""
    tree: dict[str, Any] = {"toolboxes": {"dev": toolbox(fs={"command": "x"})}}
    box = tree["toolboxes"]["dev"]
    {"file": tree, "toolbox": box, "server": box["mcpServers"]["fs"]}[place]["policy"] = policy
    return tree


def test_a_policy_may_stand_in_every_place(tmp_path: Path) -> None:
    tree = at("file", "careful")
    tree["toolboxes"]["dev"]["policy"] = {"fs/delete_*": "deny", "hide": True}
    limits = {"callsPerMinute": 60, "tools": {"search": {"callsInFlight": 2}}}
    tree["toolboxes"]["dev"]["mcpServers"]["fs"]["policy"] = {
        "preset": "careful",
        "ask": "console",
        "limits": limits,
        "*": "ask",
        "a/b": "allow",
        "unknown": "deny",
    }
    config = load_content(tmp_path, tree).config
    assert config.policy == PolicyConfig(preset="careful")
    box = config.toolboxes["dev"]
    assert box.policy == PolicyConfig(rules={"fs/delete_*": "deny"}, hide=True)
    assert box.servers["fs"].policy == PolicyConfig(
        rules={"*": "ask", "a/b": "allow", "unknown": "deny"},
        preset="careful",
        ask="console",
        limits=LimitsConfig(calls_per_minute=60, tools={"search": CallLimits(calls_in_flight=2)}),
    )
    assert load_content(tmp_path, {"toolboxes": {}}).config.policy == NO_POLICY


def test_a_tool_may_be_called_like_a_setting(tmp_path: Path) -> None:
    rules: dict[str, Action] = {"hide": "deny", "ask": "ask", "preset": "allow", "limits": "deny"}
    assert load_content(tmp_path, at("file", rules)).config.policy == PolicyConfig(rules=rules)


MISTAKES: list[tuple[PolicyPlace, Any, dict[str, tuple[str, str]]]] = [
    *(("file", preset, {"": (PRESET, exactly("careful"))}) for preset in ("careful ", "Careful", "carefull")),
    ("file", "strict", {"": (PRESET, EXAMPLE)}),
    ("file", None, {"": ('should be "careful" or an object, not null', EXAMPLE)}),
    ("file", True, {"": ('should be "careful" or an object, not a boolean', EXAMPLE)}),
    ("file", ["x"], {"": ('should be "careful" or an object, not a list', EXAMPLE)}),
    *(
        ("file", {"x": said}, {".x": (ACTIONS, exactly(meant))})
        for said, meant in {
            "Deny": "deny",
            "block": "deny",
            "denied": "deny",
            " deny": "deny",
            "denny": "deny",
            "confirm": "ask",
            "prompt": "ask",
            "ASK": "ask",
            "allowed": "allow",
            "yes": "allow",
        }.items()
    ),
    ("file", {"x": "maybe later"}, {".x": (ACTIONS, EXAMPLE)}),
    ("file", {"x": True}, {".x": (f"{ACTIONS}, not a boolean", 'Did you mean "allow"?')}),
    ("file", {"x": False}, {".x": (f"{ACTIONS}, not a boolean", 'Did you mean "deny"?')}),
    ("file", {"x": {}}, {".x": (f"{ACTIONS}, not an object", EXAMPLE)}),
    *(
        ("file", {key: "ask"}, {f".{key}": (NO_WORD, really(meant, f"[{key[0]}]{key[1:]}"))})
        for key, meant in {
            "read_only": "read-only",
            "readonly": "read-only",
            "readOnlyHint": "read-only",
            "Destructive": "destructive",
            "destrutive": "destructive",
            "Unknown": "unknown",
            "resource": "resources",
            "Prompts": "prompts",
            "completion": "completions",
            "default": "*",
            "Tools": "*",
        }.items()
    ),
    (
        "file",
        {"dev/fs/readonly": "ask"},
        {'["dev/fs/readonly"]': (NO_WORD, really("read-only", "dev/fs/[r]eadonly"))},
    ),
    ("file", {"fs/x": "ask"}, {'["fs/x"]': (THREE, 'Write "*/fs/x" or "fs/x/*"')}),
    ("file", {"dev//x": "ask"}, {'["dev//x"]': (THREE, 'Write "dev/*/x"')}),
    ("file", {"dev/fs/": "ask"}, {'["dev/fs/"]': (THREE, 'Write "dev/fs/*"')}),
    ("toolbox", {"dev/fs/x": "ask"}, {'["dev/fs/x"]': (TWO, 'Write "fs/x"')}),
    ("toolbox", {"fs/": "ask"}, {'["fs/"]': (TWO, 'Write "fs/*"')}),
    ("server", {"dev/fs/x": "ask"}, {'["dev/fs/x"]': (ONE, 'Write "x"')}),
    ("file", {" ": "ask"}, {'[" "]': ("a pattern cannot be empty", 'Write "*" for every call.')}),
    (
        "file",
        {"careful": True},
        {".careful": ("is a preset, and not a pattern", 'Write "preset": "careful"')},
    ),
    (
        "file",
        {"deny": ["a", "b"]},
        {".deny": (FIRST, 'Write each as a key of its own: "delete_*": "deny"')},
    ),
    ("file", {"ask": ["a"]}, {".ask": (FIRST, 'Write "destructive": "ask"')}),
    ("file", {"ask": "destructive"}, {".ask": (FIRST, 'Write "destructive": "ask"')}),
    (
        "file",
        {"ask": "terminal", "hide": "yes", "preset": "Careful", "limits": 5},
        {
            ".ask": ('should be where a person is asked: one of "client", "console"', exactly("console")),
            ".hide": (
                "should be true or false, not a string",
                'Write "hide": true to hide the tools that are denied.',
            ),
            ".preset": (PRESET, exactly("careful")),
            ".limits": (
                "should be an object, not a number",
                'Write "limits": { "callsPerMinute": 60, "callsInFlight": 4 }',
            ),
        },
    ),
    (
        "server",
        {"hides": True, "limit": {}, "Preset": "careful"},
        {
            ".hides": ("unknown key", exactly("hide")),
            ".limit": ("unknown key", exactly("limits")),
            ".Preset": ("unknown key", exactly("preset")),
        },
    ),
    (
        "file",
        {
            "limits": {
                "callPerMinute": 5,
                "rate": 5,
                "callsInFlight": 0,
                "tools": {"fs/x": {}, "destructive": {}, "a": 4, "b": {"tools": {}}},
            }
        },
        {
            ".limits.callPerMinute": ("unknown key", exactly("callsPerMinute")),
            ".limits.rate": ("unknown key", 'Write "callsPerMinute", "callsInFlight", "tools".'),
            ".limits.callsInFlight": (
                "should be a number of calls from 1 to 1000000, in digits only",
                'Write for example "callsInFlight": 4',
            ),
            '.limits.tools["fs/x"]': (THREE, 'Write "*/fs/x" or "fs/x/*"'),
            ".limits.tools.destructive": (
                "limits of single tools are by their names or globs",
                'Write "*" for each tool.',
            ),
            ".limits.tools.a": ("should be an object, not a number", 'Write "a": { "callsPerMinute": 10 }'),
            ".limits.tools.b.tools": ("unknown key", 'Write "callsPerMinute", "callsInFlight".'),
        },
    ),
]


@pytest.mark.parametrize(
    ("place", "policy", "expected"), MISTAKES, ids=[json.dumps(policy) for _, policy, _ in MISTAKES]
)
def test_every_mistake_is_named_with_its_remedy(
    tmp_path: Path, place: PolicyPlace, policy: object, expected: dict[str, tuple[str, str]]
) -> None:
    start = {"file": "", "toolbox": "toolboxes.dev.", "server": "toolboxes.dev.mcpServers.fs."}[place]
    assert problems(tmp_path, at(place, policy)) == [
        Problem(f"{start}policy{where}", what, remedy) for where, (what, remedy) in expected.items()
    ]


def test_a_slip_in_the_key_itself_is_an_error(tmp_path: Path) -> None:
    for slip in ("polcy", "Policy", "policies"):
        assert problems(tmp_path, {slip: "careful", "toolboxes": {}}) == [
            Problem(slip, "unknown key", exactly("policy"))
        ]


def test_the_value_of_a_variable_is_not_shown(tmp_path: Path) -> None:
    tree = at("file", {"${BOX}/x": "${WHAT}", "y": "${WHAT}"})
    found = problems(tmp_path, tree, {"BOX": "hunter2", "WHAT": "hunter3"})
    assert len(found) == 2
    assert "hunter" not in str(found)


def test_a_rule_that_never_matches_is_no_mistake_but_a_likely_slip_is_a_warning(tmp_path: Path) -> None:
    assert load_content(tmp_path, at("file", {"gone/fs/x": "deny", "nothing": "ask"})).warnings == ()
    (warning,) = load_content(tmp_path, at("server", {"fs/x": "deny"})).warnings
    assert warning == (
        'toolboxes.dev.mcpServers.fs.policy["fs/x"]: '
        'matches a tool with this whole name; for the tool "x", write only that'
    )


@pytest.mark.parametrize("place", ["file", "toolbox", "server"])
def test_what_has_a_policy_with_a_mistake_cannot_be_used(tmp_path: Path, place: PolicyPlace) -> None:
    """With `--keep-going` too: with half of its rules, calls would pass that were not meant to."""
    faults = load_usable(write(tmp_path, at(place, {"x": "block"})), {}).faults
    assert (bool(faults.file), list(faults.toolboxes), list(faults.servers), faults.settings) == {
        "file": (True, [], [], ()),
        "toolbox": (False, ["dev"], [], ()),
        "server": (False, [], [("dev", "fs")], ()),
    }[place]


def test_a_token_may_have_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = {"token": "t" * 40, "toolboxes": ["*"]}
    written = {"*": "deny", "dev/fs/read": "allow", "limits": {"callsPerMinute": 5}}
    path.write_text(json.dumps({"tokens": {"ci": {**token, "policy": written}}}), encoding="utf-8")
    path.chmod(0o600)
    assert load_tokens(path, {}).tokens["ci"].policy == PolicyConfig(
        rules={"*": "deny", "dev/fs/read": "allow"}, limits=LimitsConfig(calls_per_minute=5)
    )


@pytest.mark.parametrize(
    ("written", "place", "parts"),
    [
        ("x", "file", ("*", "*", "x")),
        ("a/b/c", "file", ("a", "b", "c")),
        ("a/b/c/d", "token", ("a", "b", "c/d")),
        ("a/b", "token", None),
        ("a/b", "toolbox", ("*", "a", "b")),
        ("a/b/c", "toolbox", ("*", "a", "b/c")),
        ("a/b", "server", ("*", "*", "a/b")),
        ("a//c", "file", None),
        ("", "server", None),
    ],
)
def test_a_pattern_has_the_parts_of_its_place(
    written: str, place: PolicyPlace, parts: tuple[str, str, str] | None
) -> None:
    assert read_pattern(written, place) == (None if parts is None else ToolPattern(*parts))
