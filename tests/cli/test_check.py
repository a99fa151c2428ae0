"""`mcp-workbench check` without `--connect`: is the file right?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.configs import server, toolboxes
from tests.support.stderrs import without_times

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.journal import Journal

CONFIG = toolboxes(dev={"files": {"command": "x"}, "git": {"command": "y", "disabled": True}}, ops={})

WRONG = {
    "toolboxes": {
        "dev": {"description": "d", "mcpServers": {"fs": {"command": "x", "args": "-y"}}},
        "ops": {"mcpServers": {"${ABSENT}": {"command": "x"}}},
    }
}


def test_a_right_file_is_summed_up_with_all_its_servers(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": {"command": "x"}, "git": {"command": "y", "disabled": True}}))
    done = bench.run("check")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["workbench-config.json", "is", "valid:", "1", "toolbox,", "2", "servers"],
        ["enabled", "dev/files"],
        ["disabled", "dev/git"],
    ]


def test_a_file_without_toolboxes_is_right_too(bench: Bench) -> None:
    bench.write({"toolboxes": {}})
    done = bench.run("check")
    assert (done.returncode, done.stdout) == (0, "workbench-config.json is valid: 0 toolboxes, 0 servers\n")


def test_warnings_are_told_and_the_file_is_still_right(bench: Bench) -> None:
    bench.write({"toolMode": "proxy", **toolboxes(dev={"files": {"command": "x"}})})
    done = bench.run("check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("warning: workbench-config.json:1: toolMode: ")


def test_a_file_that_others_can_write_to_is_warned_of_by_check_and_at_the_start(bench: Bench) -> None:
    path = bench.write(CONFIG)
    path.chmod(0o646)
    warning = (
        "warning: other users can write to workbench-config.json, and choose the programs that the workbench"
        " starts: chmod o-w workbench-config.json"
    )
    checked, served = bench.run("check"), bench.run()
    assert (checked.returncode, checked.stdout.splitlines().count(warning)) == (0, 1)
    assert (
        served.returncode,
        without_times(served.stderr).splitlines().count(f"mcp-workbench: {warning}"),
    ) == (0, 1)


def test_nothing_is_started(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"files": server(journal)}))
    assert bench.run("check").returncode == 0
    assert journal.starts == 0


def test_a_wrong_file_is_explained_on_stderr_and_the_exit_code_is_2(bench: Bench) -> None:
    bench.write(WRONG)
    done = bench.run("check")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mcp-workbench: workbench-config.json: 3 problems in the configuration\n")
    for place in ("toolboxes.dev.mcpServers.fs.args", "toolboxes.ops", "ABSENT"):
        assert place in done.stderr


def test_serving_a_wrong_file_says_the_same(bench: Bench) -> None:
    bench.write(WRONG)
    checked, served = bench.run("check"), bench.run()
    assert (served.returncode, served.stdout, served.stderr) == (2, "", checked.stderr)


def test_a_missing_file_is_explained_and_the_exit_code_is_2(bench: Bench) -> None:
    done = bench.run("check", "--config", "absent.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent.json: 1 problem in the configuration" in done.stderr


def test_a_right_file_as_json(bench: Bench) -> None:
    bench.write(CONFIG)
    code, outcome = bench.run_json("check", "--json")
    (warning,) = outcome.pop("warnings")
    assert "toolboxes.ops" in warning
    assert (code, outcome) == (
        0,
        {
            "file": "workbench-config.json",
            "valid": True,
            "servers": [
                {"toolbox": "dev", "server": "files", "state": "idle"},
                {"toolbox": "dev", "server": "git", "state": "disabled"},
            ],
        },
    )


def test_a_wrong_file_as_json_has_every_problem_with_its_place_and_its_remedy(bench: Bench) -> None:
    bench.write(WRONG)
    code, outcome = bench.run_json("check", "--json")
    problems = outcome.pop("problems")
    assert (code, outcome) == (2, {"file": "workbench-config.json", "valid": False})
    assert [problem["where"] for problem in problems] == [
        'toolboxes.ops.mcpServers["${ABSENT}"]',
        "toolboxes.dev.mcpServers.fs.args",
        "toolboxes.ops.description",
    ]
    assert all(
        set(problem) == {"where", "what", "remedy", "line"} and problem["remedy"] for problem in problems
    )


def test_names_that_look_like_markup_are_shown_as_they_are(bench: Bench) -> None:
    bench.write(toolboxes(dev={"[bold]x[/bold] :smile:": {"command": "x"}}))
    assert "[bold]x[/bold] :smile:" in bench.run("check").stdout
