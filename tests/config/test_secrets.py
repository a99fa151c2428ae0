"""What is hidden from people's eyes, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.config import Secrets
from tests.config.loading import load_content, one_server

if TYPE_CHECKING:
    from pathlib import Path


def test_a_secret_is_replaced_by_its_label_wherever_it_stands() -> None:
    secrets = Secrets({"hunter2!": "${PASSWORD}"})
    assert secrets.mask("hunter2! and (hunter2!)") == "${PASSWORD} and (${PASSWORD})"


def test_text_without_secrets_is_left_alone() -> None:
    assert Secrets({"hunter2!": "${PASSWORD}"}).mask("hunter3! $PASSWORD") == "hunter3! $PASSWORD"
    assert Secrets({}).mask("anything") == "anything"


def test_the_longest_secret_wins_and_a_label_is_not_masked_again() -> None:
    secrets = Secrets({"secret": "<env A>", "secret-longer": "<secret B>"})
    assert secrets.mask("secret-longer secret") == "<secret B> <env A>"


def test_a_secret_is_text_and_not_a_pattern() -> None:
    secrets = Secrets({"a.c(d)*": "<env A>"})
    assert secrets.mask("abc(d)* a.c(d)*") == "abc(d)* <env A>"


def test_values_of_up_to_five_characters_are_shown() -> None:
    assert Secrets({"12345": "<env A>", "": "<env B>"}).mask("12345") == "12345"


def test_each_line_of_a_secret_of_many_lines_is_hidden() -> None:
    secrets = Secrets({"-----BEGIN-----\nMIIEpA\n--\n": "<env KEY>"})
    assert secrets.mask("it starts with MIIEpA --") == "it starts with <env KEY> --"
    assert secrets.mask("-----BEGIN-----\nMIIEpA\n--\n") == "<env KEY>"


def test_a_secret_is_hidden_as_json_spells_it_too() -> None:
    secrets = Secrets({'pa"ss\\wordé': "${PASSWORD}"})
    for text in (r'{"p":"pa\"ss\\wordé"}', r'{"p":"pa\"ss\\word\u00e9"}'):
        assert secrets.mask(text) == '{"p":"${PASSWORD}"}'


def test_variables_env_and_headers_of_a_configuration_are_secret(tmp_path: Path) -> None:
    tree = one_server(
        {"command": "x", "args": ["--key=${KEY}"], "env": {"TOKEN": "literal-token", "K": "${KEY}"}}
    )
    tree["toolboxes"]["web"] = {
        "description": "d",
        "mcpServers": {"api": {"url": "https://x", "headers": {"Authorization": "Bearer abcdef"}}},
    }
    mask = load_content(tmp_path, tree, {"KEY": "key-value", "OTHER": "other-value"}).secrets.mask
    assert mask("x --key=key-value literal-token Bearer abcdef other-value https://x") == (
        "x --key=${KEY} <env TOKEN> <header Authorization> other-value https://x"
    )


def test_passwords_and_keys_in_an_address_are_secret(tmp_path: Path) -> None:
    entry = {"url": "https://me:pass-word@x/path?api_key=key-value&profile=default#z"}
    mask = load_content(tmp_path, one_server(entry), {}).secrets.mask
    assert mask("pass-word key-value default bWU6cGFzcy13b3Jk") == "<url> <url> default <url>"


def test_what_is_inherited_under_a_secret_name_is_secret(tmp_path: Path) -> None:
    environ = {"AWS_SECRET_KEY": "aws-value", "AWS_REGION": "eu-central-1"}
    for inherit, shown in (
        (["AWS_*"], "<env AWS_SECRET_KEY>"),
        (True, "<env AWS_SECRET_KEY>"),
        (False, "aws-value"),
    ):
        loaded = load_content(tmp_path, one_server({"command": "x", "inheritEnv": inherit}), environ)
        assert loaded.secrets.mask("aws-value in eu-central-1") == f"{shown} in eu-central-1"


def test_a_default_is_no_secret_because_it_stands_in_the_file(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, one_server({"command": "x", "args": ["${MODE:-production}"]}))
    assert loaded.secrets.mask("production") == "production"


def test_what_stands_in_a_name_is_no_secret(tmp_path: Path) -> None:
    tree = {
        "toolboxes": {
            "${TEAM}-tools": {
                "description": "d",
                "mcpServers": {"tracker": {"command": "x", "env": {"TEAM": "${TEAM}", "SELF": "tracker"}}},
            }
        }
    }
    loaded = load_content(tmp_path, tree, {"TEAM": "backend"})
    assert loaded.secrets.mask("tracker of backend-tools failed") == "tracker of backend-tools failed"
