"""Error texts: why a server did not start or a call failed, and what the user can do about it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.errors import BadStatus, BrokenOff, NotTaken, Refused, Unreachable, quote_stderr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import ConnectionClosed, RequestTimeout, TooLong, WireError

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

STDERR_LINES_SHOWN = 10
"""Number of lines of stderr that an error quotes."""

STDERR_IN_LOG = "(not shown, because several users share this server: the log of the workbench has it)"

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


def tail(stderr: Iterable[str]) -> list[str]:
    """Return the last lines of stderr that an error quotes."""
    return [*stderr][-STDERR_LINES_SHOWN:]


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


def next_try(wait: float) -> str:
    """Return when the server is started again, as text to append to a message."""
    if wait > 0:
        return f"; it keeps failing, so the next use in {wait:.1f} s or later starts it again"
    return "; the next use starts it again"


def must_wait(failures: int, wait: float, last: str) -> str:
    """Return why a server is not started now."""
    return (
        f"it has failed {failures} times in a row, and the next try is in {wait:.1f} s at the earliest. "
        f"The last time: {last}"
    )


def explain_loss(error: ConnectionClosed, wait: float, stderr: Sequence[str]) -> str:
    """Return why a call failed when its server ended, and what happens next."""
    return (
        f"{error} in mid-call. The call was not repeated, because it may have taken effect"
        f"{next_try(wait)}.{quote_stderr(stderr)}"
    )


def explain_timeout(config: ServerConfig, error: RequestTimeout) -> str:
    """Return why a call timed out, and what to do about it."""
    return (
        f"{error}. The call was cancelled, but may have taken effect. If such calls may take longer, "
        f'raise "timeout" of this server (now {config.timeout:g} s) in the configuration.'
    )


def explain(error: WireError) -> str:
    """Return why a call failed for other reasons, and what to do about it."""
    if isinstance(error, Refused):
        may_have_acted = error.may_have_acted
    elif isinstance(error, BadStatus):
        may_have_acted = not 300 <= error.status < 500
    elif isinstance(error, (BrokenOff, Unreachable)):
        may_have_acted = isinstance(error, BrokenOff)
    elif isinstance(error, NotTaken):
        return f"{error}. Nothing was done."
    else:
        return str(error)
    repeated = "The call was not repeated, because it may have taken effect." if may_have_acted else ""
    return " ".join(filter(None, (f"{error}.", repeated or "Nothing was done.", error.hint)))


def explain_length(error: TooLong) -> str:
    """Return why a response was too long, and what to do about it."""
    return (
        f'{error}. If such answers are right, raise "messageLimit" of this server (now {error.limit} bytes) '
        "in the configuration; if not, ask it for less."
    )
