"""`mcp-workbench call`: a tool called from the shell, with its result, its progress and its exit code."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import MODULE
from tests.cli.shell.servers import PIXEL, files, results, talker
from tests.support.configs import acting, server, tool, toolboxes
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.journal import Journal

ECHOED = '{"path":"a b","head":5}'
DYING = {"command": "/bin/sh", "args": ["-c", "echo KeyError: API_KEY >&2; exit 3"]}


def test_arguments_are_read_by_the_schema_and_the_server_is_started_once_for_it(
    bench: Bench, journal: Journal
) -> None:
    bench.write(toolboxes(dev={"files": files(journal)}))
    done = bench.run("call", "dev/files/read_file", "path=a b", "head=5")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ECHOED}\n", "")
    assert journal.starts == 1
    # Known now, so that the name alone is enough, and the options may stand anywhere.
    done = bench.run("call", "--json", "read_file", "path=a b", "--local", "head=5")
    assert json.loads(done.stdout)["content"] == [{"type": "text", "text": ECHOED}]
    assert done.returncode == 0


def test_arguments_may_come_from_stdin_as_they_are(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"files": files(journal)}))
    done = subprocess.run(
        [*MODULE, "call", "dev/files/read_file", "-"],
        cwd=bench.directory,
        env=bench.environment(),
        input='{"path": "x", "n": 1.50}',
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    # Their numbers keep their digits.
    assert (done.returncode, done.stdout) == (0, '{"path":"x","n":1.50}\n')


@pytest.mark.parametrize(
    ("words", "code", "stdout", "stderr"),
    [
        (["dev/results/failing"], 1, "", "no such file\n"),
        (
            ["dev/files/raed_file"],
            2,
            "",
            "mcp-workbench: dev/files has no tool 'raed_file'. Did you mean: dev/files/read_file?",
        ),
        (
            ["dev/files"],
            2,
            "",
            "mcp-workbench: 'dev/files' is a server, not a tool. Its tools: mcp-workbench tools dev/files",
        ),
        (
            ["nope/a/b"],
            2,
            "",
            "mcp-workbench: there is no toolbox or known tool 'nope/a/b'. There are: dev. Not all tools are ",
        ),
        (["dev/files/read_file", "head=x"], 2, "", "mcp-workbench: 'head' takes an integer, not 'x'"),
        (["dev/files/read_file", "--args", "["], 2, "", "mcp-workbench: the arguments are not a JSON object"),
        (["dev/dying/x", "a=1"], 3, "", "mcp-workbench: Failed to connect to MCP server 'dying'"),
        (["dev/dying/x"], 3, "", "mcp-workbench: Error executing tool 'x' in server 'dying' (toolbox 'dev')"),
        (["dev/files/crash"], 3, "", "mcp-workbench: Error executing tool 'crash'"),
        (["dev/files/refuse"], 3, "", "mcp-workbench: Error executing tool 'refuse'"),
        (["dev/files/hang", "--timeout", "0.5"], 3, "", "mcp-workbench: no answer within 0.5 s (--timeout)"),
        (
            ["dev/files/read_file", "paht=x"],
            0,
            '{"paht":"x"}\n',
            (
                "mcp-workbench: warning: the tool has no argument 'paht'. Did you mean: path?\n"
                "mcp-workbench: warning: the tool needs the argument 'path'\n"
            ),
        ),
    ],
)
def test_the_exit_code_tells_an_error_of_the_tool_from_misuse_and_failure(
    known: Bench, words: list[str], code: int, stdout: str, stderr: str
) -> None:
    done = known.run("call", *words)
    assert (done.returncode, done.stdout, done.stderr[: len(stderr)]) == (code, stdout, stderr)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench whose tools are known."""
    from tests.cli.commands import Bench

    bench = Bench(tmp_path_factory.mktemp("known"))
    refusal = json.dumps({"code": -32000, "message": "not today"})
    doing = files(crash={"do": "crash"}, hang={"do": "hang"}, refuse={"do": "error", "text": refusal})
    bench.write(toolboxes(dev={"files": doing, "results": results(), "dying": DYING}))
    assert bench.run("index", "dev/files", "dev/results").returncode == 0
    return bench


def test_a_call_that_the_policy_denies_has_no_result(bench: Bench) -> None:
    bench.write({"policy": {"read_*": "deny"}, **toolboxes(dev={"files": files()})})
    done = bench.run("call", "dev/files/read_file", "path=x")
    assert (done.returncode, done.stdout, "denie" in done.stderr) == (3, "", True)


def test_the_help_names_all_that_leaves_a_call_without_a_result(bench: Bench) -> None:
    shown = " ".join(bench.run("call", "--help").stdout.split())
    assert "3 there is no result: the server cannot be started, does not answer in time or fails, or" in shown
    assert "(the tool is held or denied, a limit is reached, or a token or a login is missing)" in shown


def test_a_bad_configuration_is_misuse(bench: Bench) -> None:
    bench.config.write_text("{", encoding="utf-8")
    assert bench.run("call", "a/b/c").returncode == 2


