"""The real servers of the suite `tokens`: packages of npm and PyPI, pinned, that list their tools without an
account.

`servers.json` lists them. Each is installed once, into `.bench/servers`, and started directly: npx and uvx
would take seconds each time. A key that a server only wants to see is a dummy, and no tool is called.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.process import TargetFailed
from bench.targets import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

SERVERS: dict[str, Json] = json.loads(Path(__file__).with_name("servers.json").read_text(encoding="utf-8"))
"""All servers by name: `npm` or `pypi`, `version`, `program`, `args` and `env`, and `theme`, the toolbox that
a server is in where several share one."""
TEN: Json = json.loads((ROOT / "docs" / "examples" / "ten-servers.json").read_text(encoding="utf-8"))
INSTALLED = ROOT / ".bench" / "servers"
INSTALL_SECONDS = 1800.0


def install(names: Iterable[str]) -> None:
    """Install the servers that are not installed yet. Raises TargetFailed."""
    missing = [SERVERS[name] for name in names if not _program(SERVERS[name]).exists()]
    packages = [f"{server['npm']}@{server['version']}" for server in missing if "npm" in server]
    if packages:
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        _run(*npm, "--prefix", str(INSTALLED / "npm"), *packages)
    for server in missing:
        if "pypi" in server:
            environment = INSTALLED / server["pypi"]
            _run(sys.executable, "-m", "venv", str(environment))
            pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run(*pip, f"{server['pypi']}=={server['version']}")


def entry(name: str, directory: Path) -> Json:
    """The entry of a server in a configuration; what it works on is in the directory."""
    server = SERVERS[name]
    args = [argument.format(directory=directory) for argument in server.get("args", ())]
    program = str(_program(server))
    env = server.get("env", {})
    if "npm" in server:
        return {"command": "node", "args": [program, *args], "env": env}
    return {"command": program, "args": args, "env": env}


def by_theme() -> dict[str, list[str]]:
    """The servers in toolboxes of several."""
    themes: dict[str, list[str]] = {}
    for name, server in SERVERS.items():
        themes.setdefault(server["theme"], []).append(name)
    return themes


def _program(server: Json) -> Path:
    program: str = server["program"]
    if "npm" in server:
        return INSTALLED / "npm" / "node_modules" / str(server["npm"]) / program
    return INSTALLED / str(server["pypi"]) / "bin" / program


def _run(*command: str) -> None:
    INSTALLED.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        raise TargetFailed(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stderr}")
