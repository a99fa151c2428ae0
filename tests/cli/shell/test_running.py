"""A workbench that runs over HTTP with the same configuration is used, and no other."""

from __future__ import annotations

import json
import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.cli.shell.addresses import WrongAddress
from mcp_workbench.cli.shell.workbenches.choosing import endpoint
from tests.cli.shell.servers import files, talker
from tests.support.configs import acting, toolboxes
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.commands import Bench
    from tests.support.client import Json
    from tests.support.journal import Journal


@contextmanager
def serving(bench: Bench, *args: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A workbench over HTTP, and its URL."""
    process = bench.start("serve", "--http", "127.0.0.1:0", *args)
    assert process.stderr is not None
    try:
        lines = (re.search(rb"serving at (\S+)", line) for line in process.stderr)
        found = next(filter(None, lines))
        yield process, found[1].decode()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def records(bench: Bench) -> list[Path]:
    return list((bench.directory / "cache" / "mcp-workbench" / "running").glob("*"))


def told(stdout: str) -> Json:
    known: Json = json.loads(stdout)
    return known


def test_calls_go_to_the_process_that_runs_already(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"s": acting("tell", "tell", journal)}))
    with serving(bench) as (process, url):
        first = bench.run("call", "dev/s/tell", "a=1")
        second = bench.run("call", "dev/s/tell")
        own = bench.run("call", "dev/s/tell", "--local")
        named = bench.run("call", "--url", url, "dev/s/tell", "a=1", "--json")
        (record,) = [path for path in records(bench) if path.suffix == ".json"]
        noted = json.loads(record.read_bytes())
        assert (noted["pid"], noted["url"], noted["needs_token"]) == (process.pid, url, False)
        assert noted["config"] == str(bench.config.resolve())
        assert {path.stat().st_mode & 0o777 for path in records(bench)} == {0o600}
    assert first.stderr == second.stderr == f"Using the running workbench at {url}\n"
    assert (own.stderr, named.stderr) == ("", "")
    assert [told(done.stdout)["calls"] for done in (first, second, own)] == [1, 2, 1]
    assert told(first.stdout)["pid"] == told(second.stdout)["pid"] != told(own.stdout)["pid"]
    assert told(json.loads(named.stdout)["content"][0]["text"])["calls"] == 3
    assert records(bench) == []


def test_tools_of_a_running_workbench_are_listed_and_questions_answered_through_it(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": files(), "talk": talker("legacy")}))
    with serving(bench) as (_, url):
        listed = bench.run("tools", "dev/files", "--connect")
        assert listed.stdout == ("dev/files/read_file\tRead a file as text.\n")
        elsewhere = bench.run("tools", "--url", url, "dev/files/read_file", "--json", "--detail", "full")
        asked = [
            {"ask": [{"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}]}
        ]
        talked = bench.run("call", "dev/talk/converse", f"steps:={json.dumps(asked)}", "--json")
        missing = bench.run("call", "--url", url, "dev/files/raed_file")
        overview = bench.run("tools", "--url", url)
    shown = json.loads(elsewhere.stdout)["tools"][0]
    assert (shown["name"], shown["source_server"]) == ("read_file", "files")
    assert json.loads(json.loads(talked.stdout)["content"][0]["text"])["answers"][0][0]["result"] == {
        "action": "decline"
    }
    assert (missing.returncode, "Did you mean: dev/files/read_file?" in missing.stderr) == (2, True)
    assert overview.returncode == 0


def test_the_overview_of_a_named_workbench_has_its_toolboxes_and_names_it_again(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": files()}))
    with serving(bench) as (_, url):
        piped = bench.run("tools", "--url", url)
        code, screen = bench.run_on_terminal("tools", "--url", url, env={"NO_COLOR": "1"})
        opened = bench.run("tools", "--url", url, "--connect")
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "dev\tnot known yet\n", "")
    assert (code, screen.replace("\r\n", "\n")) == (
        0,
        f"{url}: 1 toolbox\n\ndev\n\nTo see the tools of a toolbox: mcp-workbench tools --url {url} dev\n",
    )
    assert opened.stdout == "dev/files\t1 tool\tconnected\n"


def test_a_named_workbench_without_toolboxes_is_said_to_have_none(bench: Bench) -> None:
    bench.write({"toolboxes": {}})
    with serving(bench) as (_, url):
        done = bench.run("tools", "--url", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"mcp-workbench: the workbench at {url} has no toolboxes\n"


def test_a_call_beyond_a_limit_has_no_result(bench: Bench) -> None:
    bench.write({"policy": {"limits": {"callsPerMinute": 1}}, **toolboxes(dev={"s": acting("tell", "tell")})})
    with serving(bench) as (_, url):
        first, second = (bench.run("call", "--url", url, "dev/s/tell") for _ in range(2))
    assert (first.returncode, second.returncode, second.stdout) == (0, 3, "")
    assert "limit" in second.stderr


def test_a_workbench_that_needs_a_token_is_used_with_one(bench: Bench) -> None:
    bench.write(toolboxes(dev={"s": acting("tell", "tell")}))
    made = bench.run("token", "ada")
    (bench.directory / "tokens.json").write_text(made.stdout, encoding="utf-8")
    token = re.search(r"\bwb_\S+|[A-Za-z0-9_-]{32,}", made.stderr)
    assert token is not None
    with serving(bench, "--token-file", "tokens.json") as (_, url):
        without = bench.run("call", "dev/s/tell")
        first, second = (bench.run("call", "dev/s/tell", env={"WORKBENCH_TOKEN": token[0]}) for _ in range(2))
        refused = bench.run("call", "--url", url, "dev/s/tell", env={"WORKBENCH_TOKEN": "wrong"})
    assert without.stderr == f"The workbench at {url} needs a token: set $WORKBENCH_TOKEN to use it\n"
    assert [told(done.stdout)["calls"] for done in (without, first, second)] == [1, 1, 2]
    assert (refused.returncode, "$WORKBENCH_TOKEN" in refused.stderr) == (3, True)
    assert "wrong" not in refused.stderr


def test_what_a_killed_workbench_left_behind_is_ignored_and_deleted(bench: Bench) -> None:
    bench.write(toolboxes(dev={"s": acting("tell", "tell")}))
    process = bench.start("serve", "--http", "127.0.0.1:0")
    assert process.stderr is not None
    assert any(b"serving at" in line for line in process.stderr)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert len(records(bench)) == 2
    done = bench.run("call", "dev/s/tell")
    assert (done.returncode, done.stderr, records(bench)) == (0, "", [])


def test_a_workbench_that_does_not_answer_is_not_waited_for(bench: Bench) -> None:
    bench.write(toolboxes(dev={"s": acting("tell", "tell")}))
    with serving(bench) as (process, _):
        process.send_signal(signal.SIGSTOP)
        done = bench.run("call", "dev/s/tell")
        process.send_signal(signal.SIGCONT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_result_is_whole_where_a_model_would_get_a_part(bench: Bench) -> None:
    config = toolboxes(dev={"big": acting("fill", "fill", text="x" * 1000, times=50)})
    bench.write({**config, "results": {"inlineLimit": 1000}})
    with serving(bench):
        done = bench.run("call", "dev/big/fill")
    assert len(done.stdout) == 50_001


async def test_an_interrupted_call_is_cancelled_in_the_running_workbench(
    bench: Bench, journal: Journal
) -> None:
    bench.write(toolboxes(dev={"slow": acting("hang", "hang", journal)}))
    with serving(bench):
        process = bench.start("call", "dev/slow/hang")
        await poll(lambda: journal.messages("tools/call"))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        await poll(lambda: journal.messages("notifications/cancelled"))


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/mcp"),
        ("https://bench.example/", "https://bench.example/mcp"),
        ("http://bench.example/one/mcp", "http://bench.example/one/mcp"),
    ],
)
def test_the_url_of_a_workbench_may_be_short(given: str, url: str) -> None:
    assert endpoint(given) == url


@pytest.mark.parametrize("given", ["ftp://x", "http://", "http://[", ""])
def test_what_is_no_url_is_refused_before_anything_is_sent(given: str) -> None:
    with pytest.raises(WrongAddress, match=r"--url: '.*' is not the URL of a workbench"):
        endpoint(given)
