"""What a run took place with: versions and the machine, with nothing in it that names the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from bench.over_http.targets import MCP_PROXY

COMPARED = ("workbench-mcp", "msgspec", "uvloop", "orjson", "starlette", "uvicorn", "httptools")
ASK_VERSIONS = (
    "import importlib.metadata, json, platform, sys;"
    "found = {name: importlib.metadata.version(name) for name in sys.argv[1:]};"
    "print(json.dumps({'Python': platform.python_version(), **found}))"
)


def versions(python: str) -> dict[str, str]:
    """Of the interpreter that runs what is compared, its packages, and the peers."""
    found = _ask(python, *COMPARED)
    found["fastmcp"] = metadata.version("fastmcp")
    found["mcp-proxy"] = _ask(str(MCP_PROXY), "mcp-proxy")["mcp-proxy"]
    return found


def _ask(python: str, *packages: str) -> dict[str, str]:
    command = [python, "-c", ASK_VERSIONS, *packages]
    asked = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    answered: dict[str, str] = json.loads(asked)
    return answered


def description() -> str:
    """The machine in one line."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB of memory, {sys.platform} {kernel}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
