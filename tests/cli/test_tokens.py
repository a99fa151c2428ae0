"""`mcp-workbench tokens`: its figures are those of what a client really gets."""

from __future__ import annotations

import json
import re
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.cli.inspection.costs import Costs, Opened, figures
from mcp_workbench.workbench.text.estimate import estimate_tokens
from tests.support.client import RawClient, serve_command
from tests.support.configs import server, tool, toolboxes
from tests.support.sessions import ModernSession, text_of

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.client import Json
    from tests.support.journal import Journal

LEVELS = ("full", "signatures", "names", "auto")
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DYING = {"command": "/bin/sh", "args": ["-c", "exit 3"]}


def wordy(verb: str, thing: str) -> str:
    properties = {
        "path": {"type": "string", "description": f"Where the {thing} is, from the root of the project"},
        "depth": {"type": "integer", "description": "How many levels to go down", "default": 3},
        "format": {"type": "string", "enum": ["text", "json", "html"], "description": "What to return"},
    }
    return tool(
        f"{verb}_{thing}",
        title="For people only",
        description=f"{verb.title()} a {thing} of the project. It is found by its path, and given in full.",
        inputSchema={"type": "object", "properties": properties, "required": ["path"]},
        annotations={"readOnlyHint": True},
    )


VERBS, THINGS = ("read", "list", "check", "move"), ("file", "branch", "table", "page", "ticket", "note")
MANY = [wordy(verb, thing) for verb in VERBS for thing in THINGS]
FEW = [tool("send_message", description="Send an e-mail to somebody"), tool("read_inbox")]


TELLING = {"instructions": "Check a branch before you move it."}


def config(journal: Journal | None = None) -> Json:
    boxes = toolboxes(
        dev={
            "files": server(journal, era="modern", tools=MANY, discovery=TELLING),
            "off": {"command": "x", "disabled": True},
        },
        office={"mail": server(journal, era="legacy", tools=FEW)},
    )
    return {**boxes, "listingBudget": 2500}


def only(toolbox: str) -> Json:
    whole = config()
    return {**whole, "toolboxes": {toolbox: whole["toolboxes"][toolbox]}}


def native(definitions: list[str]) -> int:
    """What clients pass on to a model."""
    shown = [
        {key: json.loads(it)[key] for key in ("name", "description", "inputSchema")} for it in definitions
    ]
    return estimate_tokens(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))


def connected(bench: Bench, config: Json) -> RawClient:
    return RawClient(serve_command(bench.write(config)), bench.environment())


async def read_at_start(bench: Bench, config: Json) -> int:
    async with connected(bench, config) as client:
        session = ModernSession(client)
        greeting = await session.greet()
        tools = [json.dumps(it) for it in await session.list_tools()]
    return estimate_tokens(greeting["instructions"]) + native(tools)


async def read_when_opened(session: ModernSession, toolbox: str, detail: str) -> int:
    result = await session.call("open_toolbox", {"toolbox_name": toolbox, "detail": detail})
    return estimate_tokens(text_of(result))


async def read_by_searching(session: ModernSession, queries: list[str], **where: str) -> int:
    read = [
        estimate_tokens(json.dumps({"query": query}, separators=(",", ":")))
        + estimate_tokens(text_of(await session.call("open_toolbox", {"query": query, **where})))
        for query in queries
    ]
    return round(mean(read))


def cells_of(costs: Json) -> list[str]:
    """The cells of a row of the table."""
    opened = (costs["opened"][level] for level in LEVELS)
    at_first = (costs[name] for name in ("servers", "tools", "native", "start"))
    once = round(100 * costs["once"] / costs["native"])
    rest = (once, costs["search"], costs["break_even_calls"])
    return [f"{figure:,}" for figure in (*at_first, *opened, *rest)]


