"""Which keys a running server can be given anew, and which need a new process."""

from __future__ import annotations

import msgspec

from mcp_workbench.config import InlineConfig, OAuthConfig, ServerConfig, is_same_program
from mcp_workbench.config.model.policy import PolicyConfig
from mcp_workbench.config.model.sandbox import SandboxConfig

ANOTHER: dict[str, object] = {
    "command": "y",
    "args": ["-v"],
    "env": {"A": "1"},
    "env_file": ".env",
    "cwd": "/srv",
    "url": "https://x",
    "headers": {"A": "1"},
    "oauth": OAuthConfig(client_id="another"),
    "transport": "http",
    "tool_filters": ["!x"],
    "required": True,
    "disabled": True,
    "timeout": 1.0,
    "startup_timeout": 1.0,
    "input_timeout": 1.0,
    "call_limit": 1,
    "message_limit": 65_536,
    "results": InlineConfig(inline_limit=1000),
    "pin": "strict",
    "isolation": "client",
    "inherit_env": True,
    "sandbox": SandboxConfig(),
    "protocol": "legacy",
    "policy": PolicyConfig(rules={"x": "deny"}),
    "elicitation": "deny",
    "sampling": "ask",
    "roots": "deny",
    "flows": {"crm/*": "deny"},
}


def test_another_value_is_at_hand_for_every_key() -> None:
    assert list(ANOTHER) == [field.name for field in msgspec.structs.fields(ServerConfig)]


def test_only_what_concerns_our_side_of_a_server_can_change_while_it_runs() -> None:
    before = ServerConfig(command="x")
    while_it_runs = {
        name
        for name, value in ANOTHER.items()
        if is_same_program(before, msgspec.structs.replace(before, **{name: value}))
    }
    assert while_it_runs == {
        "tool_filters",
        "required",
        "disabled",
        "timeout",
        "startup_timeout",
        "input_timeout",
        "call_limit",
        "message_limit",
        "results",
        "policy",
        "flows",
        "pin",
    }


def test_a_program_with_other_arguments_and_other_limits_is_another_one() -> None:
    assert not is_same_program(
        ServerConfig(command="x"), ServerConfig(command="x", args=["-v"], call_limit=1)
    )
