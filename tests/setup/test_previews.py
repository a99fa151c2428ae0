"""Previews show what changes in a client's file, and none of its secrets."""

from __future__ import annotations

import json
from time import process_time

from mcp_workbench.setup.previews import format_of, mask_of

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"  # noqa: S105 - not a real token


def test_the_format_follows_from_the_name() -> None:
    assert [format_of(name) for name in ("a.json", "b.TOML", "c.yml", "d.yaml", "e", "f.jsonc")] == [
        *("json", "toml", "yaml", "yaml", "json", "json"),
    ]


def test_values_of_the_environment_and_of_headers_are_hidden() -> None:
    data = b'{"s": {"env": {"A": "plain words", "PIN": "12"}, "headers": {"X": "value-of-x"}, "args": ["a"]}}'
    mask = mask_of("json", data)
    assert mask('+ "A": "plain words",') == '+ "A": "<A>",'
    assert mask('+ "PIN": "12" }') == '+ "PIN": "<hidden>" }'
    assert mask('  "X": "value-of-x"') == '  "X": "<X>"'
    assert mask('  "args": ["a"] 12') == '  "args": ["a"] 12'


def test_secrets_are_hidden_by_key_and_by_form() -> None:
    data = (
        '{"apiKey": "some words", "args": ["--token", "' + TOKEN + '", "postgres://me:hunter22@db/x"],'
        ' "deep": [{"oauth": {"id": "client-id"}}]}'
    )
    mask = mask_of("json", data.encode())
    shown = "\n".join(mask(line) for line in data.split(","))
    for secret in (TOKEN, "some words", "hunter22", "client-id"):
        assert secret not in shown


def test_other_formats_are_read_too() -> None:
    assert mask_of("toml", b'[a.env]\nK = "value1"\n')('+K = "value1"') == '+K = "<K>"'
    assert mask_of("yaml", b"a:\n  envs:\n    K: value1\n")("+    K: value1") == "+    K: <K>"


def test_the_entry_of_the_workbench_is_shown() -> None:
    data = b'{"ours": {"env": {"PATH": "/usr/bin"}}, "theirs": {"env": {"PATH": "/opt/bin"}}}'
    mask = mask_of("json", data, is_public=lambda node: node == {"env": {"PATH": "/usr/bin"}})
    assert mask('"/usr/bin" "/opt/bin"') == '"/usr/bin" "<PATH>"'


def test_secrets_of_both_sides_are_hidden() -> None:
    mask = mask_of("json", b'{"env": {"A": "before1"}}', b'{"env": {"A": "after12"}}')
    assert (mask("-before1"), mask("+after12")) == ("-<A>", "+<A>")
    assert mask_of("json", None, None)("+x") == "+x"


def test_lines_of_a_broken_file_are_hidden() -> None:
    mask = mask_of("json", b'{"env": {"A": "secret')
    assert mask('+"A": "secret') == "+(hidden: the file cannot be parsed, so its secrets are not known)"
    assert mask("--- mcp.json") == "--- mcp.json"


def test_a_file_of_megabytes_is_masked_within_seconds() -> None:
    history = [{"display": "word" * 50} for _ in range(10_000)]
    data = json.dumps({"history": history, "env": {"A": "secret12"}}).encode()
    started = process_time()
    mask = mask_of("json", data)
    assert (mask("+secret12"), len(data) > 2_000_000) == ("+<A>", True)
    assert process_time() - started < 2.0  # nearly all of it is the search for tokens of known services
