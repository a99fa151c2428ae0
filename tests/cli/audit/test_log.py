"""`mcp-workbench log`: what it shows of the calls that were recorded."""

from __future__ import annotations

import csv
import io
import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.cli import main
from mcp_workbench.storage.audit.audit_files import AuditFiles
from tests.storage.audit.lines import directory, line
from tests.support.configs import server, toolboxes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.commands import Bench


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AuditFiles:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return AuditFiles({"XDG_DATA_HOME": str(tmp_path)}, 5000)


@pytest.fixture
def log(files: AuditFiles, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    def log(*options: str) -> list[str]:
        assert main(["log", *options]) == 0
        return capsys.readouterr().out.splitlines()

    return log


def at(seconds_ago: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000+00:00", time.gmtime(time.time() - seconds_ago))


def test_calls_are_lines_in_order_and_aligned(
    files: AuditFiles, log: Callable[..., list[str]], local_time_zone: Callable[[str], None]
) -> None:
    local_time_zone("XYZ-2")
    files.append(line(2, time="2026-07-28T07:31:00.000+00:00", outcome="tool_error", seconds=0.84))
    files.append(line(1, time="2026-07-28T09:30:00.000+02:00", name="a_longer_name", principal="alice"))
    uri = {"method": "resources/read", "name": "file:///x", "outcome": "failed", "error": "ConnectionClosed"}
    files.append(line(3, time="2026-07-28T09:32:00.000+02:00", **uri, response_bytes=0))
    read = "dev/git resources/read file:///x"
    decided = {"decision": "deny", "rule": '"x": "deny" of dev', "decided_by": "policy"}
    results_and_rule = 'with results of dev/crm, ops/logs  policy: "x": "deny" of dev'
    handed = {**decided, "sources": ["dev/crm", "ops/logs"]}
    files.append(line(4, time="2026-07-28T09:33:00.000+02:00", **handed, outcome="refused", client=""))
    files.append(b'{"time":"2026-07-28T09:34:00.000+02:00","run":"r","pid":1,"missing":3}\n')
    assert log() == [
        "2026-07-28 09:30:00    12 ms    1.4 KB  ok           dev/git/a_longer_name  (alice, cursor)",
        "2026-07-28 09:31:00   840 ms    1.4 KB  tool error   dev/git/status  (cursor)",
        f"2026-07-28 09:32:00    12 ms            failed       {read}  ConnectionClosed  (cursor)",
        f"2026-07-28 09:33:00    12 ms    1.4 KB  refused      dev/git/status  {results_and_rule}",
        "2026-07-28 09:34:00  3 calls are missing: the audit could not be written",
    ]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--tool", "st*"], [1, 2, 4]),
        (["--tool", "git/status"], [1, 2]),
        (["--tool", "dev/*"], [1, 2, 3]),
        (["--tool", "STATUS"], []),
        (["--failed"], [2, 3]),
        (["--denied"], [3]),
        (["--principal", "alice"], [4]),
        (["--since", "1h"], [3, 4, 0]),
        (["--since", "90m", "--limit", "1"], [0]),
        (["--since", "2020-01-01"], [1, 2, 3, 4, 0]),
        (["--limit", "2"], [4, 0]),
    ],
)
def test_options_choose_which_calls_are_shown(
    files: AuditFiles, log: Callable[..., list[str]], options: list[str], shown: list[int]
) -> None:
    files.append(line(1, time=at(9000)))
    files.append(line(2, time=at(8000), outcome="timed_out"))
    files.append(line(3, time=at(70), name="push", outcome="refused", error="LimitReached"))
    files.append(line(4, time=at(60), toolbox="docs", server="wiki", principal="alice"))
    files.append(b'{"time":"%b","run":"r","pid":1,"missing":3}\n' % at(50).encode())
    assert [json.loads(row).get("number", 0) for row in log(*options, "--json")] == shown


