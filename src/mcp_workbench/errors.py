"""The errors that one layer raises and another catches.

WorkbenchError
├── ConfigError              the configuration file cannot be used: the user has to edit it
│   ├── NoTokens             the token file is missing or contains no token
│   └── LockUnusable         the lock has a mistake, so what was approved is not known
├── DocumentError            a file of a person or a client cannot be read or edited in place
├── Denied                   an HTTP request is refused before it is handled
├── CannotListen             the HTTP server cannot listen on the address that it was given
├── Undecodable              a line is not a JSON-RPC message
├── WireError                a request to a server has no result
│   ├── ConnectionClosed     the connection to the server has ended
│   ├── RequestTimeout       the server did not respond in time
│   ├── BadAnswer            the response cannot be used
│   │   ├── TooDeep          the response is nested too deeply to decode
│   │   ├── TooLong          the response is longer than the limit
│   │   └── BadStatus        the response is an HTTP status without a JSON-RPC message
│   ├── RemoteError          the server responded with a JSON-RPC error
│   ├── Unreachable          no connection to the server can be made, so nothing was sent
│   ├── BrokenOff            the connection broke after the request was sent
│   ├── Refused              the server refused the request, for now or for good
│   ├── NotTaken             the server ignored the request, which can safely be sent again
│   ├── InputMissing         the server needs input that the client does not provide
│   ├── LoginRequired        the server requires a login, and the user has to do it
│   ├── TokenUnavailable     the server requires an access token, and none can be obtained now
│   └── Overloaded           too many requests wait for the server already, so nothing was sent
├── StoreError               a stored login or secret cannot be read or written
├── CannotChange             a file that a person or a client owns cannot be changed safely
├── EditRefused              an edit of the configuration cannot be made as it was asked for
│   └── NameTaken            the toolbox has another server of that name
├── LoginFailed              a login to a server failed
├── StartError               a server could not be started or connected to
├── NoSuchPart               a JSON pointer leads to nothing in a kept result
├── BadPattern               a regular expression is invalid, or takes too long
└── CallError                a call failed: the message is what the model reads
    ├── InvalidCall          the arguments of the call are wrong
    ├── ConfigUnusable       the configuration file cannot be used, so there are no toolboxes
    ├── ToolboxUnusable      the configuration of the toolbox has a mistake
    ├── ToolboxNotFound      no toolbox has that name
    ├── ServerNotFound       the toolbox has no server of that name
    ├── ToolNotFound         the server has no tool of that name
    ├── ToolHeld             the tool is held until a person releases it
    ├── ToolsNotFound        no tool is known by any of the names
    ├── NotKept              no result is kept under that handle
    ├── TooManyRequests      the client has too many requests in flight
    ├── ShareUsedUp          the principal has used its whole share of a shared resource
    ├── CallRefused          a decider does not allow the call, so nothing was sent
    │   ├── CallDenied       a rule of the policy denies the call
    │   └── LimitReached     a limit of the policy is reached: the message says when to try again
    ├── OpeningFailed        the servers of a toolbox failed
    └── ExecutionFailed      the server of the tool failed

Errors that never leave their layer are defined there. Messages are made here from attributes, so that each
wording is in one place.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    StrPath = str | os.PathLike[str]

Cause = Literal[
    "program-missing",
    "arguments-in-command",
    "package-not-found",
    "no-network",
    "module-missing",
    "file-missing",
    "variable-missing",
    "port-in-use",
    "permission-denied",
    "wrong-architecture",
    "sandbox-unavailable",
    "crashed",
    "exited-silently",
    "not-mcp",
    "http-on-stdio",
    "silent",
    "all-tools-hidden",
    "list-failed",
    "tls-failed",
    "dns-failed",
    "unreachable",
    "unauthorized",
    "forbidden",
    "not-found",
    "method-not-allowed",
    "websocket-url",
    "login-required",
    "failed",
]
"""Why a server cannot be used, as a stable code. `downstream.diagnosis.CAUSES` explains each."""


class WorkbenchError(Exception):
    """Base class of all errors that the workbench raises on purpose."""


class Problem(msgspec.Struct, frozen=True):
    """One mistake in the configuration: where it is, what is wrong, and how to fix it."""

    where: str
    what: str
    remedy: str
    line: int | None = None
    """The line of the file, counted from 1, if the place is known."""
    cause: Cause | msgspec.UnsetType = msgspec.UNSET
    """Why a server cannot be used, if the mistake is one that has a code."""

    @property
    def brief(self) -> str:
        """The problem in one line, without the remedy."""
        return f"{self.where}: {self.what}" if self.where else self.what

    def in_file(self, path: StrPath, *, in_one_line: bool = False) -> str:
        """Return the problem and its remedy after `file:line`, as editors and terminals make links of it.

        The remedy is on lines of its own, unless all has to be `in_one_line`, as in a log.
        """
        brief = self.brief
        if self.line is not None:
            # `where` may be a line and a column, and the line is said already.
            rest = brief.removeprefix(f"line {self.line}").removeprefix(", ").removeprefix(": ")
            brief = f"{path}:{self.line}: {rest}"
        if not self.remedy:
            return brief
        if in_one_line:
            return f"{brief}. {' '.join(map(str.strip, self.remedy.splitlines()))}"
        return f"{brief}\n    {self.remedy}"

    def __str__(self) -> str:
        return f"{self.brief}\n    {self.remedy}" if self.remedy else self.brief


class ConfigError(WorkbenchError):
    """The configuration file cannot be used. `problems` has every mistake in it."""

    _file = "configuration"

    def __init__(self, path: StrPath, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        lines = "\n".join(f"  - {problem.in_file(path)}" for problem in problems)
        super().__init__(f"{path}: {count} in the {self._file}\n{lines}")


class NoTokens(ConfigError):
    """The token file is missing or contains no token, so no client can authenticate with one."""


class LockUnusable(ConfigError):
    """The lock beside the configuration has a mistake, so nobody knows what was approved."""

    _file = "lock"


class DocumentError(WorkbenchError):
    """A JSON, TOML or YAML file cannot be read or edited in place. The reason quotes no value of the file.

    `line` and `column` begin with 1, and are None if the reason concerns the file as a whole.
    """

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        where = ", ".join(
            f"{name} {number}" for name, number in (("line", line), ("column", column)) if number is not None
        )
        super().__init__(f"{where}: {reason}" if where else reason)


class Denied(WorkbenchError):
    """An HTTP request is refused before it is handled. The reason is for the sender, and quotes no token."""

    def __init__(self, status: int, reason: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.status = status
        self.reason = reason
        self.headers = list(headers)
        super().__init__(f"{status}: {reason}")


class CannotListen(WorkbenchError):
    """The HTTP server cannot listen on an address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot listen on {address}: {reason}")


