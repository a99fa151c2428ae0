"""Every error that the workbench raises on purpose.

WorkbenchError
├── ConfigError              the file cannot be used: the person has to edit it
│   └── NoTokens             it is the token file, and holds none or is gone
├── WireError                a JSON-RPC connection did not deliver an answer
│   ├── ConnectionClosed     the other side is gone
│   ├── RequestTimeout       it said nothing in time
│   ├── BadAnswer            it answered something that is not an answer
│   │   ├── TooDeep          or something nested too deeply to be looked into
│   │   ├── TooLong          or more than is taken from it
│   │   └── BadStatus        or a status of HTTP and nothing else
│   ├── RemoteError          it answered with a JSON-RPC error
│   ├── Unreachable          there is no way to it: nothing was sent
│   ├── BrokenOff            the way to it broke before its answer had come
│   ├── Refused              it does not take the request from us, or not now
│   ├── NotTaken             it did not take the request as it was: it can be made anew
│   ├── InputMissing         it asked for something that the client does not give
│   ├── LoginRequired        it lets nobody in who is not logged in
│   ├── TokenUnavailable     it wants an access token, and none can be had just now
│   └── Overloaded           it was not even asked: too many wait for it already
├── CannotListen             nobody could reach us at the address that we were given
├── LoginFailed              a person's login to a server did not come about
├── StartError               a downstream server could not be brought up
└── CallError                a call cannot be done: its text is what the model reads
    ├── InvalidCall          the call is malformed
    ├── ToolboxNotFound
    ├── ServerNotFound
    ├── ToolNotFound
    ├── ToolsNotFound        none of those is there whose definitions are wanted
    ├── NotKept              a handle that leads to no result, or not any more
    ├── TooManyRequests      the client has more in flight than is kept
    ├── ShareUsedUp          the principal has all that it may have of something that is shared
    ├── CallRefused          a policy does not allow the call: nothing was sent
    ├── OpeningFailed        too little of a toolbox came up for it to be of use
    └── ExecutionFailed      the server behind the tool did not deliver

Messages are made here, from attributes, so that each wording stands in one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    StrPath = str | os.PathLike[str]


class WorkbenchError(Exception):
    """Base of all of them."""


class Problem(msgspec.Struct, frozen=True):
    """One mistake in the configuration: where, what, and how to put it right."""

    where: str
    what: str
    remedy: str

    @property
    def brief(self) -> str:
        """Without the remedy, in one line."""
        return f"{self.where}: {self.what}" if self.where else self.what

    def __str__(self) -> str:
        return f"{self.brief}\n    {self.remedy}" if self.remedy else self.brief


class ConfigError(WorkbenchError):
    """The configuration file cannot be used; carries all of its problems."""

    def __init__(self, path: StrPath, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        lines = "\n".join(f"  - {problem}" for problem in problems)
        super().__init__(f"{path}: {count} in the configuration\n{lines}")


class NoTokens(ConfigError):
    """The token file is missing or holds no token: nobody may enter with a token of it."""


class WireError(WorkbenchError):
    """A JSON-RPC connection did not deliver an answer."""

    hint = ""
    """What a person can do about it."""


class ConnectionClosed(WireError):
    """The other side is gone; the message says how it went."""


class RequestTimeout(WireError):
    """Nothing was heard in time."""

    def __init__(self, waited: float, *, capped: bool) -> None:
        self.waited = waited
        self.capped = capped
        since = "in all, although it went on reporting progress" if capped else "and no progress was reported"
        super().__init__(f"no answer within {waited:g} s {since}")


class BadAnswer(WireError):
    """An answer came, but not one that can be passed on."""


class TooDeep(BadAnswer):
    """An answer came that is nested too deeply to be decoded. Whoever knows its form may still read it."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        super().__init__("its answer could not be read: nested too deeply")


class TooLong(BadAnswer):
    """An answer came that is longer than is allowed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"its answer is longer than {size_of(limit)}")


class BadStatus(BadAnswer):
    """A status of HTTP came that is no answer to what was asked."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        self.status = status
        self.hint = hint
        super().__init__(message)


