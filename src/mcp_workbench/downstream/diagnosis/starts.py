"""Why a server did not start, and what the user can do about it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_workbench.config import ServerConfig

SUPPLIER_OF = {
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


def why_not_spawned(config: ServerConfig, error: OSError) -> tuple[str, str]:
    """Return the reason and the hint for a program that the system could not start."""
    command = config.command or ""
    if config.cwd is not None and not os.path.isdir(config.cwd):
        return (
            f"its working directory '{config.cwd}' is not a directory",
            'Correct "cwd", or create the directory.',
        )
    if isinstance(error, FileNotFoundError):
        supplier = SUPPLIER_OF.get(os.path.splitext(os.path.basename(command))[0].lower())
        comes_with = f"It comes with {supplier}: install that, or give" if supplier else "Install it, or give"
        return f"command '{command}' was not found", f'{comes_with} the full path in "command".'
    if isinstance(error, PermissionError):
        return f"command '{command}' may not be executed", f"Make it executable: chmod +x {command}"
    return f"command '{command}' could not be started: {error}", ""


def hint_on_exit(config: ServerConfig) -> str:
    """Return what to do about a server that ended before it was ready."""
    if config.url is not None:
        return ""
    return f"Run its command in a terminal to see more. {ENVIRONMENT_HINT}"


def hint_on_silence(config: ServerConfig) -> str:
    """Return what to do about a server that was not ready in time."""
    if config.url is not None:
        return f'If it is only slow, raise "startupTimeout" (now {config.startup_timeout:g} s).'
    return (
        f'If it is only slow (a cold npx or uvx downloads first), raise "startupTimeout" '
        f"(now {config.startup_timeout:g} s). {ENVIRONMENT_HINT}"
    )