class Undecodable(WorkbenchError):
    """A line of `size` bytes is not a JSON-RPC message; the error's message says why.

    `request_id` is the id in it, if it is JSON and has one. A line that does not even begin like JSON is
    `is_hopeless`: it contains no id to look for. One that is nested too deeply to decode is `is_deep`.
    """

    beginning = b""
    """The first bytes of a line that was skipped."""

    def __init__(
        self,
        reason: str,
        size: int,
        *,
        request_id: int | str | None = None,
        is_json: bool = True,
        is_deep: bool = False,
        is_hopeless: bool = False,
        is_blank: bool = False,
    ) -> None:
        self.size = size
        self.request_id = request_id
        self.is_json = is_json
        self.is_deep = is_deep
        self.is_hopeless = is_hopeless
        self.is_blank = is_blank
        super().__init__(reason)


class WireError(WorkbenchError):
    """A request to a server has no result."""

    hint = ""
    """What the user can do about the error."""
    cause: Cause = "failed"
    """Why the server cannot be used, if the error ends its start."""


class ConnectionClosed(WireError):
    """The connection to the server has ended; the message says why."""


class RequestTimeout(WireError):
    """The server did not respond in time."""

    def __init__(self, waited: float, *, capped: bool) -> None:
        self.waited = waited
        self.capped = capped
        since = "in all, although it went on reporting progress" if capped else "and no progress was reported"
        super().__init__(f"no answer within {waited:g} s {since}")


class BadAnswer(WireError):
    """The server responded, but the response cannot be used."""


class TooDeep(BadAnswer):
    """The response is nested too deeply to decode. `line` has it, for code that knows what to look for."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        super().__init__("its answer could not be read: nested too deeply")


class TooLong(BadAnswer):
    """The response is longer than the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"its answer is longer than {size_of(limit)}")


class BadStatus(BadAnswer):
    """The response is an HTTP status without a JSON-RPC message."""

    def __init__(self, status: int, message: str, hint: str = "", *, cause: Cause = "failed") -> None:
        self.status = status
        self.hint = hint
        self.cause = cause
        super().__init__(message)


def size_of(count: int) -> str:
    """Return a number of bytes as text: in MiB from 1 MiB on, else in bytes."""
    return f"{count / 2**20:g} MiB" if count >= 2**20 else f"{count:,} bytes"


