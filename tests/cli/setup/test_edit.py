"""`mcp-workbench remove`, `enable`, `disable` and `move`: the file changes in the lines concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.commands import Bench

FILE = """\
{
  "toolboxes": {
    "dev": {
      "description": "For development",
      "mcpServers": {
        // Reads files.
        "fs": { "command": "npx" },
        "git": { "command": "uvx", "env": { "TOKEN": "${GIT_TOKEN}" }, "disabled": true }
      }
    },
    "ops": {
      "description": "For operations",
      "mcpServers": {
        "git": { "url": "https://example.com/mcp" }
      }
    }
  }
}
"""
RELOADS = "A running workbench uses the change within seconds.\n"


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.config.write_text(FILE)
    return bench


def diff(bench: Bench) -> tuple[list[str], list[str]]:
    """The lines that are gone from the file, and those that are new."""
    before, after = FILE.splitlines(), bench.config.read_text().splitlines()
    gone = [line.strip() for line in before if line not in after]
    return gone, [line.strip() for line in after if line not in before]


def test_remove_takes_an_entry_out_with_its_comment(bench: Bench) -> None:
    done = bench.run("remove", "fs")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Removed dev/fs: workbench-config.json:7\n{RELOADS}"
    assert diff(bench) == (["// Reads files.", '"fs": { "command": "npx" },'], [])


def test_the_last_server_leaves_its_toolbox_and_the_way_to_remove_that_too(bench: Bench) -> None:
    done = bench.run("remove", "ops/git")
    hint = "The toolbox 'ops' has no servers now. To remove it too: mcp-workbench remove ops/\n"
    assert (done.returncode, done.stdout) == (
        0,
        f"Removed ops/git: workbench-config.json:14\n{RELOADS}{hint}",
    )
    checked = bench.run("check")
    assert (checked.returncode, "this toolbox has no servers" in checked.stdout) == (0, True)


def test_a_toolbox_is_removed_only_after_a_question(bench: Bench) -> None:
    done = bench.run("remove", "dev/")
    assert (done.returncode, done.stdout) == (1, "")
    assert "this removes the toolbox 'dev' with 2 servers: fs, git\n" in done.stderr
    assert "nothing is changed" in done.stderr
    assert bench.config.read_text() == FILE
    code, shown = bench.run_on_terminal("remove", "dev/", typed=b"n\n")
    assert (code, "Remove it? [y/N]" in shown, bench.config.read_text()) == (1, True, FILE)
    assert bench.run("remove", "dev/", "--yes").returncode == 0
    assert '"dev"' not in bench.config.read_text()


def test_disable_and_enable_change_one_entry_and_warn_of_what_it_needs(bench: Bench) -> None:
    done = bench.run("enable", "dev/git")
    assert (done.returncode, done.stdout) == (0, f"Enabled dev/git: workbench-config.json:8\n{RELOADS}")
    assert "warning: " in done.stderr
    assert "the variable GIT_TOKEN is not set" in done.stderr
    assert diff(bench) == (
        ['"git": { "command": "uvx", "env": { "TOKEN": "${GIT_TOKEN}" }, "disabled": true }'],
        ['"git": { "command": "uvx", "env": { "TOKEN": "${GIT_TOKEN}" } }'],
    )
    done = bench.run("disable", "dev/git")
    assert (done.returncode, done.stderr) == (0, "")
    assert bench.config.read_text() == FILE


@pytest.mark.parametrize(("command", "name"), [("enable", "fs"), ("disable", "dev/git"), ("move", "fs")])
def test_what_is_so_already_leaves_the_file_untouched(bench: Bench, command: str, name: str) -> None:
    before = bench.config.stat().st_mtime_ns
    done = bench.run(command, name, *(["dev"] if command == "move" else []))
    assert (done.returncode, done.stderr) == (0, "")
    assert "already, and nothing is changed: workbench-config.json:" in done.stdout
    assert (bench.config.stat().st_mtime_ns, bench.config.read_text()) == (before, FILE)


def test_move_takes_the_comment_along(bench: Bench) -> None:
    done = bench.run("move", "fs", "ops")
    assert (done.returncode, done.stderr) == (0, "")
    lines = bench.config.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if '"fs"' in text)
    assert lines[line - 2].strip() == "// Reads files."
    assert done.stdout == f"Moved dev/fs to the toolbox 'ops': workbench-config.json:{line}\n{RELOADS}"
    assert line > lines.index('    "ops": {')


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("remove", "git"), 2, "there are several servers called 'git': dev/git, ops/git\n"),
        (("remove", "nope"), 2, "there is no server 'nope'. There are: dev/fs, dev/git, ops/git\n"),
        (
            ("enable", "dev"),
            2,
            "there is no server 'dev'. For the whole toolbox put a slash behind its name.",
        ),
        (("move", "fs", "new"), 2, "there is no toolbox 'new'. With --description TEXT a new one is made."),
        (("move", "dev/git", "ops"), 1, "the toolbox 'ops' has another server 'git' already."),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    bench: Bench, args: tuple[str, ...], code: int, said: str
) -> None:
    done = bench.run(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"mcp-workbench: {said}")
    assert bench.config.read_text() == FILE


def test_the_file_is_named_if_it_is_not_obvious(bench: Bench) -> None:
    path = bench.config.rename(bench.directory / "elsewhere.json")
    done = bench.run("remove", "fs", env={"WORKBENCH_CONFIG": str(path)})
    assert (done.returncode, done.stderr) == (0, f"Configuration: {path}\n")


def test_a_read_only_file_is_not_written(bench: Bench) -> None:
    bench.config.chmod(0o400)
    done = bench.run("remove", "fs")
    assert (done.returncode, "it is read-only" in done.stderr) == (1, True)
    assert bench.config.read_text() == FILE