@pytest.mark.parametrize(
    ("name", "piped", "shown"),
    [
        ("hidden", "red \x1b[31malert\u202e\n", "red \\x1b[31malert\\u202e\n"),
        ("both", '{"a":1}\n', '{\n  "a": 1\n}\n'),
        ("wrapped", "hello\n", "hello\n"),
        ("structure", 'see there\n{\n  "b": [\n    2\n  ]\n}\n', 'see there\n{\n  "b": [\n    2\n  ]\n}\n'),
        ("image", "[image image/png (70 bytes): --save FILE or --save DIR/ writes it]\n", None),
        (
            "mixed",
            (
                "first\n[file:///a/b.txt]\ninside\n[link More https://example.com/x]\n"
                "[file (3 bytes) file:///a/../c.bin: --save FILE or --save DIR/ writes it]\n"
                '{\n  "type": "novelty",\n  "x": 1\n}\n'
            ),
            None,
        ),
    ],
)
def test_a_result_is_shown_for_a_person_and_piped_as_it_is(
    known: Bench, name: str, piped: str, shown: str | None
) -> None:
    assert known.run("call", f"dev/results/{name}").stdout == piped
    if shown is not None:
        code, screen = known.run_on_terminal("call", f"dev/results/{name}", env={"TERM": "dumb"}, columns=80)
        assert (code, screen.replace("\r\n", "\n")) == (0, shown)


def test_json_has_members_that_nobody_knows(known: Bench) -> None:
    code, result = known.run_json("call", "dev/results/both", "--json")
    assert (code, result["x-unknown"], result["structuredContent"]) == (0, 1.5, {"a": 1})
    assert "1.5" in known.run("call", "dev/results/both", "--json").stdout


def test_images_and_files_are_saved(known: Bench) -> None:
    pixel = base64.b64decode(PIXEL)
    target = known.directory / "out"
    done = known.run("call", "dev/results/image", "--save", f"{target}/")
    assert done.stdout == f"[image image/png (70 bytes): saved as {target}/image-1.png]\n"
    known.run("call", "dev/results/image", "--save", str(target))
    known.run("call", "dev/results/mixed", "--save", str(target))
    known.run("call", "dev/results/image", "--save", str(known.directory / "one.png"))
    written = {path.name: path.read_bytes() for path in (*target.iterdir(), known.directory / "one.png")}
    assert written == {
        "image-1.png": pixel,
        "image-2.png": pixel,
        "c.bin": b"\x00\x01\x02",
        "one.png": pixel,
    }
    done = known.run("call", "dev/results/image", "--save", "one.png")
    assert (done.returncode, done.stdout, "the file exists already" in done.stderr) == (2, "", True)
    done = known.run("call", "dev/results/hidden", "--save", "out/")
    assert done.stderr == "mcp-workbench: the result has no image, sound or file to save\n"
    done = known.run("call", "dev/results/image", "--save", "/nonexistent/x")
    assert (done.returncode, done.stderr[:42]) == (3, "mcp-workbench: the result cannot be saved:")


def test_progress_and_log_messages_go_to_stderr(bench: Bench) -> None:
    bench.write(toolboxes(dev={"talk": talker("modern")}))
    steps = [
        {"log": [{"level": "warning", "logger": "db", "data": "slow\x1b[2J"}]},
        {"progress": {"steps": 2, "with": {"message": "half"}}},
        {"result": {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}},
    ]
    words = ("call", "dev/talk/converse", f"steps:={json.dumps(steps)}", "--log-level", "warning")
    done = bench.run(*words)
    assert (done.stdout, done.stderr) == ("done\n", "[warning] dev/talk/db: slow\\x1b[2J\n")
    _, screen = bench.run_on_terminal(*words, columns=80)
    assert "\r\x1b[K[##########..........] 50% half" in screen
    assert screen.endswith("\r\x1b[Kdone\r\n")


async def test_a_command_that_waits_for_its_arguments_can_be_interrupted(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": files()}))
    pipe = bench.directory / "arguments"
    os.mkfifo(pipe)
    process = bench.start("call", "dev/files/read_file", "--args", f"@{pipe}")
    # Returns when the command has opened it as well, and begins to read.
    with await asyncio.to_thread(pipe.open, "wb"):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_call_is_cancelled_and_leaves_no_process(
    bench: Bench, journal: Journal, number: signal.Signals
) -> None:
    bench.write(toolboxes(dev={"slow": acting("hang", "hang", journal)}))
    process = bench.start("call", "dev/slow/hang")
    await poll(lambda: journal.messages("tools/call"))
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stdout, stderr) == (130, b"", b"")
    assert journal.messages("notifications/cancelled")
    await wait_until_gone(journal.pids)


def test_a_large_result_is_whole(bench: Bench) -> None:
    config = toolboxes(dev={"big": acting("fill", "fill", text="x" * 1000, times=500)})
    bench.write({**config, "results": {"inlineLimit": 1000}})
    assert len(bench.run("call", "dev/big/fill").stdout) == 500_001


def test_a_tool_that_is_gone_is_misuse(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"s": server(journal, tools=[tool("old")])}))
    assert bench.run("index").returncode == 0
    # The record in the catalogue is older than the server.
    (record,) = (bench.directory / "cache" / "mcp-workbench" / "catalogue").glob("*.json")
    record.write_text(record.read_text(encoding="utf-8").replace("old", "gone"), encoding="utf-8")
    done = bench.run("call", "dev/s/gone")
    assert (done.returncode, done.stderr) == (
        2,
        (
            "mcp-workbench: the server has no tool 'dev/s/gone' any more. "
            "What it has: mcp-workbench tools dev/s --connect\n"
        ),
    )


def test_output_that_nobody_reads_ends_the_command_quietly(known: Bench) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [*MODULE, "call", "dev/results/both"],
            cwd=known.directory,
            env=known.environment(),
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
