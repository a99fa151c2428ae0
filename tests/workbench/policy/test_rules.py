"""Which rule decides about a call, compared with a plain model of the documentation, and in which words."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.config import load_data
from mcp_workbench.config.model.policy import HINTS, PRESETS, PolicyConfig
from mcp_workbench.config.model.results import BUILTIN
from mcp_workbench.workbench.door import CallDecision
from mcp_workbench.workbench.policy import rules
from mcp_workbench.workbench.policy.rules import KIND_OF_METHOD, PlacedPolicy, rules_of
from tests.workbench.policy import plain_model
from tests.workbench.policy.plain_model import Asked, decision

if TYPE_CHECKING:
    from mcp_workbench.config import WorkbenchConfig
    from mcp_workbench.config.model.policy import ToolHint
    from mcp_workbench.workbench.policy.rules import ServerRules

ACTIONS = ("allow", "ask", "deny")
TOOLS = ("read", "read_file", "delete_file", "delete_a/b", "unknown")
PATTERNS = (
    "*",
    "read",
    "read_*",
    "*_file",
    "delete_*",
    "delete_fil?",
    "?e*",
    "delete_a/b",
    *plain_model.WORDS,
)


def config_of(*, file: Any = None, toolbox: Any = None, server: Any = None) -> WorkbenchConfig:
    """A configuration with the servers dev/fs and dev/git, and policies in some places."""
    named = {"file": file, "toolbox": toolbox, "server": server}
    written = {place: {} if policy is None else {"policy": policy} for place, policy in named.items()}
    servers = {"fs": {"command": "x", **written["server"]}, "git": {"command": "x"}}
    box = {"description": "d", "mcpServers": servers, **written["toolbox"]}
    return load_data({"toolboxes": {"dev": box}, "results": False, **written["file"]}, {}).config


def token_of(**rules: Any) -> PlacedPolicy:
    return PlacedPolicy("token", "token ci", PolicyConfig(rules=rules))


def decide(server_rules: ServerRules, tool: str, hint: ToolHint = "unknown") -> CallDecision:
    verdict = server_rules.verdict(tool)
    return verdict if isinstance(verdict, CallDecision) else verdict[hint]


PREFIXES = {
    "file": ("", "dev/fs/", "dev/*/", "*/fs/", "*/*/", "d*/f?/", "other/fs/"),
    "toolbox": ("", "fs/", "*/", "f*/", "git/"),
    "server": ("",),
}
PREFIXES["token"] = PREFIXES["file"]


def policies_in(place: str) -> st.SearchStrategy[dict[str, str]]:
    """Some rules, spelled as their place requires, and perhaps a preset."""
    keys = [
        prefix + tool
        for prefix in PREFIXES[place]
        for tool in PATTERNS
        if prefix or place == "server" or "/" not in tool
    ]
    rules = st.dictionaries(st.sampled_from(keys), st.sampled_from(ACTIONS), max_size=4)
    presets = st.sampled_from([{}, {}, {}, {"preset": "careful"}])
    return st.builds(lambda rules, preset: rules | preset, rules, presets)


@settings(max_examples=150)
@given(st.fixed_dictionaries({}, optional={place: policies_in(place) for place in PREFIXES}))
def test_every_decision_is_that_of_the_plain_model(policies: dict[str, dict[str, str]]) -> None:
    config = config_of(**{place: policies[place] for place in policies if place != "token"})
    written = policies.get("token", {})
    of_token = msgspec.convert(
        {"rules": {key: action for key, action in written.items() if action in ACTIONS}}
        | ({"preset": "careful"} if "preset" in written else {}),
        PolicyConfig,
    )
    found = rules_of(("dev", "fs"), config, PlacedPolicy("token", "token ci", of_token))
    for tool in TOOLS:
        for hint in HINTS:
            asked = Asked("dev", "fs", tool, hint)
            assert decide(found, tool, hint).action == decision(asked, policies), asked
    for method, kind in KIND_OF_METHOD.items():
        asked = Asked("dev", "fs", None, kind)
        assert found.of_methods[method].action == decision(asked, policies), asked


def test_the_presets_are_those_of_the_documentation() -> None:
    assert PRESETS == plain_model.PRESETS


PAGE = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| ((?:file|toolbox|server|token): .*?) \| (.*?) \| (allow|ask|deny)\b", PAGE, re.MULTILINE
)


@pytest.mark.parametrize(("written", "call", "action"), ROWS, ids=[row[0] for row in ROWS])
def test_the_examples_of_the_documentation_are_true(written: str, call: str, action: str) -> None:
    policies: dict[str, dict[str, Any]] = {}
    for part in written.split("; "):
        place, _, listed = part.partition(": ")
        preset = {"preset": "careful"} if listed == '`"careful"`' else {}
        policies[place] = dict(re.findall(r'"([^"]+)": "([^"]+)"', listed)) | preset
    token = policies.pop("token", None)
    placed = None if token is None else PlacedPolicy("token", "token ci", PolicyConfig(rules=token))
    (tool,) = re.findall(r"^`(\w+)`$", call) or ["read_file"]
    found = rules_of(("dev", "fs"), config_of(**policies), placed)
    hints = HINTS if call.startswith("any tool") else ("read-only",)
    assert {decide(found, tool, hint).action for hint in hints} == {action}


def test_all_examples_were_found() -> None:
    assert len(ROWS) == 8


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ({"toolbox": {"delete_*": "deny"}}, '"delete_*": "deny" of toolbox dev'),
        ({"file": "careful"}, '"destructive": "ask" of the preset "careful" of the file'),
        ({"server": {"delete_file": "ask", "*": "deny"}}, '"delete_file": "ask" of server dev/fs'),
        ({"file": {"dev/fs/*_file": "ask"}}, '"dev/fs/*_file": "ask" of the file'),
        ({"file": {"preset": "careful", "destructive": "deny"}}, '"destructive": "deny" of the file'),
        ({"file": {"prompts": "deny"}}, ""),
    ],
)
def test_what_decided_is_said(policies: dict[str, Any], words: str) -> None:
    found = rules_of(("dev", "fs"), config_of(**policies))
    assert decide(found, "delete_file", "destructive").rule == words


def test_the_rule_of_a_token_is_said_to_be_its() -> None:
    found = rules_of(("dev", "fs"), config_of(file={"read": "deny"}), token_of(read="allow"))
    assert decide(found, "read") == CallDecision("allow", '"read": "allow" of token ci')


@pytest.mark.parametrize(
    ("policies", "of_token", "place"),
    [
        ({"file": {"*": "ask"}}, None, "client"),
        ({"file": {"*": "ask", "ask": "console"}}, None, "console"),
        ({"file": {"*": "ask", "ask": "console"}, "server": {"ask": "client"}}, None, "client"),
        ({"server": {"*": "ask", "ask": "client"}}, "console", "console"),
    ],
)
def test_the_inner_one_says_where_a_person_is_asked(
    policies: dict[str, Any], of_token: Any, place: str
) -> None:
    token = None if of_token is None else PlacedPolicy("token", "token ci", PolicyConfig(ask=of_token))
    assert decide(rules_of(("dev", "fs"), config_of(**policies), token), "x").place == place


@pytest.mark.parametrize(
    ("policies", "hides"),
    [
        ({"file": {"x": "deny"}}, False),
        ({"file": {"x": "deny", "hide": True}}, True),
        ({"file": {"x": "ask", "hide": True}}, False),
        ({"file": {"dev/git/x": "deny", "hide": True}}, False),
        ({"file": {"x": "deny", "hide": True}, "toolbox": {"hide": False}}, False),
        ({"file": {"x": "deny"}, "server": {"hide": True}}, True),
    ],
)
def test_tools_are_hidden_where_some_are_denied_and_a_policy_says_so(
    policies: dict[str, Any], hides: bool
) -> None:
    assert rules_of(("dev", "fs"), config_of(**policies)).hides is hides


@pytest.mark.parametrize(
    ("policy", "action"),
    [
        ("careful", "allow"),
        ({"*": "deny", "read_*": "deny", "unknown": "deny", "*/*/*": "deny"}, "allow"),
        ({"read_result": "deny"}, "deny"),
        ({"workbench/results/*": "deny"}, "deny"),
        ({"workbench/*/*": "ask", "read_result": "allow"}, "ask"),
    ],
)
def test_reading_kept_results_is_allowed_unless_a_rule_names_it(policy: object, action: str) -> None:
    assert decide(rules_of(BUILTIN, config_of(file=policy)), "read_result").action == action


def test_a_configured_server_with_the_names_of_the_built_in_one_is_not_that() -> None:
    tree = {"workbench": {"description": "d", "mcpServers": {"results": {"command": "x"}}}}
    config = load_data({"policy": {"*": "deny"}, "results": False, "toolboxes": tree}, {}).config
    assert decide(rules_of(BUILTIN, config), "read_result").action == "deny"


def test_a_tool_cannot_be_named_into_the_rule_of_another_server() -> None:
    found = rules_of(("dev", "git"), config_of(file={"*": "deny", "dev/fs/read": "allow"}))
    assert decide(found, "dev/fs/read").action == "deny"
    assert decide(found, "fs/read").action == "deny"


def test_decisions_are_remembered_for_a_bounded_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_REMEMBERED_TOOLS", 10)
    found = rules_of(("dev", "fs"), config_of(file={"a*": "deny"}))
    for number in range(25):
        assert decide(found, f"a{number}").action == "deny"
        assert decide(found, f"a{number}") is decide(found, f"a{number}")
        assert len(found.verdicts) <= 10


def test_a_thousand_globs_are_compared_quickly() -> None:
    found = rules_of(("dev", "fs"), config_of(file={f"step{n}_*_of_{n}": "deny" for n in range(1000)}))
    began = time.process_time()
    assert {decide(found, f"step{n}_x_of_{n}").action for n in range(100)} == {"deny"}
    assert (
        time.process_time() - began < 3
    )  # a pattern that is compiled for every comparison takes 30 times as long