class RemoteError(WireError):
    """The server responded with a JSON-RPC error. `data` is the JSON text that it sent."""

    def __init__(self, code: int, message: str, data: bytes | None) -> None:
        self.code = code
        self.message = message
        self.data = data
        detail = f"; data: {data.decode(errors='replace')}" if data is not None else ""
        super().__init__(f"JSON-RPC error {code}: {message}{detail}")


class Unreachable(WireError):
    """No connection to the server can be made, so nothing was sent."""

    def __init__(self, message: str, hint: str = "", *, cause: Cause = "unreachable") -> None:
        self.hint = hint
        self.cause = cause
        super().__init__(message)


class BrokenOff(WireError):
    """The connection broke after the request was sent. The server may have executed it."""


class Refused(WireError):
    """The server refused the request, for now or for good."""

    def __init__(
        self, message: str, hint: str = "", *, may_have_acted: bool = False, cause: Cause = "failed"
    ) -> None:
        self.hint = hint
        self.may_have_acted = may_have_acted
        self.cause = cause
        super().__init__(message)


class NotTaken(WireError):
    """The server ignored the request, for a reason that a second attempt does not have."""

    def __init__(self, message: str, params: msgspec.Raw | None = None) -> None:
        self.params = params
        """The parameters of the request, where its sender may not have them any more."""
        super().__init__(message)


class InputMissing(WireError):
    """The server needs input that the client does not provide."""


class LoginRequired(WireError):
    """The server requires an access token that only a login by the user can obtain."""

    cause: Cause = "login-required"

    def __init__(self, toolbox: str, server: str, reason: str, *, scope: str = "") -> None:
        import shlex  # noqa: PLC0415 - names may hold spaces, and few servers want a login

        words = ["mcp-workbench", "login", f"{toolbox}/{server}", *(["--scope", scope] if scope else [])]
        super().__init__(f"{reason}. Run this in a terminal: {shlex.join(words)}")


class TokenUnavailable(WireError):
    """The server requires an access token, and none can be obtained now; the message says why."""


class Overloaded(WireError):
    """Too many requests wait for the server already, so nothing was sent."""


class StoreError(WorkbenchError):
    """A stored login or secret cannot be read or written; the message says why."""


class CannotChange(WorkbenchError):
    """A file cannot be changed safely, so nothing was written. The message says why, and what to do."""

    def __init__(self, path: str, reason: str, remedy: str) -> None:
        self.path = path
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{path}: {reason}. {remedy}")


class EditRefused(WorkbenchError):
    """An edit of the configuration cannot be made, so nothing was written; the message says what to do."""


class NameTaken(EditRefused):
    """The toolbox has another server of that name, which is not replaced unless the user says so."""

    def __init__(self, toolbox: str, server: str) -> None:
        self.toolbox = toolbox
        self.server = server
        remedy = "Nothing was written. Remove that one first, or choose another name"
        super().__init__(f"the toolbox '{toolbox}' has another server '{server}' already. {remedy}")


class LoginFailed(WorkbenchError):
    """A login to a server failed; the message says why, and what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason}. {remedy}" if remedy else reason)


def quote_stderr(lines: Sequence[str]) -> str:
    """Return the last lines of a server's stderr as text to append to a message; empty without lines."""
    return "\nLast lines of stderr:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


class StartError(WorkbenchError):
    """A server could not be started or connected to."""

    def __init__(
        self,
        server: str,
        reason: str,
        *,
        stderr: Sequence[str] = (),
        hint: str = "",
        cause: Cause = "failed",
    ) -> None:
        self.server = server
        self.reason = reason
        self.stderr = tuple(stderr)
        self.hint = hint
        self.cause: Cause = cause
        super().__init__(f"Failed to connect to MCP server '{server}': {reason}")

    @property
    def wants_login(self) -> bool:
        """Whether the server works, but requires a login first."""
        return self.cause == "login-required"

    def explained(self) -> str:
        """Return the message with the last lines of the server's stderr and the hint."""
        hint = f"\n{self.hint}" if self.hint else ""
        return f"{self}{quote_stderr(self.stderr)}{hint}"


class NoSuchPart(WorkbenchError):
    """A JSON pointer leads to nothing; the message says how far it leads, and what is there."""


class BadPattern(WorkbenchError):
    """A regular expression is invalid, or takes too long to search for; the message says why."""


class CallError(WorkbenchError):
    """A call of the client failed; the message is what the model reads."""


