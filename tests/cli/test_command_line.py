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
from mcp_workbench.cli.commands import MODULES
from mcp_workbench.cli.options import GROUPS, parser
from mcp_workbench.config.schema import json_schema
from tests.cli.commands import MODULE, SCRIPT
from tests.support.configs import toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.commands import Bench


def _with_commands(one: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of all commands below it."""
    yield one
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _with_commands(command)


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


def test_the_help_of_every_command_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    helps = [one.format_help() for one in _with_commands(parser())]
    assert len(helps) > 20
    assert [line for text in helps for line in text.splitlines() if len(line) > 80] == []


def test_the_help_lists_every_command_once_under_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = parser().format_help()
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert titles == [*GROUPS, "options"]
    listed = re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE)
    assert listed[:2] == ["demo", "import"]
    assert sorted(listed) == sorted(MODULES)
    assert [name for names in GROUPS.values() for name in names if name in MODULES] == listed


@pytest.mark.parametrize("command", [*_with_commands(parser())][1:], ids=lambda command: str(command.prog))
def test_every_command_is_described_with_an_example(command: argparse.ArgumentParser) -> None:
    assert command.description is not None
    assert re.search(rf"^  .*{re.escape(command.prog)}( |$)", command.description, re.MULTILINE)
    assert [action.dest for action in command._actions if not action.help] in ([], ["action"])


def test_tokens_without_an_address_to_listen_on_are_a_mistake(bench: Bench) -> None:
    done = bench.run("serve", "--token-file", "tokens.json")
    said = "--token-file is for --http: mcp-workbench serve --http 0.0.0.0:8000 --token-file …"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mcp-workbench: {said}\n")


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


@pytest.mark.parametrize("args", ["", "check", "schema", "tools", "check --connect no-such"])
def test_a_stdout_that_was_closed_before_the_start_is_no_reason_for_a_traceback(
    bench: Bench, args: str
) -> None:
    bench.write(VALID)
    words = ["/bin/sh", "-c", f'exec "$@" {args} >&- </dev/null', "sh"]
    done = bench.run(command=(*words, *MODULE))
    assert done.returncode == {"": 1, "check --connect no-such": 2}.get(args, 0)
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
