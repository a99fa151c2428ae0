"""The line of stderr that says why a server ended is found, and the remedy fits it."""

from __future__ import annotations

import time

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.diagnosis.stderr_rules import MAX_QUOTED_CHARACTERS, read_stderr
from mcp_workbench.wire.processes.stderr import KEPT_LINES, MAX_LINE_CHARACTERS
from tests.downstream.diagnosis import recorded

HOW = "the server exited with code 1"
CONFIG = ServerConfig(command="python3")
PACKAGE = 'Check the name and the version of the package in "args".'
NETWORK = "Check the network, and the proxy if you need one (HTTPS_PROXY)."
PATH = 'Create it, or correct the path: a relative one begins in "cwd", and "~" is not expanded.'
NPM = 'Run "npm install" in the directory of the server, and build it if it has to be built.'
MISFIT = "Its Python packages do not fit together: name another version of the package, or install it again."
OTHER = "Install the one for this system and processor."
PERMISSION = "Give your user access to it, or configure another path for the server."


def set_it(*names: str) -> str:
    entries = ", ".join(f'"{name}": "${{keyring:{name}}}"' for name in names)
    commands = ", ".join(f"mcp-workbench secret set {name}" for name in names)
    return f'Add "env": {{{entries}}} to this server, and store the value: {commands}'


def install(module: str) -> str:
    where = "(python3 -m pip install …), or name the Python that has it in"
    return f'Install the package that has the module {module} {where} "command".'


def on_path(install: str) -> str:
    shorter = "a desktop program has a shorter PATH than a terminal"
    return f'{install}, or add its directory to PATH in "env" ({shorter}).'


