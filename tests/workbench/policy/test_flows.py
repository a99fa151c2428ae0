"""Which servers' results may be handed to a server."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.config import InlineConfig
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.kept.client_results import Content
from mcp_workbench.workbench.policy.flows import flow_rule
from tests.serve.relayed import MODERN_META, Relayed, written
from tests.support.kept import Maker
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mcp_workbench.config import Origin
    from mcp_workbench.workbench.door import CallDecision, CallEnd, CallRecord
    from mcp_workbench.workbench.principal import Principal
    from mcp_workbench.workbench.server_call import ServerCall
    from mcp_workbench.workbench.toolbox_server import ToolboxServer

MAIL: Origin = ("dev", "mail")
STRICTNESS = ("allow", "ask", "deny")


def decided(rules: Mapping[str, str], *sources: Origin) -> CallDecision | None:
    call = SimpleNamespace(toolbox_server=SimpleNamespace(flows=rules), sources=sources, origin=MAIL)
    return flow_rule(cast("ServerCall", call))


@pytest.mark.parametrize(
    ("rules", "sources", "action"),
    [
        ({}, [("crm", "db")], None),
        ({"crm/*": "deny"}, [], None),
        ({"crm/*": "deny"}, [("crm", "db")], "deny"),
        ({"crm/*": "deny"}, [("dev", "files"), ("crm", "db")], "deny"),
        ({"crm/*": "deny"}, [("dev", "files")], None),
        ({"*/*": "deny", "crm/*": "ask"}, [("crm", "db")], "ask"),
        ({"*/*": "deny", "crm/*": "ask"}, [("crm", "db"), ("dev", "files")], "deny"),
        ({"crm/db": "allow", "crm/*": "deny"}, [("crm", "db")], "allow"),
        # Neither of these is more specific than the other.
        ({"crm/*": "allow", "*/db": "deny"}, [("crm", "db")], "deny"),
        ({"crm/d*": "allow", "crm/*b": "ask"}, [("crm", "db")], "ask"),
        ({"cr?/db": "deny", "crm/d?": "allow"}, [("crm", "db")], "deny"),
        # A server's own results, but not what they were made from.
        ({"*/*": "deny"}, [MAIL], None),
        ({"*/*": "deny"}, [MAIL, ("crm", "db")], "deny"),
        ({"dev/a[b]": "deny"}, [("dev", "a[b]")], "deny"),
    ],
)
def test_the_most_specific_rule_decides_and_of_several_the_strictest(
    rules: dict[str, str], sources: list[Origin], action: str | None
) -> None:
    decision = decided(rules, *sources)
    assert (None if decision is None else decision.action) == action


def test_the_rule_says_which_flow_it_is_about() -> None:
    decision = decided({"crm/*": "deny"}, ("dev", "files"), ("crm", "db"))
    assert decision is not None
    assert decision.rule == '"crm/*": "deny" in "flows" of server dev/mail, for a result of crm/db'


names = st.sampled_from(["a", "ab", "b"])
parts = st.sampled_from(["*", "a*", "*b", "a", "ab", "b"])
patterns = st.tuples(parts, parts).map("/".join)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(patterns, st.sampled_from(STRICTNESS), max_size=4),
    st.lists(st.tuples(names, names), max_size=3),
    patterns,
)
def test_more_sources_and_one_more_denial_never_allow_more(
    rules: dict[str, str], sources: list[Origin], denied: str
) -> None:
    def strictness(rules: dict[str, str], sources: list[Origin]) -> int:
        decision = decided(rules, *sources)
        return 0 if decision is None else STRICTNESS.index(decision.action)

    whole = strictness(rules, sources)
    assert whole == max((strictness(rules, [source]) for source in sources), default=0)
    exact = {"/".join(source): "deny" for source in sources}
    assert strictness(rules | exact, sources) == (2 if sources else 0)
    if denied not in rules:
        assert strictness(rules | {denied: "deny"}, sources) >= whole


class Ended:
    """An observer that keeps the records of calls."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []

    def on_end(self, record: CallRecord, end: CallEnd) -> None:  # noqa: ARG002 - an observer
        self.records.append(record)


@pytest.mark.asyncio
@pytest.mark.parametrize("modern", [False, True])
async def test_a_call_knows_whose_results_it_hands_on_and_so_does_its_own_result(
    tmp_path: Path, modern: bool
) -> None:
    """The sources are known before anything is decided, and without reading what is kept."""
    ended, decided_on = Ended(), []
    door = Door(observers=[ended])
    bench = Relayed(tmp_path, modern=modern, results=InlineConfig(inline_limit=5000), door=door)
    kept = bench.view.client_results
    assert kept is not None
    for name, handed in (("db", ()), ("wiki", [("crm", "db"), ("crm", "wiki")])):
        kept.keep_now([Content(f"res_{name}", b"x", "text")], Maker(("crm", name)), 100, handed)

    class Policy:
        on_end = None

        def confirm(self, record: CallRecord, call: ServerCall) -> None: ...

        def shown(self, toolbox_server: ToolboxServer, principal: Principal) -> ToolboxServer:  # noqa: ARG002 - hides none
            return toolbox_server

        def decide(self, record: CallRecord, call: ServerCall) -> None:
            decided_on.append((record.sources, call.sources, call.preparation is not None))

    door.adopt(Policy())
    references = [{"$result": "res_wiki"}, {"$result": "res_gone"}, {"$result": "res_db"}]
    bench.client_says(call(1, {"a": references}, modern=modern))
    await poll(lambda: len(ended.records))
    sources = (("crm", "wiki"), ("crm", "db"))
    assert (ended.records[0].sources, decided_on) == (sources, [(sources, sources, True)])
    assert ended.records[0].end is not None
    assert ended.records[0].end.error == "NotKept"

    bench.request()()
    (in_flight,) = bench.calls
    in_flight.sources = (("crm", "db"),)
    bench.answer(6000)()
    (handle,) = set(re.findall(r"res_[\w-]{20,}", written(bench.to_client[-1]).decode()))
    result = kept.find(handle)
    assert result is not None
    assert result.origins == (("dev", "files"), ("crm", "db"))


def call(request_id: int, arguments: dict[str, Any], *, modern: bool) -> bytes:
    tool = {"toolbox": "dev", "server": "files", "tool": "read"}
    params: dict[str, Any] = {"name": "use_tool", "arguments": {"tool": tool, "arguments": arguments}}
    if modern:
        params["_meta"] = MODERN_META
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()
