"""docs/conformance.md: the words of page.md, and what is known of the suite. As a program, it writes it."""

from __future__ import annotations

import json

from tests.conformance.scenarios import (
    EXTENSION,
    HERE,
    LEGACY,
    MODERN,
    OLDEST,
    REASONS,
    Way,
    exceptions,
    scenarios,
)
from tests.real.servers import NODE
from tests.structure.package import ROOT

PAGE = ROOT / "docs" / "conformance.md"

TITLES: dict[Way, str] = {
    "server": "As a server",
    "behind-legacy": "As a server, with a legacy server behind",
    "client": "As a client",
}


def page() -> str:
    told = {"version": _version(), "counts": _counts(), "reasons": _reasons()}
    text = (HERE / "page.md").read_text(encoding="utf-8")
    for name, value in told.items():
        text = text.replace(f"<!-- {name} -->", value)
    return text


def _version() -> str:
    pinned = json.loads((NODE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    version: str = pinned["@modelcontextprotocol/conformance"]
    return version


def _counts() -> str:
    behind: list[tuple[str, list[Way]]] = [
        ("legacy", ["server", "behind-legacy"]),
        ("modern", ["server"]),
        ("dual", ["server"]),
    ]
    rows = [
        [f"a server, with a {era} server behind", version, *_count(scenarios("server", version), ways)]
        for version in (LEGACY, MODERN)
        for era, ways in behind
    ]
    rows.append(["a server", EXTENSION, *_count(scenarios("server", EXTENSION), ["server"])])
    rows.extend(
        ["a client", named, *_count(scenarios("client", version), ["client"])]
        for version, named in (
            (LEGACY, LEGACY),
            (MODERN, MODERN),
            (OLDEST, OLDEST),
            (EXTENSION, "extensions"),
        )
    )
    return _table(["The workbench as", "Version", "Scenarios", "Pass", "Do not apply"], rows)


def _count(names: list[str], ways: list[Way]) -> list[str]:
    apart = sum(exceptions(name, *ways).scenario for name in names)
    return [str(len(names)), str(len(names) - apart), str(apart)]


def _reasons() -> str:
    return "\n\n".join(f"### {title}\n\n{_listed(way)}" for way, title in TITLES.items())


def _listed(way: Way) -> str:
    return _table(["Scenario", "Why"], [[_named(entry), why] for entry, why in REASONS[way].items()])


def _named(entry: str) -> str:
    scenario, _, check = entry.partition(":")
    return f"`{scenario}`, the check `{check}`" if check else f"`{scenario}`"


def _table(headings: list[str], rows: list[list[str]]) -> str:
    ruler = ["---"] * len(headings)
    return "\n".join(f"| {' | '.join(row)} |" for row in [headings, ruler, *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
