"""The wording of every error: people's scripts and models read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench import errors
from mcp_workbench.errors import (
    BadAnswer,
    BadPattern,
    BadStatus,
    BrokenOff,
    CallDenied,
    CallError,
    CallRefused,
    CannotChange,
    CannotListen,
    ConfigError,
    ConfigUnusable,
    ConnectionClosed,
    Denied,
    DocumentError,
    EditRefused,
    ExecutionFailed,
    InputMissing,
    InvalidCall,
    LimitReached,
    LockUnusable,
    LoginFailed,
    LoginRequired,
    NameTaken,
    NoSuchPart,
    NotKept,
    NoTokens,
    NotTaken,
    OpeningFailed,
    Overloaded,
    Problem,
    Refused,
    RemoteError,
    RequestTimeout,
    ServerNotFound,
    ShareUsedUp,
    StartError,
    StoreError,
    TokenUnavailable,
    TooDeep,
    ToolboxNotFound,
    ToolboxUnusable,
    ToolHeld,
    ToolNotFound,
    TooLong,
    ToolsNotFound,
    TooManyRequests,
    Undecodable,
    Unreachable,
    WireError,
    WorkbenchError,
    quote_stderr,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE = Problem("toolboxes.dev", "is wrong", "Put it right.")
TWO = Problem("", "the whole file is wrong", "")
TAKEN = "Nothing was written. Remove that one first, or choose another name"
UNUSABLE = (
    "There are no toolboxes, because the configuration file w.json cannot be used. Tell the user. "
    "When it is corrected, it is used within seconds, without a restart."
)
LOCATED = Problem("toolboxes.t", "is empty", "Fill it.", 7)
START = StartError("git", "it exited", stderr=["one", "two"], hint="Do this.")

WORDINGS: dict[str, tuple[WorkbenchError, str]] = {
    "a base": (WorkbenchError("as it is"), "as it is"),
    "a configuration with one problem": (
        ConfigError(Path("w.json"), [ONE]),
        "w.json: 1 problem in the configuration\n  - toolboxes.dev: is wrong\n    Put it right.",
    ),
    "a token file without tokens": (
        NoTokens(Path("t.json"), [ONE]),
        "t.json: 1 problem in the configuration\n  - toolboxes.dev: is wrong\n    Put it right.",
    ),
    "a lock with a problem": (
        LockUnusable(Path("l.json"), [ONE]),
        "l.json: 1 problem in the lock\n  - toolboxes.dev: is wrong\n    Put it right.",
    ),
    "a configuration with two": (
        ConfigError(Path("w.json"), [TWO, ONE]),
        (
            "w.json: 2 problems in the configuration\n"
            "  - the whole file is wrong\n"
            "  - toolboxes.dev: is wrong\n    Put it right."
        ),
    ),
    "a request that is not admitted": (Denied(401, "no token"), "401: no token"),
    "a line that is no message": (Undecodable("`method` is missing", 2), "`method` is missing"),
    "a login that cannot be stored": (StoreError("as it is"), "as it is"),
    "a pointer to nothing": (NoSuchPart("as it is"), "as it is"),
    "a regular expression that is none": (BadPattern("as it is"), "as it is"),
    "a file that cannot be changed": (
        CannotChange("/mcp.json", "it is read-only", "Make it writable."),
        "/mcp.json: it is read-only. Make it writable.",
    ),
    "a login that failed": (
        LoginFailed("the user refused", "Start again"),
        "the user refused. Start again",
    ),
    "a login that needs more rights": (
        LoginRequired("my box", "s", "it asks for more", scope="read write"),
        ("it asks for more. Run this in a terminal: mcp-workbench login 'my box/s' --scope 'read write'"),
    ),
    "a token that cannot be had": (TokenUnavailable("as it is"), "as it is"),
    "a question without an answer": (InputMissing("as it is"), "as it is"),
    "a wire": (WireError("as it is"), "as it is"),
    "a closed connection": (ConnectionClosed("the server exited"), "the server exited"),
    "silence": (
        RequestTimeout(60.0, capped=False),
        "no answer within 60 s and no progress was reported",
    ),
    "progress without end": (
        RequestTimeout(2.5, capped=True),
        "no answer within 2.5 s in all, although it went on reporting progress",
    ),
    "an answer that is too long": (TooLong(67_108_864), "its answer is longer than 64 MiB"),
    "an answer that is too long for a small limit": (
        TooLong(100_000),
        "its answer is longer than 100,000 bytes",
    ),
    "an answer that is too deep": (TooDeep(b"{"), "its answer could not be read: nested too deeply"),
    "too many requests": (
        TooManyRequests(50_000),
        (
            "50,000 requests are already in flight, and no more are accepted. "
            "Wait until some of them are answered"
        ),
    ),
    "too many at once": (Overloaded("as it is"), "as it is"),
    "more than one's share": (
        ShareUsedUp("50 calls wait", "waiting", 5),
        (
            '50 calls wait, which is your share ("http.shares.waiting"). '
            "Try again in 5 s, or when some of them have ended"
        ),
    ),
    "an address that is taken": (
        CannotListen("127.0.0.1:8000", "something listens there already"),
        "cannot listen on 127.0.0.1:8000: something listens there already",
    ),
    "no login": (
        LoginRequired("dev", "tickets", "the login has expired"),
        "the login has expired. Run this in a terminal: mcp-workbench login dev/tickets",
    ),
    "a bad answer": (BadAnswer("its answer is odd"), "its answer is odd"),
    "a status": (BadStatus(404, "there is nothing", "Look elsewhere."), "there is nothing"),
    "a server without a way to it": (Unreachable("as it is", "Build one."), "as it is"),
    "a way that broke": (BrokenOff("as it is"), "as it is"),
    "a refusal": (Refused("not now", "Wait."), "not now"),
    "a request that was not looked at": (NotTaken("as it is"), "as it is"),
    "a JSON-RPC error": (
        RemoteError(-32601, "no such method", None),
        "JSON-RPC error -32601: no such method",
    ),
    "a JSON-RPC error with data": (
        RemoteError(-1, "no", b'{"caf\xe9" : 1.0}'),
        'JSON-RPC error -1: no; data: {"caf\ufffd" : 1.0}',
    ),
    "a start": (START, "Failed to connect to MCP server 'git': it exited"),
    "a call": (CallError("as it is"), "as it is"),
    "an invalid call": (
        InvalidCall("Invalid tool identifier: server cannot be empty"),
        "Invalid tool identifier: server cannot be empty",
    ),
    "a toolbox": (ToolboxNotFound("x", ["a", "b"]), "Toolbox 'x' not found. Available toolboxes: a, b"),
    "a toolbox where there is none": (
        ToolboxNotFound("x", []),
        (
            "Toolbox 'x' not found. Available toolboxes: "
            'none (add one under "toolboxes" in workbench-config.json)'
        ),
    ),
    "a toolbox that is a server": (
        ToolboxNotFound("s", ["a"], [("a", "s"), ("b", "S")]),
        (
            "Toolbox 's' not found. Available toolboxes: a. Server 's' is in toolbox 'a'. "
            "Server 'S' is in toolbox 'b'"
        ),
    ),
    "a toolbox with a similar name": (
        ToolboxNotFound("DEV", ["dev", "x"], [("x", "dev")], ["dev"]),
        "Toolbox 'DEV' not found. Available toolboxes: dev, x. Did you mean: dev?",
    ),
    "a server of another toolbox": (
        ServerNotFound("s", "t", ["a"], disabled=False, elsewhere=[("u", "s")]),
        "Server 's' not found in toolbox 't'. Available servers: a. Server 's' is in toolbox 'u'",
    ),
    "a tool of another server": (
        ToolNotFound("n", "s", "t", ["m"], [("u", 'a"b', "n")]),
        (
            "Tool 'n' not found in server 's' (toolbox 't'). Did you mean: m? On other servers: "
            'use_tool {"tool": {"toolbox": "u", "server": "a\\"b", "tool": "n"}, "arguments": {…}}. '
            "open_toolbox with toolbox_name 't' lists its tools."
        ),
    ),
    "a server": (
        ServerNotFound("s", "t", ["a", "b"], disabled=False),
        "Server 's' not found in toolbox 't'. Available servers: a, b",
    ),
    "a disabled server": (
        ServerNotFound("s", "t", [], disabled=True),
        "Server 's' not found in toolbox 't'. It is disabled in the configuration. Available servers: none",
    ),
    "a tool": (
        ToolNotFound("n", "s", "t", []),
        (
            "Tool 'n' not found in server 's' (toolbox 't'). "
            "open_toolbox with toolbox_name 't' lists its tools."
        ),
    ),
    "a tool with near matches": (
        ToolNotFound("n", "s", "t", ["m", "o"]),
        (
            "Tool 'n' not found in server 's' (toolbox 't'). Did you mean: m, o? "
            "open_toolbox with toolbox_name 't' lists its tools."
        ),
    ),
    "a tool that changed": (
        ToolHeld("n", "s", "t", "its definition changed since it was approved"),
        (
            "Tool 'n' of server 's' (toolbox 't') is held: its definition changed since it was approved. "
            "A person can release it: mcp-workbench review"
        ),
    ),
    "a tool whose definition is wanted": (
        ToolsNotFound("toolbox 't'", {"n": []}),
        (
            "Tool 'n' not found in toolbox 't'. "
            "open_toolbox with query finds tools by what they do, with toolbox_name alone it lists them all."
        ),
    ),
    "several tools whose definitions are wanted": (
        ToolsNotFound("any toolbox", {"n": ["m"], "o": ["m", "p"]}),
        (
            "Tools 'n', 'o' not found in any toolbox. Did you mean: m, p? "
            "open_toolbox with query finds tools by what they do, with toolbox_name alone it lists them all."
        ),
    ),
    "a tool of a server that has failed, or of another toolbox": (
        ToolsNotFound("toolbox 't'", {"n": []}, ["a", "b"]).known_at([("u", "s", "n")]),
        (
            "Tool 'n' not found in toolbox 't'. On other servers: "
            'use_tool {"tool": {"toolbox": "u", "server": "s", "tool": "n"}, "arguments": {…}}. '
            "The tools of these servers are not known, because they have failed or are still starting: a, b. "
            "open_toolbox with query finds tools by what they do, with toolbox_name alone it lists them all."
        ),
    ),
    "a result that is not kept": (
        NotKept("res_x"),
        (
            "No result is kept under the handle 'res_x': it has expired, or was not given to you. "
            "Call the tool again for a new one"
        ),
    ),
    "a result that another process keeps": (
        NotKept("res_x", is_elsewhere=True),
        (
            "No result is kept under the handle 'res_x': it belongs to another workbench process, or to "
            "this one before a restart, and only that process can read it. Repeating the call may give "
            "the same error: ask for less, so that the result fits, or tell the user that all requests of a "
            "client must reach the same process"
        ),
    ),
    "an opening": (
        OpeningFailed("dev", [START, StartError("fs", "it is not there")]),
        (
            "Failed to open toolbox 'dev'.\n"
            "Failed to connect to MCP server 'git': it exited\n"
            "Last lines of stderr:\n  one\n  two\n"
            "Do this.\n"
            "Failed to connect to MCP server 'fs': it is not there"
        ),
    ),
    "an execution": (
        ExecutionFailed("n", "s", "t", "it exited"),
        "Error executing tool 'n' in server 's' (toolbox 't'): it exited",
    ),
    "an unusable configuration": (
        ConfigUnusable("w.json", [ONE]),
        f"{UNUSABLE}\n- {ONE}",
    ),
    "an unusable toolbox": (
        ToolboxUnusable("t", "w.json", [LOCATED]),
        f"Toolbox 't' cannot be used, because of a mistake in the configuration:\n- w.json:7: {LOCATED}",
    ),
    "a file that cannot be parsed": (
        DocumentError("invalid TOML: Invalid value", 2, 5),
        "line 2, column 5: invalid TOML: Invalid value",
    ),
    "an edit that cannot be made": (EditRefused("there is no server 'x'"), "there is no server 'x'"),
    "a name that is taken": (
        NameTaken("t", "s"),
        f"the toolbox 't' has another server 's' already. {TAKEN}",
    ),
    "a refused call": (
        CallRefused("n", "s", "t", "read only"),
        "Call of 'n' in server 's' (toolbox 't') refused: read only",
    ),
    "a denied call": (
        CallDenied("n", "s", "t", '"n": "deny" of toolbox t'),
        (
            "Call of 'n' in server 's' (toolbox 't') refused: the policy of this workbench denies it, by the "
            'rule "n": "deny" of toolbox t. Nothing was sent. Do not try it again, in another form or with '
            "other arguments: only the person who runs the workbench can change its policy"
        ),
    ),
    "a call over a limit of calls per minute": (
        LimitReached("n", "s", "t", {'"callsPerMinute": 60 of the file': 11.2}, {}),
        (
            "Call of 'n' in server 's' (toolbox 't') refused: the limit "
            '"callsPerMinute": 60 of the file is reached. '
            "Nothing was sent. The next call is possible in 12 s"
        ),
    ),
    "a call over several limits": (
        LimitReached("n", "s", "t", {"a": 3.0, "b": 0.1}, {'"callsInFlight": 4 of token ci': 4}),
        (
            "Call of 'n' in server 's' (toolbox 't') refused: the limit a and the limit b and the limit "
            '"callsInFlight": 4 of token ci are reached. Nothing was sent. The next call is possible in 3 s '
            "and when one of the 4 calls in flight has ended"
        ),
    ),
    "an execution of something else": (
        ExecutionFailed(None, "s", "t", "it exited"),
        "Error in server 's' (toolbox 't'): it exited",
    ),
}


@pytest.mark.parametrize(("error", "wording"), WORDINGS.values(), ids=WORDINGS)
def test_an_error_says(error: WorkbenchError, wording: str) -> None:
    assert str(error) == wording


def test_every_error_has_its_wording_here() -> None:
    classes = {it for it in vars(errors).values() if isinstance(it, type) and issubclass(it, Exception)}
    assert classes == {type(error) for error, _ in WORDINGS.values()}


def test_the_tree_at_the_top_of_the_file_is_the_tree_of_the_classes() -> None:
    _, tree, *_ = (errors.__doc__ or "").split("\n\n")
    assert [read_branch(line) for line in tree.splitlines()] == [*branches(WorkbenchError, 0)]


def read_branch(line: str) -> tuple[int, str]:
    """How far a line of the tree is indented, in levels, and the name in it."""
    name = line.lstrip("│├└─ ").split()[0]
    return line.index(name) // 4, name


def branches(error: type[WorkbenchError], level: int) -> Iterator[tuple[int, str]]:
    yield level, error.__name__
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:  # a layer may have subclasses of its own
            yield from branches(below, level + 1)


@pytest.mark.parametrize(
    ("error", "explained"),
    [
        (
            START,
            f"{START}\nLast lines of stderr:\n  one\n  two\nDo this.",
        ),
        (StartError("fs", "it is not there"), "Failed to connect to MCP server 'fs': it is not there"),
    ],
)
def test_a_failed_start_is_explained_with_the_last_lines_of_stderr_and_the_remedy(
    error: StartError, explained: str
) -> None:
    assert error.explained() == explained


def test_a_server_without_stderr_is_not_quoted() -> None:
    assert (quote_stderr([]), quote_stderr(["x"])) == ("", "\nLast lines of stderr:\n  x")


def test_errors_keep_what_they_were_made_of() -> None:
    assert (START.server, START.reason, START.stderr, START.hint) == (
        "git",
        "it exited",
        ("one", "two"),
        "Do this.",
    )
    assert ConfigError(Path("w.json"), [ONE, TWO]).problems == (ONE, TWO)
    assert OpeningFailed("dev", [START]).failures == (START,)


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("line 7", "c.json:7: is wrong"),
        ("line 7, column 2", "c.json:7: column 2: is wrong"),
        ("toolboxes.t", "c.json:7: toolboxes.t: is wrong"),
    ],
)
def test_a_line_is_named_once(where: str, shown: str) -> None:
    assert Problem(where, "is wrong", "", 7).in_file("c.json") == shown
    mended = Problem(where, "is wrong", "Do this.\n    Or that.", 7)
    assert mended.in_file("c.json") == f"{shown}\n    Do this.\n    Or that."
    assert mended.in_file("c.json", in_one_line=True) == f"{shown}. Do this. Or that."
