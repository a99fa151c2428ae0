"""The command line itself: what it offers, and what it says to what it does not understand."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcp_workbench import __version__
from mcp_workbench.cli.options import parser
from mcp_workbench.config.schema import json_schema
from tests.cli.commands import MODULE, SCRIPT
from tests.support.configs import toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.commands import Bench

SUBCOMMANDS = [
    *("demo", "import", "install", "uninstall", "undo", "add", "remove", "enable", "disable", "move", "list"),
    *("secret", "check", "index", "tokens", "doctor", "tools", "call", "completion", "login", "logout"),
    *("token", "serve", "schema"),
]

VALID = toolboxes(dev={"files": {"command": "x"}})


def test_the_version_is_told_on_one_line(bench: Bench) -> None:
    done = bench.run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mcp-workbench {__version__}\n", "")


def test_the_help_names_every_command_and_every_option_of_its_own(bench: Bench) -> None:
    done = bench.run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("check", "demo", "index", "schema", "--config", "--log-level", "--version", "--help"):
        assert word in done.stdout
    for word in ("debug", "info", "warning", "error", "off", "WORKBENCH_CONFIG", "workbench-config.json"):
        assert word in done.stdout


def test_the_help_of_check_names_its_options(bench: Bench) -> None:
    done = bench.run("check", "--help")
    assert done.returncode == 0
    for word in ("--connect", "--json", "--config", "--log-level"):
        assert word in done.stdout


@pytest.mark.parametrize("command", ["demo", "index", "schema"])
def test_every_command_has_help(bench: Bench, command: str) -> None:
    done = bench.run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"mcp-workbench {command}" in done.stdout


def test_the_help_of_every_command_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    helps = [one.format_help() for one in _with_commands(parser())]
    assert len(helps) > 20
    assert [line for text in helps for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    "args",
    [
        ("--unknown",),
        ("unknown",),
        ("check", "--unknown"),
        ("--config",),
        ("--log-level", "loud"),
        ("schema", "too", "much"),
    ],
    ids=" ".join,
)
def test_what_it_does_not_know_is_named_on_stderr_and_the_exit_code_is_2(
    bench: Bench, args: tuple[str, ...]
) -> None:
    done = bench.run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: mcp-workbench")
    assert args[-1] in done.stderr


def test_an_unknown_command_is_answered_with_the_nearest_ones(bench: Bench) -> None:
    near = bench.run("instal", "cursor").stderr.splitlines()[-1]
    far = bench.run("zzz").stderr.splitlines()[-1]
    lists = "mcp-workbench --help lists the commands."
    said = "mcp-workbench: error: there is no command"
    assert near == f"{said} 'instal'. Did you mean: install, uninstall? {lists}"
    assert far == f"{said} 'zzz'. {lists}"


def commands_of(help_text: str) -> list[str]:
    """The lines of the help that name a command."""
    return re.findall(r"^    (\S+  .*)$", help_text, re.MULTILINE)


def test_the_help_has_a_line_for_each_command_and_begins_with_what_a_newcomer_needs(bench: Bench) -> None:
    lines = commands_of(bench.run("--help", env={"COLUMNS": "80"}).stdout)
    names = [line.split()[0] for line in lines]
    assert names[:5] == ["demo", "import", "install", "uninstall", "undo"]
    assert names == SUBCOMMANDS


@pytest.mark.parametrize("command", ["", *SUBCOMMANDS, "secret set", "secret list", "secret remove"])
def test_every_help_fits_into_80_columns(bench: Bench, command: str) -> None:
    done = bench.run(*command.split(), "--help", env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_tokens_without_an_address_to_listen_on_are_a_mistake(bench: Bench) -> None:
    done = bench.run("serve", "--token-file", "tokens.json")
    said = "mcp-workbench: --token-file is for --http: name an address to listen on too\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("args", [("--conf", "x"), ("check", "--conn"), ("check", "--js")], ids=" ".join)
def test_half_an_option_is_no_option(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(VALID)
    done = bench.run(*args)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("schema",), ("check",), ("check", "--json")])
def test_the_module_and_the_script_are_the_same_command(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(VALID)
    by_module, by_script = (bench.run(*args, command=command) for command in (MODULE, SCRIPT))
    assert (by_module.returncode, by_module.stdout, by_module.stderr) == (
        by_script.returncode,
        by_script.stdout,
        by_script.stderr,
    )
    assert by_module.returncode == 0


def test_the_schema_is_printed_without_any_configuration(bench: Bench) -> None:
    done = bench.run("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json_schema()


@pytest.mark.parametrize("args", ["", "check", "schema"])
def test_a_stdout_that_was_closed_before_the_start_is_no_reason_for_a_traceback(
    bench: Bench, args: str
) -> None:
    bench.write(VALID)
    words = ["/bin/sh", "-c", f'exec "$@" {args} >&- </dev/null', "sh"]
    done = bench.run(command=(*words, *MODULE))
    assert done.returncode == (0 if args else 1)
    assert "Traceback" not in done.stderr
    assert bool(args) != ("stdin and stdout must be open" in done.stderr)


def test_the_configuration_may_be_named_before_and_after_the_command(bench: Bench) -> None:
    path = bench.write(VALID).rename(bench.directory / "elsewhere.json")
    for args in (
        ("--config", str(path), "check"),
        ("check", "--config", str(path)),
        ("check", f"--config={path}"),
    ):
        done = bench.run(*args)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{path} is valid: 1 toolbox, 1 server")


def test_the_configuration_named_after_the_command_wins(bench: Bench) -> None:
    path = bench.write(VALID)
    assert bench.run("--config", "absent.json", "check", "--config", str(path)).returncode == 0
    assert bench.run("--config", str(path), "check", "--config", "absent.json").returncode == 2


def test_without_an_option_the_variable_counts_and_then_the_working_directory(bench: Bench) -> None:
    path = bench.write(VALID)
    assert bench.run("check").stdout.startswith("workbench-config.json is valid")
    elsewhere = path.rename(bench.directory / "elsewhere.json")
    assert bench.run("check", env={"WORKBENCH_CONFIG": str(elsewhere)}).returncode == 0
    assert bench.run("check").returncode == 2


@pytest.mark.parametrize("args", [("schema",), ("check",)], ids=" ".join)
def test_a_reader_that_has_enough_is_no_crash(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(VALID)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*MODULE, *args],
        cwd=bench.directory,
        env=bench.environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def _with_commands(one: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of all commands below it."""
    yield one
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _with_commands(command)