def named_by_us(toolbox: str, server: str, definition: str) -> int:
    """What a call takes more than a native one."""
    name = json.loads(definition)["name"]
    ours = {"tool": {"toolbox": toolbox, "server": server, "tool": name}, "arguments": {}}
    return estimate_tokens("use_tool" + json.dumps(ours, separators=(",", ":"))) - estimate_tokens(
        name + "{}"
    )


async def test_the_figures_are_those_of_what_a_client_gets(bench: Bench) -> None:
    bench.write(config())
    assert bench.run("index").returncode == 0
    code, account = bench.run_json("tokens", "--json")
    dev, office = account["toolboxes"]
    total = account["total"]
    assert (code, account["missing"]) == (0, [])
    assert [dev["toolbox"], office["toolbox"]] == ["dev", "office"]
    assert [(it["servers"], it["tools"]) for it in (dev, office, total)] == [(1, 24), (1, 2), (2, 26)]
    told = estimate_tokens(TELLING["instructions"])
    natives = [native(MANY) + told, native(FEW), native([*MANY, *FEW]) + told]
    assert [it["native"] for it in (dev, office, total)] == natives
    starts = [await read_at_start(bench, it) for it in (only("dev"), only("office"), config())]
    assert [it["start"] for it in (dev, office, total)] == starts
    async with connected(bench, config()) as client:
        session = ModernSession(client)
        words = [f"{verb} {thing}" for verb in VERBS for thing in THINGS]
        assert dev["search"] == await read_by_searching(session, words[:20], toolbox_name="dev")
        assert total["search"] == await read_by_searching(session, words[:20])
        for toolbox, costs in (("dev", dev), ("office", office)):
            opened = {level: await read_when_opened(session, toolbox, level) for level in LEVELS}
            assert costs["opened"] == opened
    assert total["opened"] == {level: dev["opened"][level] + office["opened"][level] for level in LEVELS}
    assert dev["opened"]["auto"] == dev["opened"]["signatures"]
    assert office["opened"]["auto"] == office["opened"]["full"]
    for costs in (dev, office, total):
        assert costs["once"] == costs["start"] + costs["opened"]["auto"]
    assert total["call"] == round(
        mean(
            [named_by_us("dev", "files", it) for it in MANY]
            + [named_by_us("office", "mail", it) for it in FEW]
        )
    )


@pytest.mark.parametrize(
    ("native", "calls"), [(0, 0), (499, 0), (500, 0), (1519, 0), (1520, 1), (10_699, 9), (10_700, 10)]
)
def test_the_break_even_is_the_last_call_with_which_the_workbench_costs_no_more(
    native: int, calls: int
) -> None:
    opened = Opened(full=1, signatures=1, names=1, auto=1)
    costs = Costs(servers=1, tools=1, native=native, start=500, opened=opened, search=1000, call=20)
    assert costs.break_even == calls
    assert figures(costs)["break_even_calls"] == calls


def test_people_get_a_table_and_what_it_comes_to_in_words(bench: Bench) -> None:
    bench.write(config())
    total = bench.run_json("tokens", "--connect", "--json")[1]["total"]
    done = bench.run("tokens")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {cells[0]: cells[1:] for line in done.stdout.splitlines() if (cells := line.split())}
    assert list(rows)[:4] == ["toolbox", "dev", "office", "all"]
    assert [cell.rstrip("%") for cell in rows["all"]] == cells_of(total)
    share = 100 * total["start"] / total["native"]
    assert (
        f"26 tools of 2 servers would take {total['native']:,} tokens in every conversation; "
        f"the workbench takes {total['start']:,} at the start ({share:.1f} %)."
    ) in " ".join(done.stdout.split())


def test_a_toolbox_that_was_never_listed_has_no_figures_but_its_start(bench: Bench) -> None:
    bench.write(config())
    bench.run("index", "dev")
    dev, office = bench.run_json("tokens", "--json")[1]["toolboxes"]
    rows = {
        cells[0]: cells[1:] for line in bench.run("tokens").stdout.splitlines() if (cells := line.split())
    }
    assert [cell.rstrip("%") for cell in rows["dev"]] == cells_of(dev)
    assert rows["office"] == ["0", "-", "-", f"{office['start']:,}", *["-"] * 7]