CASES = [
    (recorded.NPM_404, "package-not-found", "npm error 404 Not Found - GET", PACKAGE),
    (
        recorded.NPM_VERSION,
        "package-not-found",
        "npm error notarget No matching version found for is-odd",
        PACKAGE,
    ),
    (recorded.UV_NO_PACKAGE, "package-not-found", "Because mcp-server-no-such-xyz was not found in", PACKAGE),
    (recorded.UV_WRAPPED, "package-not-found", "No solution found when resolving tool dependencies", PACKAGE),
    (recorded.UV_NO_VERSION, "package-not-found", "Because there is no version of idna==99.9", PACKAGE),
    (
        recorded.PIP_NO_PACKAGE,
        "package-not-found",
        "ERROR: No matching distribution found for no-such",
        PACKAGE,
    ),
    (recorded.NPM_OFFLINE, "no-network", "npm error network request to http://packages.example", NETWORK),
    (recorded.NPM_REFUSED, "no-network", "npm error FetchError: request to http://127.0.0.1:9", NETWORK),
    (recorded.UV_OFFLINE, "no-network", "error: Failed to fetch: http://packages.example/index", NETWORK),
    (recorded.PIP_OFFLINE, "no-network", "WARNING: Retrying", NETWORK),
    (recorded.PYTHON_OFFLINE, "no-network", "socket.gaierror: [Errno -2] Name or service not known", NETWORK),
    (
        recorded.PYTHON_NO_MODULE,
        "module-missing",
        "/usr/bin/python3: No module named",
        install("no_such_module"),
    ),
    (recorded.PYTHON_IMPORT, "module-missing", "ModuleNotFoundError: No module named", install("fastmcpx")),
    (recorded.WARNED_THEN_FAILED, "module-missing", "ModuleNotFoundError: No module named", install("yaml")),
    (recorded.PYTHON_MISFIT, "module-missing", "ImportError: cannot import name 'no_such_name'", MISFIT),
    (
        recorded.PYTHON_NO_LIBRARY,
        "module-missing",
        "ImportError: libpq.so.5: cannot open",
        "Install the library of the system that it names.",
    ),
    (recorded.NODE_NO_PACKAGE, "module-missing", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package", NPM),
    (recorded.NODE_NO_SCRIPT, "file-missing", "Error: Cannot find module '/srv/build/index.js'", PATH),
    (recorded.PYTHON_NO_SCRIPT, "file-missing", "/usr/bin/python3: can't open file '/srv/none.py'", PATH),
    (recorded.PYTHON_NO_FILE, "file-missing", "FileNotFoundError: [Errno 2] No such file or directory", PATH),
    (recorded.NODE_NO_FILE, "file-missing", "Error: ENOENT: no such file or directory, open", PATH),
    (recorded.UV_NO_SCRIPT, "file-missing", "error: Failed to spawn: no_such.py", PATH),
    (recorded.PYTHON_KEY_ERROR, "variable-missing", "KeyError: 'API_KEY'", set_it("API_KEY")),
    (recorded.BRAVE, "variable-missing", "Error: BRAVE_API_KEY environment", set_it("BRAVE_API_KEY")),
    (
        recorded.SLACK,
        "variable-missing",
        "Please set SLACK_BOT_TOKEN",
        set_it("SLACK_BOT_TOKEN", "SLACK_TEAM_ID"),
    ),
    (recorded.MAPS, "variable-missing", "GOOGLE_MAPS_API_KEY environment", set_it("GOOGLE_MAPS_API_KEY")),
    (recorded.SUPABASE, "variable-missing", "Please provide a personal", set_it("SUPABASE_ACCESS_TOKEN")),
    (recorded.STRIPE, "variable-missing", "Error: Stripe API key not provided.", set_it("STRIPE_SECRET_KEY")),
    (
        recorded.PYDANTIC,
        "variable-missing",
        "GITHUB_TOKEN, API_URL: Field",
        set_it("GITHUB_TOKEN", "API_URL"),
    ),
    (
        recorded.NODE_PORT,
        "port-in-use",
        "Error: listen EADDRINUSE: address already in use :::42283",
        "Another program uses port 42283: end that, or give this server another port.",
    ),
    (
        recorded.PYTHON_PORT,
        "port-in-use",
        "OSError: [Errno 98] Address already in use",
        "Another program uses this port: end that, or give this server another port.",
    ),
    (recorded.NODE_PERMISSION, "permission-denied", "Error: EACCES: permission denied, open", PERMISSION),
    (recorded.PYTHON_SCRIPT_DENIED, "permission-denied", "/usr/bin/python3: can't open file", PERMISSION),
    (recorded.NODE_ELF, "wrong-architecture", "Error: /srv/better_sqlite3.node: wrong ELF class", OTHER),
    (
        recorded.NODE_MEMORY,
        "crashed",
        "FATAL ERROR: Reached heap limit",
        "It needs more memory than it gets: give it less to load, or a higher limit.",
    ),
    (
        recorded.SH_NO_PROGRAM,
        "program-missing",
        "sh: 1: mcp-server-foo: not found",
        on_path("Install mcp-server-foo"),
    ),
    (
        recorded.BASH_NO_PROGRAM,
        "program-missing",
        "bash: line 1: uvx",
        on_path("uvx comes with uv: install that"),
    ),
    (recorded.ENV_NO_PROGRAM, "program-missing", "env: ", on_path("node comes with Node.js: install that")),
]


@pytest.mark.parametrize(("text", "cause", "begins", "hint"), CASES)
def test_the_cause_is_read_from_what_programs_write(text: str, cause: str, begins: str, hint: str) -> None:
    found = read_stderr(text.splitlines(), HOW, CONFIG, {})
    assert found is not None
    assert (found.cause, found.hint) == (cause, hint)
    assert found.reason.startswith(begins)
    assert found.reason.endswith(f" ({HOW})")


@pytest.mark.parametrize(
    "text", [recorded.NOT_CONNECTED, recorded.POSTGRES, "", "ready\n", "KeyError: 'name'"]
)
def test_a_text_that_says_nothing_known_has_no_cause(text: str) -> None:
    assert read_stderr(text.splitlines(), HOW, CONFIG, {}) is None


def test_colours_are_no_part_of_the_cause_and_a_long_line_is_cut() -> None:
    found = read_stderr([f"\x1b[31mError: ENOENT: {'x' * 900}\x1b[0m"], HOW, CONFIG, {})
    assert found is not None
    assert found.reason.startswith("Error: ENOENT: xxx")
    assert len(found.reason) == MAX_QUOTED_CHARACTERS + len(f"… ({HOW})")


def test_the_worst_stderr_is_read_in_no_time() -> None:
    lines = [
        "not set " + "A_" * (MAX_LINE_CHARACTERS // 2),
        "no " * 600,
        ": " * 900,
        "file " * 300,
    ] * KEPT_LINES
    started = time.process_time()
    read_stderr(lines[:KEPT_LINES], HOW, CONFIG, {})
    assert time.process_time() - started < 0.5


def test_a_variable_that_the_workbench_has_is_to_be_inherited() -> None:
    config = ServerConfig(command="x", inherit_env=["OTHER"])
    found = read_stderr(recorded.BRAVE.splitlines(), HOW, config, {"BRAVE_API_KEY": "k"})
    assert found is not None
    assert found.hint == (
        "The workbench has BRAVE_API_KEY, and passes on only what a server asks for: "
        'add "inheritEnv": ["OTHER", "BRAVE_API_KEY"] to this server.'
    )


def test_a_variable_that_the_server_has_needs_another_value() -> None:
    config = ServerConfig(command="x", env={"BRAVE_API_KEY": ""})
    found = read_stderr(recorded.BRAVE.splitlines(), HOW, config, {})
    assert found is not None
    assert found.hint == (
        "It has BRAVE_API_KEY, but does not accept the value: check that it is right and not empty."
    )
