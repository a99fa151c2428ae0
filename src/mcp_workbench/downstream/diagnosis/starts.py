"""Why a server did not start: what its end, its silence, its stdout and its stderr say together."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mcp_workbench.downstream.diagnosis.causes import StartFailure
from mcp_workbench.downstream.diagnosis.stderr_rules import read_stderr
from mcp_workbench.errors import BadAnswer, RemoteError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.config import ServerConfig
    from mcp_workbench.errors import WireError

ENVIRONMENT_HINT: Final = (
    "Servers get a small safe environment (PATH, HOME, proxies, …), not all of yours: if this one needs a "
    'variable, put it into its "env", name it in "inheritEnv", or set "inheritEnv": true.'
)
SPEAK_STDIO: Final = (
    'Check "command" and "args": the program may need another argument to be an MCP server on stdio, such as '
    '"stdio", "mcp" or "serve".'
)
MAX_QUOTED_CHARACTERS: Final = 120
"""Characters of a line of stdout that a reason quotes."""
_CRASHES: Final = (
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGKILL,
    signal.SIGSEGV,
)
"""Signals that a shell or npm reports as an exit code of 128 and more."""

_LISTENS: Final = re.compile(
    r"\b(?:listening|running|started|serving|available|ready)\b.{0,60}?(?:\bport:? ?(?P<port>\d{2,5})\b"
    r"|(?P<url>https?://[\w.\[\]:-]+(?:/[\w./-]*)?)|:(?P<tail>\d{4,5})\b)",
    re.IGNORECASE,
)


class LastWords:
    """What a server wrote before its start failed, with secrets masked."""

    def __init__(self, stdout: Sequence[str], stderr: Sequence[str]) -> None:
        self.stdout = [line.strip() for line in stdout if line.strip()]
        """Lines of stdout that are no messages."""
        self.stderr = list(stderr)


def on_exit(
    config: ServerConfig, how: str, exit_code: int | None, words: LastWords, environ: Mapping[str, str]
) -> StartFailure:
    """Return why a server ended before it was ready. `how` says how it ended."""
    return _with_sandbox(_of_end(config, how, exit_code, words, environ), config, words)


def on_silence(config: ServerConfig, words: LastWords) -> StartFailure:
    """Return why a server was not ready in time."""
    return _with_sandbox(_of_silence(config, words), config, words)


def _of_end(
    config: ServerConfig, how: str, exit_code: int | None, words: LastWords, environ: Mapping[str, str]
) -> StartFailure:
    ended = f"{how} before it could be used"
    if config.url is not None:
        return StartFailure("failed", ended)
    if found := read_stderr(words.stderr, how, config, environ):
        return found
    if number := _signal_of(exit_code):
        return _crash(number, ended)
    if words.stdout:
        return _of_stdout(words, ended)
    hint = f"Run its command in a terminal to see more. {ENVIRONMENT_HINT}"
    if not any(line.strip() for line in words.stderr):
        return StartFailure("exited-silently", f"{ended}, and wrote nothing to stderr", hint)
    return StartFailure("failed", ended, hint)


def _of_silence(config: ServerConfig, words: LastWords) -> StartFailure:
    late = f"it was not ready within {config.startup_timeout:g} s"
    raise_it = f'raise "startupTimeout" (now {config.startup_timeout:g} s)'
    if config.url is not None:
        return StartFailure("silent", late, f"If it is only slow, {raise_it}.")
    if words.stdout or any(map(_LISTENS.search, words.stderr)):
        return _of_stdout(words, late)
    return StartFailure(
        "silent", late, f"If it is only slow (the first npx or uvx of a package downloads it), {raise_it}."
    )


def _with_sandbox(failure: StartFailure, config: ServerConfig, words: LastWords) -> StartFailure:
    if config.sandbox is None:
        return failure
    from mcp_workbench.downstream.diagnosis.confined_starts import in_sandbox  # noqa: PLC0415 - few servers

    return in_sandbox(failure, config.sandbox, words.stderr)


def on_wire_error(error: WireError, *, is_listing: bool) -> StartFailure:
    """Return the failure of a server that answered with an error, or did not take a request."""
    if is_listing and isinstance(error, RemoteError):
        reason = f"the request for its tools failed: {error}"
        return StartFailure(
            "list-failed", reason, "The server says what is wrong: correct that, or update it."
        )
    if is_listing and isinstance(error, BadAnswer) and error.cause == "failed":
        return StartFailure("list-failed", str(error), "The server's answer is not valid: update it.")
    return StartFailure(error.cause, str(error), error.hint)


def _signal_of(exit_code: int | None) -> signal.Signals | None:
    if exit_code is None or (exit_code >= 0 and exit_code - 128 not in _CRASHES):
        return None
    with suppress(ValueError):
        return signal.Signals(-exit_code if exit_code < 0 else exit_code - 128)
    return None


def _crash(number: signal.Signals, ended: str) -> StartFailure:
    name = "" if number.name in ended else f" ({number.name})"
    if number == signal.SIGKILL:
        hint = "The system may have killed it for lack of memory: free some, or give it less to load."
    elif number in _CRASHES:
        hint = "The program itself crashed: reinstall it, or try another version."
    else:
        hint = "Another program ended it. Try again."
    return StartFailure("crashed", f"{ended}{name}", hint)


def _of_stdout(words: LastWords, ended: str) -> StartFailure:
    """Return the failure of a server whose stdout, or stderr, shows that it does not speak MCP there."""
    for line in (*words.stdout, *words.stderr):
        if listens := _LISTENS.search(line):
            url = listens["url"] or f"http://127.0.0.1:{listens['port'] or listens['tail']}/mcp"
            reason = f"{_quoted(line)}: it is an HTTP server, and does not speak MCP on stdio ({ended})"
            hint = f'Start it yourself, and write "url": "{url}" in place of "command".'
            return StartFailure("http-on-stdio", reason, hint)
    reason = f"{_quoted(words.stdout[0])} on its stdout is not MCP ({ended})"
    return StartFailure("not-mcp", reason, SPEAK_STDIO)


def _quoted(line: str) -> str:
    text = " ".join(line.split())
    return f'"{text[:MAX_QUOTED_CHARACTERS]}{"…" if len(text) > MAX_QUOTED_CHARACTERS else ""}"'
