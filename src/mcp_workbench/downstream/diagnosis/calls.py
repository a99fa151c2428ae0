"""Why a call failed, and what the user can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.errors import BadStatus, BrokenOff, NotTaken, Refused, Unreachable, quote_stderr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import ConnectionClosed, RequestTimeout, TooLong, WireError

STDERR_LINES_SHOWN = 10
"""Number of lines of stderr that an error quotes."""

STDERR_IN_LOG = "(not shown, because several users share this server: the log of the workbench has it)"


def tail(stderr: Iterable[str]) -> list[str]:
    """Return the last lines of stderr that an error quotes."""
    return [*stderr][-STDERR_LINES_SHOWN:]


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
        f"{error} during the call. The call was not repeated, because it may have taken effect"
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
