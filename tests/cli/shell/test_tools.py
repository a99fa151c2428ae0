"""`mcp-workbench tools`: whole screens for people, lines for pipes, and what a model gets as JSON."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.shell.servers import files, results
from tests.support.configs import server, tool, toolboxes

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.journal import Journal

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
LONG = "Does something that takes more words to describe than a narrow terminal has space for in one line"

OVERVIEW = """\
workbench-config.json: 2 toolboxes, 3 servers, 3 known tools

{b}dev: The dev toolbox{r}
  files  2 tools        listed 2 days ago
  late   not known yet

{b}ops: The ops toolbox{r}
  s  1 tool  listed 2 days ago

To list the tools of all servers: mcp-workbench index dev/late
"""

TOOLBOX = """\
{b}ops: The ops toolbox{r}
{b}  ops/s (1 tool, listed 2 days ago){r}
    long  {long}
"""

TOOL = """\
{b}dev/files/read_file  (Read a file){r}
{d}listed 2 days ago{r}

Read a file as text. Use `head` for the first lines of a long file.

  an example

{b}Arguments{r}
  path  string, required
      Where the file is
  head  integer, optional, default 10
      Only the first lines
  mode  "text"|"base64", optional, default "text"

{b}Result{r}
  content  string

{b}What the server says about it{r}
  only reads; reaches no other systems.

