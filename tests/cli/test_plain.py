"""A plain command line is read without argparse, and says what argparse would have read in it."""

from __future__ import annotations

from itertools import product

import pytest

from mcp_workbench.cli.options import parser
from mcp_workbench.cli.plain import Plain, read_plain

PARTS = [
    [],
    ["--config", "a.json"],
    ["--config=b=c.json"],
    ["--config="],
    ["--log-level", "debug"],
    ["--log-level=off"],
    ["--log-format", "json"],
    ["--keep-going"],
]


@pytest.mark.parametrize("command", [[], ["serve"]])
def test_both_read_the_same(command: list[str]) -> None:
    by_argparse = parser()
    for parts in product(PARTS, repeat=3):
        arguments = [*command, *(word for part in parts for word in part)]
        options = by_argparse.parse_args(arguments)
        assert read_plain(arguments) == Plain(
            options.config, options.log_level, options.log_format, options.keep_going
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["check"],
        ["serv"],
        ["serve", "--http", "127.0.0.1:0"],
        ["--config"],
        ["--config", "--log-level"],
        ["--config", "--keep-going"],
        ["--config", "--keep-going", "a.json"],
        ["--keep-going=yes"],
        ["--config", "a.json", "serve"],
        ["--log-level", "loud"],
        ["--log-format=xml"],
        ["--conf", "a.json"],
        ["a.json"],
        [""],
    ],
)
def test_all_else_is_left_to_argparse(arguments: list[str]) -> None:
    assert read_plain(arguments) is None
