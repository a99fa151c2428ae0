"""`mcp-workbench approvals` shows the calls that wait, and answers each as the person says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.trust.approval_files import ApprovalFiles, PendingApproval
from tests.cli.setup.terminals import run_answering
from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.commands import Bench

QUESTION = "Allow this call once?"


@pytest.fixture
def files(bench: Bench) -> ApprovalFiles:
    return ApprovalFiles(bench.environment())


def let_wait(files: ApprovalFiles, name: str, asked_at: float = 0.0) -> PendingApproval:
    pending = PendingApproval(
        id=files.id_of(name.encode()),
        asked_at=asked_at or time.time(),
        config="/project/workbench-config.json",
        principal="ada",
        client="agent\x1b[2J",
        method="tools/call",
        toolbox="dev",
        server="fs",
        name=name,
        rule="",
        lines=["[workbench] Allow this call?", f"Tool: {name}", "Arguments:", '  path: "/srv/x"'],
    )
    assert files.ask(pending) == "open"
    return pending


def test_a_directory_that_cannot_be_used_is_named_with_what_to_do(bench: Bench) -> None:
    blocking = bench.directory / "file"
    blocking.write_bytes(b"")
    done = bench.run("approvals", env={"XDG_DATA_HOME": str(blocking)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"mcp-workbench: approvals cannot be read or written: {blocking} is not a directory. "
        "Move it away, or set XDG_DATA_HOME to another directory\n"
    )


def test_calls_that_wait_are_listed(bench: Bench, files: ApprovalFiles) -> None:
    assert bench.run("approvals", "--list").stdout == "No call waits for an approval.\n"
    call = let_wait(files, "delete_file")
    first, *lines = bench.run("approvals").stdout.splitlines()
    assert first.startswith(f"{call.id[:8]}  dev/fs/delete_file  (")
    assert first.endswith(" s ago, by agent\\x1b[2J, for ada)")
    assert lines == [
        "  Tool: delete_file",
        "  Arguments:",
        '    path: "/srv/x"',
        "  Configuration: /project/workbench-config.json",
    ]
    code, listed = bench.run_json("approvals", "--json")
    assert code == 0
    assert [(each["id"], each["lines"]) for each in listed["approvals"]] == [(call.id, call.lines)]


@pytest.mark.parametrize(("option", "state"), [("--allow", "allowed"), ("--deny", "denied")])
def test_a_script_answers_a_call_by_its_id(
    bench: Bench, files: ApprovalFiles, option: str, state: str
) -> None:
    call = let_wait(files, "delete_file")
    done = bench.run("approvals", option, call.id[:8])
    assert (done.returncode, done.stdout) == (0, f"{state.capitalize()}: dev/fs/delete_file\n")
    assert files.state(call.id) == state
    again = bench.run("approvals", option, call.id[:8])
    assert again.returncode == 1
    assert again.stderr == (
        f"mcp-workbench: no call waits whose id begins with '{call.id[:8]}'. "
        "See mcp-workbench approvals --list\n"
    )


def test_in_a_terminal_calls_are_answered_one_after_another(bench: Bench, files: ApprovalFiles) -> None:
    calls = [
        let_wait(files, name, time.time() + at) for at, name in enumerate(("one", "two", "three", "four"))
    ]
    typed = [(QUESTION, "y"), (QUESTION, "n"), (QUESTION, "l"), (QUESTION, "\x04")]
    code, screen = run_answering(("approvals",), typed, bench.directory, bench.environment())
    assert code == 0
    assert "Allowed." in screen
    assert "Denied." in screen
    assert [files.state(call.id) for call in calls] == ["allowed", "denied", "open", "open"]


def test_what_was_typed_before_a_question_is_no_answer_to_it(bench: Bench, files: ApprovalFiles) -> None:
    call = let_wait(files, "one")
    code, _ = run_answering(
        ("approvals",), [(QUESTION, "\x04")], bench.directory, bench.environment(), typed_before="y\n"
    )
    assert (code, files.state(call.id)) == (0, "open")


def test_an_answer_to_a_withdrawn_question_does_not_count_for_the_next_call(
    bench: Bench, files: ApprovalFiles
) -> None:
    first = let_wait(files, "one")
    asked: list[PendingApproval] = []

    def typed() -> Iterator[tuple[str, str | None]]:
        yield QUESTION, None
        files.withdraw(first.id)
        yield "The call no longer waits.", "y"
        asked.append(let_wait(files, "two"))
        yield QUESTION, "\x04"

    code, _ = run_answering(("approvals",), typed(), bench.directory, bench.environment())
    assert (code, files.state(asked[0].id)) == (0, "open")


@pytest.mark.parametrize("typed_before", ["", "\ny\n\ny\n"])
def test_call_approves_nothing_by_an_empty_line_or_by_what_was_typed_before(
    bench: Bench, typed_before: str
) -> None:
    bench.write(toolboxes(dev={"files": server(entry={"policy": {"*": "ask"}})}))
    code, screen = run_answering(
        ("call", "dev/files/echo", "text=hello"),
        [("allow [once]: ", ""), ("Allow it?", "")],
        bench.directory,
        bench.environment(),
        typed_before,
    )
    assert code == 3
    assert "the user was asked whether to allow it, and said no" in screen


def test_call_asks_in_the_terminal_that_it_has(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": server(entry={"policy": {"*": "ask"}})}))
    typed = [("allow [once]: ", ""), ("Allow it?", "y")]
    call = ("call", "dev/files/echo", "text=hello")
    code, screen = run_answering(call, typed, bench.directory, bench.environment())
    assert code == 0, screen
    assert "[workbench] Allow this call?\nTool: echo\nServer: files (toolbox dev)\n" in screen
    assert "    1  Allow once (once)\n" in screen
    code, screen = run_answering(call, [typed[0], ("Allow it?", "n")], bench.directory, bench.environment())
    assert code == 3
    assert "the user was asked whether to allow it, and said no" in screen


def test_call_without_a_terminal_says_how_to_allow_it(bench: Bench, files: ApprovalFiles) -> None:
    bench.write(toolboxes(dev={"files": server(entry={"policy": {"*": "ask"}})}))
    call = ("call", "dev/files/echo", "text=hello")
    refused = bench.run(*call)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert (
        "this client cannot ask its user. The user can allow it with `mcp-workbench approvals`"
        in refused.stderr
    )
    assert files.answer(files.pending()[0], allow=True)
    assert [bench.run(*call).returncode for _ in range(2)] == [0, 3]
