"""Commands find the configuration in four places, and say which they used if that is not obvious."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.client import write_config
from tests.support.configs import toolboxes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.commands import Bench

CONFIG = toolboxes(dev={"files": {"command": "x"}})


def own_file(bench: Bench) -> Path:
    """The file in the user's configuration directory, with a toolbox in it."""
    directory = bench.directory / ".config" / "mcp-workbench"
    directory.mkdir(parents=True)
    return write_config(directory, CONFIG)


def test_the_users_own_file_is_used_and_named(bench: Bench) -> None:
    path = own_file(bench)
    for command in ("check", "tokens"):
        assert f"Configuration: {path}\n" in bench.run(command).stderr


def test_serving_logs_which_file_it_uses(bench: Bench) -> None:
    path = own_file(bench)
    done = bench.run()
    assert (done.returncode, f"the configuration is {path}\n" in done.stderr) == (0, True)


def test_a_file_that_is_named_or_in_the_working_directory_is_obvious(bench: Bench) -> None:
    path = own_file(bench)
    bench.write(CONFIG)
    assert bench.run("check").stderr == ""
    assert bench.run("check", "--config", str(path)).stderr == ""


def test_the_file_of_the_variable_is_named(bench: Bench) -> None:
    path = own_file(bench)
    bench.write(CONFIG)
    assert bench.run("check", env={"WORKBENCH_CONFIG": str(path)}).stderr == f"Configuration: {path}\n"


def test_keeping_going_is_not_for_many_clients(bench: Bench) -> None:
    bench.write(CONFIG)
    done = bench.run("serve", "--http", "127.0.0.1:0", "--keep-going")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--keep-going is for one client over stdin and stdout" in done.stderr