def call_form(toolbox: str, server: str, tool: str, arguments: str = "{…}") -> str:
    """Return the call of `use_tool` that calls this tool, as text for a model."""
    names = (msgspec.json.encode(name).decode() for name in (toolbox, server, tool))
    identifier = '"toolbox": {}, "server": {}, "tool": {}'.format(*names)
    return f'use_tool {{"tool": {{{identifier}}}, "arguments": {arguments}}}'


class InvalidCall(CallError):
    """The arguments of a meta-tool are malformed or incomplete."""


class ConfigUnusable(CallError):
    """The configuration file cannot be used, so there are no toolboxes until the user has corrected it."""

    def __init__(self, path: StrPath, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        listed = "\n".join(f"- {problem.in_file(path)}" for problem in problems)
        super().__init__(
            f"There are no toolboxes, because the configuration file {path} cannot be used. Tell the user. "
            f"When it is corrected, it is used within seconds, without a restart.\n{listed}"
        )


class ToolboxUnusable(CallError):
    """A toolbox cannot be opened, because its configuration has a mistake that the user has to correct."""

    def __init__(self, toolbox: str, path: StrPath, problems: Sequence[Problem]) -> None:
        self.toolbox = toolbox
        self.problems = tuple(problems)
        listed = "\n".join(f"- {problem.in_file(path)}" for problem in problems)
        super().__init__(
            f"Toolbox '{toolbox}' cannot be used, because of a mistake in the configuration:\n{listed}"
        )


class ToolboxNotFound(CallError):
    """No toolbox with the given name is configured.

    `similar` are toolboxes that may be meant, and `servers` are toolboxes and servers with that name.
    """

    def __init__(
        self,
        toolbox: str,
        available: Sequence[str],
        servers: Sequence[tuple[str, str]] = (),
        similar: Sequence[str] = (),
    ) -> None:
        self.toolbox = toolbox
        names = ", ".join(available) or 'none (add one under "toolboxes" in workbench-config.json)'
        guess = f". Did you mean: {', '.join(similar)}?" if similar else _whereabouts(servers)
        super().__init__(f"Toolbox '{toolbox}' not found. Available toolboxes: {names}{guess}")


class ServerNotFound(CallError):
    """The toolbox has no server of that name, or it is disabled. `elsewhere` are those of other toolboxes."""

    def __init__(
        self,
        server: str,
        toolbox: str,
        available: Sequence[str],
        *,
        disabled: bool,
        elsewhere: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.server = server
        self.toolbox = toolbox
        why = " It is disabled in the configuration." if disabled else ""
        names = ", ".join(available) or "none"
        super().__init__(
            f"Server '{server}' not found in toolbox '{toolbox}'.{why} Available servers: {names}"
            f"{_whereabouts(elsewhere)}"
        )


def _whereabouts(servers: Sequence[tuple[str, str]]) -> str:
    """Say in which toolboxes servers are, to follow a list of names; empty without any."""
    return "".join(f". Server '{server}' is in toolbox '{toolbox}'" for toolbox, server in servers)


class ToolNotFound(CallError):
    """The server has no tool of that name, or the tool filters hide it.

    `elsewhere` are tools of other servers that may be meant, as the names of toolbox, server and tool.
    """

    def __init__(
        self,
        tool: str,
        server: str,
        toolbox: str,
        similar: Sequence[str],
        elsewhere: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.tool = tool
        self.server = server
        self.toolbox = toolbox
        self.similar = tuple(similar)
        guess = f" Did you mean: {', '.join(similar)}?" if similar else ""
        guess += _on_other_servers(elsewhere)
        help_ = f"open_toolbox with toolbox_name '{toolbox}' lists its tools."
        super().__init__(
            f"Tool '{tool}' not found in server '{server}' (toolbox '{toolbox}').{guess} {help_}"
        )


def _on_other_servers(places: Sequence[tuple[str, str, str]]) -> str:
    """Return the calls of tools that are on other servers, to follow a sentence; empty without any."""
    calls = "; ".join(call_form(*place) for place in places)
    return f" On other servers: {calls}." if calls else ""


class ToolHeld(CallError):
    """A person has to look at the tool first, because it is not the approved one, or nobody has approved it.

    `why` says which it is, as a clause.
    """

    def __init__(self, tool: str, server: str, toolbox: str, why: str) -> None:
        self.tool = tool
        self.server = server
        self.toolbox = toolbox
        super().__init__(
            f"Tool '{tool}' of server '{server}' (toolbox '{toolbox}') is held: {why}. "
            "A person can release it: mcp-workbench review"
        )


class ToolsNotFound(CallError):
    """No tool is known by any of the given names.

    `unknown` are servers that may have them, but could not be started or are not ready yet. `elsewhere` are
    tools with these names on servers that were not asked, as the names of toolbox, server and tool.
    """

    def __init__(
        self,
        where: str,
        similar: Mapping[str, Sequence[str]],
        unknown: Sequence[str] = (),
        elsewhere: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.where = where
        self.similar = similar
        self.unknown = unknown
        named = [f"'{name}'" for name in similar]
        what = "Tool" if len(named) == 1 else "Tools"
        guesses = list(dict.fromkeys(guess for guesses in similar.values() for guess in guesses))
        guess = f" Did you mean: {', '.join(guesses)}?" if guesses else ""
        help_ = (
            "open_toolbox with query finds tools by what they do, with toolbox_name alone it lists them all."
        )
        guess += _on_other_servers(elsewhere)
        if unknown:
            guess += (
                f" The tools of these servers are not known, because they have failed or are still starting: "
                f"{', '.join(unknown)}."
            )
        super().__init__(f"{what} {', '.join(named)} not found in {where}.{guess} {help_}")

    def known_at(self, places: Sequence[tuple[str, str, str]]) -> ToolsNotFound:
        """Return this error with the tools of these names on other servers."""
        return ToolsNotFound(self.where, self.similar, self.unknown, places)


class NotKept(CallError):
    """No result is kept under a handle for this client. The message does not tell whether another has it."""

    def __init__(self, handle: str, *, is_elsewhere: bool = False) -> None:
        self.handle = handle
        self.is_elsewhere = is_elsewhere
        """Whether another workbench process made the handle."""
        if is_elsewhere:
            why = (
                "it belongs to another workbench process, or to this one before a restart, and only that "
                "process can read it. Repeating the call may give the same error: ask for less, so that the "
                "result fits, or tell the user that all requests of a client must reach the same process"
            )
        else:
            why = "it has expired, or was not given to you. Call the tool again for a new one"
        super().__init__(f"No result is kept under the handle '{handle[:80]}': {why}")


class TooManyRequests(CallError):
    """The client has too many requests in flight."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"{count:,} requests are already in flight, and no more are accepted. "
            "Wait until some of them are answered"
        )


class ShareUsedUp(CallError):
    """A principal has used its whole share of a shared resource. The message says when to try again."""

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


class CallDenied(CallRefused):
    """A rule of the policy denies a call. `rule` says which, and where it is written."""

    def __init__(self, name: str, server: str, toolbox: str, rule: str) -> None:
        self.rule = rule
        super().__init__(
            name,
            server,
            toolbox,
            f"the policy of this workbench denies it, by the rule {rule}. Nothing was sent. Do not try it "
            "again, in another form or with other arguments: only the person who runs the workbench can "
            "change its policy",
        )


class LimitReached(CallRefused):
    """Limits of the policy are reached.

    `waits` are limits of calls per minute, with the seconds after which each allows one more call. `busy` are
    limits of calls in flight, with the number of these.
    """

    def __init__(
        self, name: str, server: str, toolbox: str, waits: Mapping[str, float], busy: Mapping[str, int]
    ) -> None:
        self.seconds = ceil(max(waits.values())) if waits else None
        """Seconds until the next call is possible; None if a call in flight has to end first."""
        reached = " and ".join(f"the limit {limit}" for limit in (*waits, *busy))
        when = [] if self.seconds is None else [f"in {self.seconds} s"]
        when += [
            "when the call in flight has ended"
            if count == 1
            else f"when one of the {count} calls in flight has ended"
            for count in busy.values()
        ]
        super().__init__(
            name,
            server,
            toolbox,
            f"{reached} {'is' if len(waits) + len(busy) == 1 else 'are'} reached. Nothing was sent. "
            f"The next call is possible {' and '.join(when)}",
        )


class OpeningFailed(CallError):
    """All servers of a toolbox failed, or one that is marked as required."""

    def __init__(self, toolbox: str, failures: Sequence[StartError]) -> None:
        self.toolbox = toolbox
        self.failures = tuple(failures)
        details = "\n".join(failure.explained() for failure in failures)
        super().__init__(f"Failed to open toolbox '{toolbox}'.\n{details}")


class ExecutionFailed(CallError):
    """A server failed to execute a tool, or another request if `tool` is None."""

    def __init__(self, tool: str | None, server: str, toolbox: str, reason: str) -> None:
        self.tool = tool
        self.server = server
        self.toolbox = toolbox
        self.reason = reason
        what = "Error" if tool is None else f"Error executing tool '{tool}'"
        super().__init__(f"{what} in server '{server}' (toolbox '{toolbox}'): {reason}")