def test_a_server_without_tools_has_no_percentage(bench: Bench) -> None:
    bench.write(toolboxes(dev={"files": server(tools=MANY)}, empty={"s": server(tools=[])}))
    bench.run("index")
    rows = {
        cells[0]: cells[1:] for line in bench.run("tokens").stdout.splitlines() if (cells := line.split())
    }
    assert (rows["empty"][:3], rows["empty"][8]) == (["1", "0", "0"], "-")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_terminal_shows_every_figure_whole(bench: Bench, columns: int) -> None:
    bench.write(config())
    _, account = bench.run_json("tokens", "--connect", "--json")
    _, shown = bench.run_on_terminal("tokens", columns=columns)
    (row,) = [line for line in SEQUENCE.sub("", shown).splitlines() if re.match(r"\W*all ", line)]
    assert re.findall(r"[\d,]+", row) == cells_of(account["total"])


def test_a_configuration_for_which_a_workbench_does_not_pay_is_told_so(bench: Bench) -> None:
    bench.write(only("office"))
    bench.run("index")
    done = bench.run("tokens")
    assert done.returncode == 0
    said = r"2 tools of 1 server would take \d+ tokens in every conversation; the workbench takes \d+\. "
    advice = r"For so few tools it saves none\. In tokens, these servers are cheaper in the client's own "
    assert re.search(said + advice, " ".join(done.stdout.split()))
    assert bench.run_json("tokens", "--json")[1]["total"]["break_even_calls"] == 0


def test_nothing_is_started_and_servers_that_are_not_known_are_named(bench: Bench, journal: Journal) -> None:
    bench.write(config(journal))
    bench.run("index", "dev")
    started = journal.starts
    done = bench.run("tokens")
    assert done.returncode == 0
    assert (
        "Not counted, because their tools are not known yet: office/mail. "
        "List them with mcp-workbench index, or with --connect."
    ) in " ".join(done.stdout.split())
    _, account = bench.run_json("tokens", "--json")
    assert account["missing"] == [{"toolbox": "office", "server": "mail"}]
    assert (account["total"]["tools"], journal.starts) == (24, started)


def test_when_nothing_is_known_it_says_how_to_change_that(bench: Bench) -> None:
    bench.write(config())
    done = bench.run("tokens")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mcp-workbench: no tools are known of any server in workbench-config.json. "
        "List them with mcp-workbench index, or with --connect.\n"
    )
    code, account = bench.run_json("tokens", "--json")
    assert (code, account["total"]["native"], len(account["missing"])) == (1, 0, 2)


def test_a_configuration_without_servers_has_nothing_to_count(bench: Bench) -> None:
    bench.write({"toolboxes": {}})
    done = bench.run("tokens")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mcp-workbench: there is no server in workbench-config.json\n"


def test_connecting_lists_the_tools_first(bench: Bench) -> None:
    whole: Any = config()
    whole["toolboxes"]["office"]["mcpServers"]["dying"] = DYING
    bench.write(whole)
    done = bench.run("tokens", "--connect")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Listing the tools of 4 servers\n")
    text = " ".join(done.stdout.split())
    assert "26 tools of 2 servers would take" in text
    assert "not known yet: office/dying." in text
    code, account = bench.run_json("tokens", "--connect", "--json")
    assert (code, account["total"]["tools"]) == (1, 26)


@pytest.mark.parametrize("args", [("tokens",), ("tokens", "--json")], ids=" ".join)
def test_a_wrong_file_is_explained(bench: Bench, args: tuple[str, ...]) -> None:
    bench.write(toolboxes(dev={"bad": {}}))
    done = bench.run(*args)
    assert done.returncode == 2
    assert "toolboxes.dev.mcpServers.bad" in (done.stdout if "--json" in args else done.stderr)