def size_of(count: int) -> str:
    """A number of bytes as people say it."""
    return f"{count / 2**20:g} MiB" if count >= 2**20 else f"{count:,} bytes"


class RemoteError(WireError):
    """The other side answered with a JSON-RPC error, kept as it came."""

    def __init__(self, code: int, message: str, data: bytes | None) -> None:
        self.code = code
        self.message = message
        self.data = data
        detail = f"; data: {data.decode(errors='replace')}" if data is not None else ""
        super().__init__(f"JSON-RPC error {code}: {message}{detail}")


class Unreachable(WireError):
    """The other side could not be reached, and has heard nothing of the request."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class BrokenOff(WireError):
    """The connection broke after the request was sent. It may have been taken, and acted upon."""


class Refused(WireError):
    """The other side lets us not do this, or not now."""

    def __init__(self, message: str, hint: str = "", *, may_have_acted: bool = False) -> None:
        self.hint = hint
        self.may_have_acted = may_have_acted
        super().__init__(message)


class NotTaken(WireError):
    """The other side did not even look at the request, for a reason that another attempt would not have."""

    def __init__(self, message: str, params: msgspec.Raw | None = None) -> None:
        self.params = params
        """What was to be sent, where whoever sent it may have given it up."""
        super().__init__(message)


class InputMissing(WireError):
    """The other side cannot go on without something that the client does not give."""


class LoginRequired(WireError):
    """The other side wants an access token, and there is none, or none that can be had without the user."""

    def __init__(self, toolbox: str, server: str, reason: str, *, scope: str = "") -> None:
        import shlex  # noqa: PLC0415 - names may hold spaces, and few servers want a login

        words = ["mcp-workbench", "login", f"{toolbox}/{server}", *(["--scope", scope] if scope else [])]
        super().__init__(f"{reason}. Run this in a terminal: {shlex.join(words)}")


class TokenUnavailable(WireError):
    """The other side wants an access token, and none can be had at the moment; the message says why."""


class Overloaded(WireError):
    """Too many requests wait for the other side already."""


class LoginFailed(WorkbenchError):
    """A login did not come about; the message says why, and what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason}. {remedy}" if remedy else reason)


def quote_stderr(lines: Sequence[str]) -> str:
    """A server's last words, to stand after a message; nothing if it had none."""
    return "\nIts stderr ended with:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


class CannotListen(WorkbenchError):
    """Nobody could reach us at an address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address}: {reason}")


class StartError(WorkbenchError):
    """A downstream server could not be brought up."""

    def __init__(
        self,
        server: str,
        reason: str,
        *,
        stderr: Sequence[str] = (),
        hint: str = "",
        wants_login: bool = False,
    ) -> None:
        self.server = server
        self.reason = reason
        self.stderr = tuple(stderr)
        self.hint = hint
        self.wants_login = wants_login
        super().__init__(f"Failed to connect to MCP server '{server}': {reason}")

    def explained(self) -> str:
        """The message with the server's last words and what to do about it."""
        hint = f"\n{self.hint}" if self.hint else ""
        return f"{self}{quote_stderr(self.stderr)}{hint}"


class CallError(WorkbenchError):
    """A call of the client's cannot be done; the text is what the model reads."""


class InvalidCall(CallError):
    """The arguments of a meta-tool do not say what to do."""


class ToolboxNotFound(CallError):
    """No toolbox of that name is configured."""

    def __init__(self, toolbox: str, available: Sequence[str]) -> None:
        self.toolbox = toolbox
        names = ", ".join(available) or 'none (add one under "toolboxes" in workbench-config.json)'
        super().__init__(f"Toolbox '{toolbox}' not found. Available toolboxes: {names}")


class ServerNotFound(CallError):
    """The toolbox has no server of that name, or it is switched off."""

    def __init__(self, server: str, toolbox: str, available: Sequence[str], *, disabled: bool) -> None:
        self.server = server
        self.toolbox = toolbox
        why = " It is disabled in the configuration." if disabled else ""
        names = ", ".join(available) or "none"
        super().__init__(
            f"Server '{server}' not found in toolbox '{toolbox}'.{why} Available servers: {names}"
        )


