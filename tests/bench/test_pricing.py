"""The suite `tokens` has enough real servers, pinned, and its figures are those of `mcp-workbench tokens`."""

from __future__ import annotations

from bench.pricing import servers
from bench.suites.tokens import IN_ALL, MEDIAN_OPENED, MOST_OF_FEW, MOST_OF_MANY, Price, _over_all


def test_there_are_thirty_servers_and_the_ten_of_the_example_in_the_same_versions() -> None:
    assert len(servers.SERVERS) >= 30
    assert all(one["version"][0].isdigit() for one in servers.SERVERS.values())
    for toolbox in servers.TEN["toolboxes"].values():
        for name, entry in toolbox["mcpServers"].items():
            one = servers.SERVERS[name]
            pinned = f"{one['npm']}@{one['version']}" if "npm" in one else f"{one['pypi']}=={one['version']}"
            assert pinned in entry["args"]


def test_what_cannot_pay_is_not_judged() -> None:
    tiny = Price(tools=1, native=100, start=300, opened=50, search=80)
    few = Price(tools=9, native=1000, start=300, opened=500, search=300)
    many = Price(tools=30, native=4000, start=300, opened=1700, search=400)
    figures = {one.figure: one.rounds[0] for one in _over_all([tiny, few, many]) if one.case == IN_ALL}
    assert (figures[MEDIAN_OPENED], figures[MOST_OF_MANY], figures[MOST_OF_FEW]) == (80, 50, 80)