def test_a_record_is_printed_as_it_is_and_hidden_characters_as_escapes(
    files: AuditFiles, log: Callable[..., list[str]]
) -> None:
    written = line(1, name="a\u202eb\x1b[2J", arguments=_raw({"text": "\u202e"}))
    files.append(written)
    (row,) = log("--json")
    assert json.loads(row) == json.loads(written)
    assert row.isascii()
    assert "\u202e" not in "".join(log()) + "".join(log("--csv"))


def test_the_csv_is_read_back_and_no_cell_is_a_formula(
    files: AuditFiles, log: Callable[..., list[str]]
) -> None:
    names = ["=1+1", "+x", "-x", "@x", 'with "quotes", commas', "plain"]
    for number, name in enumerate(names, 1):
        files.append(line(number, name=name, arguments=_raw({"a": "1,2"})))
    rows = list(csv.DictReader(io.StringIO("\r\n".join(log("--csv")))))
    assert [row["name"] for row in rows] == ["'=1+1", "'+x", "'-x", "'@x", 'with "quotes", commas', "plain"]
    assert {row["arguments"] for row in rows} == {'{"a":"1,2"}'}
    assert rows[0]["seconds"] == "0.012"


def _raw(value: Any) -> Any:
    import msgspec

    return msgspec.Raw(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def test_a_file_in_the_place_of_the_directory_is_named_with_what_to_do(
    tmp_path: Path, files: AuditFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    directory(tmp_path).parent.mkdir()
    directory(tmp_path).write_bytes(b"")
    assert main(["log"]) == 1
    assert capsys.readouterr().err == (
        f"mcp-workbench: the calls cannot be read or printed: {files.path} is not a directory. "
        "Move it away, or set XDG_DATA_HOME to another directory\n"
    )


def test_what_is_not_shown_is_said_on_stderr(
    tmp_path: Path, files: AuditFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log"]) == 0
    assert capsys.readouterr() == ("", "No such call is recorded.\n")
    files.append(line(1)[:50] + b"\n" + line(2))
    (tmp_path / "off.json").write_text('{"audit": "off", "toolboxes": {}}')
    assert main(["log", "--json", "--config", "off.json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["number"] == 2
    assert said.err.splitlines() == [
        "1 line left out: damaged, or a process was killed while it wrote them.",
        'Calls are not recorded now: "audit" is "off" in off.json.',
    ]


def test_a_directory_that_cannot_be_read_is_said(
    tmp_path: Path, files: AuditFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    directory(tmp_path).parent.mkdir()
    directory(tmp_path).symlink_to(tmp_path)
    assert main(["log"]) == 1
    path = directory(tmp_path)
    assert capsys.readouterr().err == (
        f"mcp-workbench: the calls cannot be read or printed: {path} is a symbolic link, which is not "
        "followed here. Replace it by a directory. To keep the files elsewhere, set XDG_CACHE_HOME or "
        "XDG_DATA_HOME, or move the directory that contains mcp-workbench, and put a link to it in its "
        "place\n"
    )
    assert files.path in str(directory(tmp_path))


@pytest.mark.parametrize("option", ["--since=soon", "--since=", "--limit=0", "--limit=many"])
def test_a_wrong_option_is_answered(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["log", option])
    assert caught.value.code == 2
    assert "should be" in capsys.readouterr().err


@pytest.mark.slow
def test_calls_of_the_shell_are_recorded_and_followed(bench: Bench) -> None:
    bench.write(toolboxes(dev={"echo": server()}))
    assert bench.run("call", "dev/echo/echo", "a=1").returncode == 0
    following = bench.start("log", "--follow", "--json")
    assert following.stdout is not None
    try:
        first = json.loads(following.stdout.readline())
        assert bench.run("call", "dev/echo/echo", "a=2").returncode == 0
        second = json.loads(following.stdout.readline())
    finally:
        following.send_signal(signal.SIGINT)
        following.communicate(timeout=15)
    assert following.returncode == 130
    assert [(it["name"], it["outcome"]) for it in (first, second)] == [("echo", "answered")] * 2
    assert first["run"] != second["run"]
