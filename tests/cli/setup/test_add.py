"""`mcp-workbench add`: a server is tried, and then stands in the file."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.wares import TOOLS
from tests.support.configs import server, tool, toolboxes
from tests.support.ports import free_port, listening
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.authorizing import Authority
    from tests.support.client import Json
    from tests.support.journal import Journal

TWO_TOOLS = server(tools=[tool("read"), tool("write")])
DYING = ("sh", "-c", "echo out of paper >&2; exit 3")
ADDED = re.compile(r"2 tools in \d+\.\d s: read, write\n")


def words(entry: Json) -> list[str]:
    """The command line of an entry."""
    return [entry["command"], *entry["args"]]


def servers(bench: Bench, toolbox: str = "dev") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bench.config.read_text())["toolboxes"][toolbox]["mcpServers"]
    return found


def test_a_server_that_works_is_added_with_its_tools_shown(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    done = bench.run("add", "files", "--", *words(TWO_TOOLS))
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, fourth = done.stdout.splitlines(keepends=True)
    assert first == "Starting dev/files to see its tools …\n"
    assert ADDED.fullmatch(second)
    assert re.fullmatch(r"Added dev/files: workbench-config\.json:\d+\n", third)
    assert fourth == "A running workbench uses the change within seconds.\n"
    assert servers(bench) == {"files": TWO_TOOLS}
    assert bench.run("check").returncode == 0


def test_the_first_server_makes_the_file_of_the_person_and_a_toolbox(bench: Bench) -> None:
    done = bench.run("add", "files", "--", *words(TWO_TOOLS), env={"XDG_CONFIG_HOME": str(bench.directory)})
    path = bench.directory / "mcp-workbench" / "workbench-config.json"
    assert done.returncode == 0
    assert done.stderr == f"Configuration: {path}\n"
    assert done.stdout.endswith("Next, put the workbench into your client: mcp-workbench install\n")
    assert json.loads(path.read_text()) == {
        "toolboxes": {"main": {"description": "Files and folders: files", "mcpServers": {"files": TWO_TOOLS}}}
    }


def test_a_new_toolbox_gets_the_description_that_is_given(bench: Bench) -> None:
    bench.write(toolboxes(dev={}, ops={}))
    told = ("--toolbox", "new", "--description", "For new things", "--no-check")
    assert bench.run("add", "x", *told, "--", "x").returncode == 0
    assert json.loads(bench.config.read_text())["toolboxes"]["new"] == {
        "description": "For new things",
        "mcpServers": {"x": {"command": "x"}},
    }


def test_with_several_toolboxes_one_has_to_be_chosen(bench: Bench) -> None:
    bench.write(toolboxes(dev={}, ops={}))
    done = bench.run("add", "x", "--no-check", "--", "x")
    said = "mcp-workbench: choose a toolbox with --toolbox NAME. There are: dev, ops\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_server_that_fails_is_not_added_and_the_reason_is_shown(bench: Bench) -> None:
    before = bench.write(toolboxes(dev={})).read_bytes()
    done = bench.run("add", "printer", "--", *DYING)
    assert done.returncode == 1
    assert (
        "mcp-workbench: the server exited with code 3 before it could be used\n  Fix: Run its" in done.stderr
    )
    assert "  Last lines of stderr:\n    out of paper\n" in done.stderr
    assert done.stderr.endswith("not added, because it does not work. --no-check adds it untried\n")
    assert bench.config.read_bytes() == before


@pytest.mark.parametrize(("typed", "code", "names"), [(b"y\n", 0, ["printer"]), (b"n\n", 1, [])])
def test_a_person_is_asked_whether_to_add_a_server_that_fails(
    bench: Bench, typed: bytes, code: int, names: list[str]
) -> None:
    bench.write(toolboxes(dev={}))
    outcome, shown = bench.run_on_terminal("add", "printer", "--", *DYING, typed=typed)
    assert outcome == code
    assert "dev/printer does not work. Add it anyway? [y/N]" in shown
    assert list(servers(bench)) == names


@pytest.mark.parametrize("option", ["--yes", "--no-check"])
def test_a_server_that_fails_can_be_added_all_the_same(bench: Bench, option: str) -> None:
    bench.write(toolboxes(dev={}))
    assert bench.run("add", "printer", option, "--", *DYING).returncode == 0
    assert servers(bench) == {"printer": {"command": "sh", "args": ["-c", DYING[2]]}}


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_a_name_that_is_taken_is_refused_without_a_terminal(bench: Bench, options: tuple[str, ...]) -> None:
    before = bench.write(toolboxes(dev={"files": {"command": "old"}})).read_bytes()
    done = bench.run("add", "files", *options, "--no-check", "--", "new")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mcp-workbench: the toolbox 'dev' has another server 'files' already. Nothing was written. "
        "Remove that one first, or choose another name\n"
    )
    assert bench.config.read_bytes() == before


@pytest.mark.parametrize(("typed", "code", "command"), [(b"y\n", 0, "new"), (b"\n", 1, "old")])
def test_a_person_is_asked_whether_to_replace_a_server(
    bench: Bench, typed: bytes, code: int, command: str
) -> None:
    bench.write(toolboxes(dev={"files": {"command": "old"}}))
    outcome, shown = bench.run_on_terminal("add", "files", "--no-check", "--", "new", typed=typed)
    assert outcome == code
    assert "There is another server dev/files already. Replace it? [y/N]" in shown
    assert servers(bench) == {"files": {"command": command}}


def test_adding_the_same_twice_changes_nothing(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    add = ("add", "files", "--no-check", "--", "x")
    assert bench.run(*add).returncode == 0
    before = bench.config.stat().st_mtime_ns
    done = bench.run(*add)
    assert (done.returncode, bench.config.stat().st_mtime_ns) == (0, before)
    assert done.stdout.startswith("It is there already: dev/files: workbench-config.json:")


def test_a_literal_secret_is_refused_and_not_repeated(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    done = bench.run("add", "hub", "--env", f"GITHUB_TOKEN={token}", "--", "x")
    assert done.returncode == 2
    assert "mcp-workbench secret set GITHUB_TOKEN" in done.stderr
    assert "'${keyring:GITHUB_TOKEN}'" in done.stderr
    assert token not in done.stdout + done.stderr + bench.config.read_text()


def test_a_variable_that_is_not_set_is_a_reason_not_to_add(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    done = bench.run("add", "files", "--env", "ROOT=${FS_ROOT}", "--", *words(TWO_TOOLS))
    assert done.returncode == 1
    assert "the variable FS_ROOT is not set\n  Fix: export FS_ROOT=value" in done.stderr
    assert servers(bench) == {}


def test_a_remote_server_is_added_by_its_address(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    done = bench.run("add", "docs", "--no-check", "--header", "X-Mode: fast", "https://mcp.example.com/mcp")
    assert (done.returncode, done.stderr) == (0, "")
    assert servers(bench) == {"docs": {"url": "https://mcp.example.com/mcp", "headers": {"X-Mode": "fast"}}}


def test_a_remote_server_is_tried_and_its_tools_are_shown(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    port = free_port()
    command = [sys.executable, "-S", "-m", "tests.servers.conversing_http", str(port), '{"era": "modern"}']
    with listening(command, port):
        done = bench.run("add", "api", f"http://127.0.0.1:{port}/mcp")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{len(TOOLS)} tools in " in done.stdout
    assert servers(bench) == {"api": {"url": f"http://127.0.0.1:{port}/mcp"}}


async def test_a_remote_server_that_requires_a_login_is_added_with_the_way_to_log_in(
    bench: Bench, authority: Authority
) -> None:
    await authority.reset()
    bench.write(toolboxes(dev={}))
    done = bench.run("add", "wiki", authority.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "It requires a login.\n" in done.stdout
    assert done.stdout.endswith("Log in to it: mcp-workbench login dev/wiki\n")
    assert servers(bench) == {"wiki": {"url": authority.url}}


async def test_an_interrupted_trial_leaves_no_process_and_adds_nothing(
    bench: Bench, journal: Journal
) -> None:
    bench.write(toolboxes(dev={}))
    mute = server(journal, mute=True, grandchild=True)
    process = bench.start("add", "mute", "--", *words(mute))
    await journal.wait_until(lambda journal: journal.lines)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors, servers(bench)) == (130, b"", {})
    await wait_until_gone(journal.pids)


def test_the_value_of_a_variable_is_shown_nowhere(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    secret = {"PRINTER_TOKEN": "hunter2-and-more"}
    printing = ("sh", "-c", 'echo "token $TOKEN" >&2; exit 1')
    for options in ((), ("--json",)):
        args = ("--env", "TOKEN=${PRINTER_TOKEN}", *options, "--log-level", "debug", "--", *printing)
        done = bench.run("add", "printer", *args, env=secret)
        assert done.returncode == 1
        assert "hunter2" not in done.stdout + done.stderr
        assert "token ${PRINTER_TOKEN}" in done.stdout + done.stderr


def test_an_address_at_which_nobody_answers_is_not_added(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    done = bench.run("add", "docs", "http://127.0.0.1:1/mcp")
    assert done.returncode == 1
    assert "http://127.0.0.1:1" in done.stderr
    assert servers(bench) == {}


def test_the_outcome_as_json(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    code, outcome = bench.run_json("add", "files", "--json", "--", *words(TWO_TOOLS))
    assert (code, outcome["trial"].pop("seconds") < PATIENCE) == (0, True)
    line = next(
        number for number, text in enumerate(bench.config.read_text().splitlines(), 1) if '"files"' in text
    )
    assert outcome == {
        "file": "workbench-config.json",
        "toolbox": "dev",
        "server": "files",
        "added": True,
        "trial": {"tools": ["read", "write"]},
        "line": line,
        "changed": True,
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("files",), "write mcp-workbench add NAME -- COMMAND ARGUMENTS, or mcp-workbench add NAME URL"),
        (("files", "npx"), "write the program after two dashes: mcp-workbench add NAME -- npx"),
        (("files", "--env", "A", "--", "x"), "write --env NAME=VALUE"),
        ((" ", "--", "x"), "this would not be valid, and was not written"),
        (("\x1b[31mfs", "--env", "=b", "--", "x"), "write --env NAME=VALUE"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(bench: Bench, args: tuple[str, ...], said: str) -> None:
    before = bench.write(toolboxes(dev={})).read_bytes()
    done = bench.run("add", *args)
    assert done.returncode == 2
    assert done.stderr.startswith(f"mcp-workbench: {said}")
    assert "\x1b" not in done.stderr
    assert bench.config.read_bytes() == before


def test_a_broken_file_is_shown_by_line_and_column_and_stays_as_it_is(bench: Bench) -> None:
    bench.config.write_text('{\n  "toolboxes": oops\n}\n')
    done = bench.run("add", "files", "--no-check", "--", "x")
    assert done.returncode == 2
    assert done.stderr.startswith("mcp-workbench: workbench-config.json:2:16: ")
    assert bench.config.read_text() == '{\n  "toolboxes": oops\n}\n'


def test_servers_that_are_added_at_once_are_all_in_the_file(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    names = ["a", "b", "c"]
    running = [bench.start("add", name, "--no-check", "--", "x") for name in names]
    outcomes = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], outcomes
    assert sorted(servers(bench)) == names


def test_a_program_that_is_given_a_file_of_this_directory_starts_here_from_the_own_file_of_a_person(
    bench: Bench,
) -> None:
    (bench.directory / "notes.txt").touch()
    env = {"XDG_CONFIG_HOME": str(bench.directory / "settings")}
    assert bench.run("add", "x", "--no-check", "--", "x", "notes.txt", env=env).returncode == 0
    path = bench.directory / "settings" / "mcp-workbench" / "workbench-config.json"
    entry = json.loads(path.read_text())["toolboxes"]["main"]["mcpServers"]["x"]
    assert entry == {"command": "x", "args": ["notes.txt"], "cwd": str(bench.directory)}
