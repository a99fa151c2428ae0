"""Why a server did not start, in words, and what a person can do about it. Pure text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.errors import ConnectionClosed, quote_stderr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import RequestTimeout

SUPPLIERS = {
    "npx": "Node.js",
    "node": "Node.js",
    "npm": "Node.js",
    "uvx": "uv",
    "uv": "uv",
    "docker": "Docker",
    "bunx": "Bun",
    "bun": "Bun",
    "deno": "Deno",
    "python": "Python",
    "python3": "Python",
    "pipx": "pipx",
}

ENVIRONMENT_HINT = (
    "Servers get a small safe environment (PATH, HOME, proxies, …), not all of yours: if this one needs a "
    'variable, put it into its "env", name it in "inheritEnv", or set "inheritEnv": true.'
)

HINT_ON_EXIT = f"Run its command in a terminal to see more. {ENVIRONMENT_HINT}"
"""What to do about a server that ended before it could be used."""


def why_not_spawned(config: ServerConfig, error: OSError) -> tuple[str, str]:
    """The reason and the hint when the system could not start the program."""
    command = config.command or ""
    if config.cwd is not None and not os.path.isdir(config.cwd):
        return (
            f"its working directory '{config.cwd}' is not a directory",
            'Correct "cwd", or create the directory.',
        )
    if isinstance(error, FileNotFoundError):
        supplier = SUPPLIERS.get(os.path.splitext(os.path.basename(command))[0].lower())
        comes_with = f"It comes with {supplier}: install that, or give" if supplier else "Install it, or give"
        return f"command '{command}' was not found", f'{comes_with} the full path in "command".'
    if isinstance(error, PermissionError):
        return f"command '{command}' may not be executed", f"Make it executable: chmod +x {command}"
    return f"command '{command}' could not be started: {error}", ""


def hint_on_silence(config: ServerConfig) -> str:
    """What to do about a server that did not get ready in time."""
    return (
        f'If it is only slow (a cold npx or uvx downloads first), raise "startupTimeout" '
        f"(now {config.startup_timeout:g} s). {ENVIRONMENT_HINT}"
    )


def explain_no_answer(
    config: ServerConfig, error: ConnectionClosed | RequestTimeout, stderr: Sequence[str]
) -> str:
    """Why a call got no answer, and what to do about it."""
    if isinstance(error, ConnectionClosed):
        return (
            f"{error} in mid-call. The call was not repeated, because it may have taken effect; "
            f"the next call starts the server again.{quote_stderr(stderr)}"
        )
    return (
        f"{error}. The call was cancelled, but may have taken effect. If such calls may take longer, "
        f'raise "timeout" of this server (now {config.timeout:g} s) in the configuration.'
    )


REMOTE_REASON = "this version of MCP Workbench connects to servers over stdio only"
REMOTE_HINT = 'A bridge can reach it: "command": "npx", "args": ["-y", "mcp-remote", "<its url>"].'