{b}Example{r}
  mcp-workbench call dev/files/read_file path=PATH
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench whose tools are known, but for those of one server."""
    from tests.cli.commands import Bench

    bench = Bench(tmp_path_factory.mktemp("known"))
    long = server(tools=[tool("long", description=LONG)])
    bench.write(toolboxes(dev={"files": files(write={"do": "echo"}), "late": results()}, ops={"s": long}))
    assert bench.run("index", "dev/files", "ops").returncode == 0
    for record in (bench.directory / "cache" / "mcp-workbench" / "catalogue").glob("*.json"):
        listed = json.loads(record.read_bytes())
        record.write_text(json.dumps(listed | {"listed_at": time.time() - 60 * 60 * 60}), encoding="utf-8")
    return bench


@pytest.mark.parametrize(("columns", "coloured"), [(80, True), (120, False)])
@pytest.mark.parametrize(
    ("words", "screen"), [((), OVERVIEW), (("ops",), TOOLBOX), (("dev/files/read_file",), TOOL)]
)
def test_a_screen_shows_what_is_known(
    known: Bench, words: tuple[str, ...], screen: str, columns: int, coloured: bool
) -> None:
    env = {} if coloured else {"NO_COLOR": "1"}
    code, shown = known.run_on_terminal("tools", *words, env=env, columns=columns)
    styles = {"b": BOLD, "d": DIM, "r": RESET} if coloured else dict.fromkeys("bdr", "")
    long = LONG if columns == 120 else f"{LONG[: 80 - 11]}…"
    assert (code, shown.replace("\r\n", "\n")) == (0, screen.format(**styles, long=long))


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            (),
            [
                "dev/files\t2 tools\tlisted 2 days ago",
                "dev/late\tnot known yet",
                "ops/s\t1 tool\tlisted 2 days ago",
            ],
        ),
        (("ops",), [f"ops/s/long\t{LONG}"]),
        (("ops/s", "--detail", "signatures"), [f"ops/s/long\t()\t{LONG}"]),
        (("--query", "read file", "--limit", "1"), ["dev/files/read_file\tRead a file as text."]),
    ],
)
def test_a_pipe_gets_a_line_for_each_with_tabs_and_nothing_is_cut(
    known: Bench, words: tuple[str, ...], lines: list[str]
) -> None:
    done = known.run("tools", *words)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines)


def test_json_is_what_a_model_gets(known: Bench) -> None:
    code, overview = known.run_json("tools", "--json")
    assert code == 0
    assert [
        (box["toolbox"], [each["tools"] for each in box["servers"]]) for box in overview["toolboxes"]
    ] == [
        ("dev", [2, None]),
        ("ops", [1]),
    ]
    _, one = known.run_json("tools", "dev/files/read_file", "--json", "--detail", "full")
    assert one["tools"][0]["outputSchema"]["required"] == ["content"]
    _, names = known.run_json("tools", "ops", "--json", "--detail", "names")
    assert LONG in json.dumps(names["tools"])
    _, found = known.run_json("tools", "--query", "read a file", "--json")
    assert found["tools"][0]["name"] == "read_file"
    assert found["not_searched"] == {"dev": ["late"]}


@pytest.mark.parametrize(
    ("words", "code", "stderr"),
    [
        (
            ("dev/flies",),
            2,
            "mcp-workbench: there is no server or tool 'dev/flies'. Did you mean: dev/files?\n",
        ),
        (("--limit", "3"), 2, "mcp-workbench: --limit is for --query: say what to search for\n"),
        (("--query", "x", "--connect"), 2, "mcp-workbench: --query searches what is known"),
        (
            ("--query", "zzzz qqqq"),
            1,
            "mcp-workbench: no tool matches. Try other words, in English, as a tool's description ",
        ),
        (("--local", "--url", "x"), 2, "mcp-workbench: argument --url: not allowed with argument --local"),
    ],
)
def test_misuse_is_told_from_a_search_without_a_result(
    known: Bench, words: tuple[str, ...], code: int, stderr: str
) -> None:
    done = known.run("tools", *words)
    assert (done.returncode, done.stdout, done.stderr[: len(stderr)]) == (code, "", stderr)


def test_a_search_names_the_servers_that_it_cannot_search(known: Bench) -> None:
    assert known.run("tools", "--query", "read").stderr == (
        "Not searched: 1 server whose tools are not known yet. To list them: mcp-workbench index dev/late\n"
    )


@pytest.mark.parametrize("words", [(), ("--policy",), ("--connect",)])
def test_a_configuration_without_toolboxes_gets_the_way_to_add_one(
    bench: Bench, words: tuple[str, ...]
) -> None:
    bench.write({"toolboxes": {}})
    done = bench.run("tools", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mcp-workbench: there are no toolboxes in workbench-config.json. "
        "To get some from your MCP clients: mcp-workbench import. "
        "To add a server: mcp-workbench add time -- uvx mcp-server-time\n"
    )
    assert bench.run_json("tools", "--json") == (1, {"file": "workbench-config.json", "toolboxes": []})


def test_a_toolbox_without_servers_is_listed_and_has_nothing_to_decide_about(bench: Bench) -> None:
    bench.write(toolboxes(dev={}))
    assert bench.run("tools").stdout == "dev\tno servers\n"
    assert "\r\n  no servers\r\n" in bench.run_on_terminal("tools")[1]
    decided = bench.run("tools", "--policy")
    assert (decided.returncode, decided.stdout) == (1, "")
    assert decided.stderr == "mcp-workbench: there are no tools to decide about\n"


def test_only_what_is_not_known_is_started(bench: Bench, journal: Journal) -> None:
    dying = {"command": "/bin/sh", "args": ["-c", "echo broken >&2; exit 3"]}
    bench.write(toolboxes(dev={"files": files(journal), "dying": dying}))
    assert bench.run("tools").stdout == "dev/files\tnot known yet\ndev/dying\tnot known yet\n"
    assert bench.run("tools", "--query", "read").returncode == 1
    assert journal.starts == 0
    assert bench.run("tools", "dev/files").returncode == 0
    assert bench.run("tools", "dev/files").returncode == 0
    assert journal.starts == 1
    done = bench.run("tools", "dev")
    assert (done.returncode, done.stdout) == (1, "dev/files/read_file\tRead a file as text.\n")
    assert "mcp-workbench: dev/dying: Failed to connect" in done.stderr
    assert "broken" in done.stderr
    assert bench.run("tools", "dev/files", "--connect").returncode == 0
    assert journal.starts == 3
    done = bench.run("tools", "--json", "dev")
    assert json.loads(done.stdout)["failed_servers"][0]["server"] == "dying"
    done = bench.run("tools", "--connect")
    assert (done.returncode, done.stdout[:19]) == (1, "dev/files\t1 tool\tco")
    assert "mcp-workbench: dev/dying: Failed to connect" in done.stderr


def test_the_decision_about_each_tool_is_shown_with_its_rule(bench: Bench) -> None:
    tools = [tool("read_file"), tool("delete_file")]
    tree = toolboxes(dev={"files": server(tools=tools)}) | {"policy": {"delete_*": "deny", "hide": True}}
    bench.write(tree)
    shown = bench.run("tools", "--policy")
    assert (shown.returncode, shown.stdout.splitlines()) == (
        0,
        [
            "allow\tdev/files/read_file\tno rule matches",
            'deny (hidden)\tdev/files/delete_file\t"delete_*": "deny" of the file',
        ],
    )
    asked = bench.run("tools", "--policy", "dev/files/delete_file", "--json")
    assert json.loads(asked.stdout)["tools"] == [
        {
            "toolbox": "dev",
            "server": "files",
            "tool": "delete_file",
            "action": "deny",
            "rule": '"delete_*": "deny" of the file',
            "hidden": True,
        }
    ]
    called = bench.run("call", "dev/files/delete_file")
    assert (called.returncode, "has no tool 'delete_file'" in called.stderr) == (2, True)
    assert bench.run("tools", "--policy", "--query", "x").returncode == 2


def test_hints_decide_also_about_tools_that_are_known_from_another_file(bench: Bench) -> None:
    tools = [tool("read_file", annotations={"readOnlyHint": True})]
    bench.write(toolboxes(dev={"files": server(tools=tools)}) | {"policy": "careful"})
    expected = 'allow\tdev/files/read_file\t"read-only": "allow" of the preset "careful" of the file\n'
    assert bench.run("tools", "--policy").stdout == expected
    bench.config.rename(bench.config.with_name("other.json"))
    # The catalogue has the tools, but nothing is pinned for this file yet.
    assert bench.run("tools", "--policy", "--config", "other.json").stdout == expected