class ToolNotFound(CallError):
    """The server has no tool of that name, or its filters hide it."""

    def __init__(self, tool: str, server: str, toolbox: str, similar: Sequence[str]) -> None:
        self.tool = tool
        self.server = server
        self.toolbox = toolbox
        guess = f" Did you mean: {', '.join(similar)}?" if similar else ""
        help_ = f"open_toolbox with toolbox_name '{toolbox}' lists the tools there are."
        super().__init__(
            f"Tool '{tool}' not found in server '{server}' (toolbox '{toolbox}').{guess} {help_}"
        )


class ToolsNotFound(CallError):
    """No tool is known by any of the names."""

    def __init__(self, where: str, similar: Mapping[str, Sequence[str]]) -> None:
        self.similar = similar
        named = [f"'{name}'" for name in similar]
        what = "Tool" if len(named) == 1 else "Tools"
        guesses = list(dict.fromkeys(guess for guesses in similar.values() for guess in guesses))
        guess = f" Did you mean: {', '.join(guesses)}?" if guesses else ""
        help_ = (
            "open_toolbox with query finds tools by what they do, with toolbox_name alone it lists them all."
        )
        super().__init__(f"{what} {', '.join(named)} not found in {where}.{guess} {help_}")


class NotKept(CallError):
    """Nothing is kept under a handle for this client. Whether it is another's is not said."""

    def __init__(self, handle: str, *, is_elsewhere: bool = False) -> None:
        self.handle = handle
        self.is_elsewhere = is_elsewhere
        """Whether another workbench process has made the handle."""
        if is_elsewhere:
            why = (
                "it belongs to another workbench process, or to this one before a restart, and only "
                "that one can read it. To repeat the call may lead to the same again: ask for less, so "
                "that the result is shown whole, or tell the user that all requests of a client have to "
                "reach the same process"
            )
        else:
            why = (
                "it has expired, or is none that you were given. "
                "A new call of the tool that made it makes a new one"
            )
        super().__init__(f"No result is kept under the handle '{handle[:80]}': {why}")


class TooManyRequests(CallError):
    """The client sends more than it waits for."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"{count:,} requests are in flight already, and no more are taken. "
            "Wait for some of their answers first"
        )


class ShareUsedUp(CallError):
    """A principal has its whole share of something, and is told when to try again."""

    def __init__(self, taken: str, key: str, seconds: float) -> None:
        self.key = key
        self.seconds = seconds
        share = f'which is your share ("http.shares.{key}")'
        super().__init__(f"{taken}, {share}. Try again in {seconds:.0f} s, or when some of them have ended")


class CallRefused(CallError):
    """A decider does not allow a call. Nothing was sent to the server."""

    def __init__(self, name: str, server: str, toolbox: str, reason: str) -> None:
        self.name = name
        self.server = server
        self.toolbox = toolbox
        self.reason = reason
        super().__init__(f"Call of '{name}' in server '{server}' (toolbox '{toolbox}') refused: {reason}")


class OpeningFailed(CallError):
    """All servers of a toolbox failed, or one that it cannot do without."""

    def __init__(self, toolbox: str, failures: Sequence[StartError]) -> None:
        self.toolbox = toolbox
        self.failures = tuple(failures)
        details = "\n".join(failure.explained() for failure in failures)
        super().__init__(f"Failed to open toolbox '{toolbox}'.\n{details}")


class ExecutionFailed(CallError):
    """A server did not deliver, what a tool was called for or something else."""

    def __init__(self, tool: str | None, server: str, toolbox: str, reason: str) -> None:
        self.tool = tool
        self.server = server
        self.toolbox = toolbox
        self.reason = reason
        what = "Error" if tool is None else f"Error executing tool '{tool}'"
        super().__init__(f"{what} in server '{server}' (toolbox '{toolbox}'): {reason}")


class Denied(Exception):
    """Nothing was done for the request. The reason is for whoever sent it, and quotes no token."""

    def __init__(self, status: int, reason: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        self.reason = reason
        self.headers = list(headers)
        super().__init__(f"{status}: {reason}")
