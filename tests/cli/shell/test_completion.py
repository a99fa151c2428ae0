"""Completion in real shells: of everything that can be named, without executing any of it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.cli.completion.answering import run
from mcp_workbench.cli.completion.bash_words import escaped, read_line
from tests.cli.commands import SCRIPT
from tests.cli.shell.servers import READ_FILE
from tests.support.configs import server, tool, toolboxes
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.commands import Bench

    Complete = Callable[..., list[str]]

BREAKS = " \t\n\"'@><=;|&(:"
TRAP = "$(touch TRAPPED)"
NAMES = [
    "plain",
    "sp ace",
    "co:lon",
    "quo'te",
    'dou"ble',
    TRAP,
    "`touch TRAPPED`",
    "a;touch TRAPPED",
    "tab\tbed",
    "ä",
]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A bench with names that a shell could stumble over, in the catalogue."""
    from tests.cli.commands import Bench

    bench = Bench(tmp_path_factory.mktemp("named"))
    tools = [READ_FILE, *(tool(name, description=TRAP) for name in NAMES)]
    servers = {"odd one": server(tools=tools), "git": server(tools=[tool("log")])}
    bench.write(toolboxes(dev=servers))
    assert bench.run("index").returncode == 0
    bench.write(toolboxes(dev={**servers, "bad": {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]}}))
    return bench


@pytest.fixture
def complete(
    named: Bench, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Complete:
    """Completes the last of some words, in the directory of the bench and in this process."""
    monkeypatch.chdir(named.directory)
    for name, value in named.environment().items():
        monkeypatch.setenv(name, value)

    def complete(*words: str) -> list[str]:
        assert run(["words", *words]) == 0
        shown = capsysbinary.readouterr()
        assert shown.err == b""
        return shown.out.decode().splitlines()

    return complete


def values(lines: list[str]) -> list[str]:
    return [line.partition("\t")[0] for line in lines[1:]]


@pytest.mark.parametrize(
    ("words", "kind", "expected"),
    [
        (["to"], "space", ["tools", "tokens", "token"]),
        (["tools", "--d"], "space", ["--detail"]),
        (["tools", "--detail", "s"], "space", ["signatures"]),
        (["tools", "--detail=f"], "space", ["--detail=full"]),
        (["tools", "--config", ""], "files", []),
        (["serve", "--log-level", ""], "space", ["debug", "info", "warning", "error", "off"]),
        (["completion", "z"], "space", ["zsh"]),
        (["tools", "d"], "nospace", ["dev/"]),
        (["tools", "dev/"], "nospace", ["dev/odd one/", "dev/git/", "dev/bad/"]),
        (["call", "dev/git/"], "space", ["dev/git/log"]),
        (["call", "dev/odd one/read_file", ""], "nospace", ["path=", "head=", "mode="]),
        (["call", "read_file", "path=x", "m"], "nospace", ["mode="]),
        (["call", "--json", "read_file", "mode="], "space", ["mode=text", "mode=base64"]),
        (["check", "--connect", "dev/g"], "space", ["dev/git"]),
        (["index", ""], "space", ["dev", "dev/odd one", "dev/git", "dev/bad"]),
        (["disable", "dev/g"], "space", ["dev/git"]),
        (["move", "dev/git", ""], "space", ["dev"]),
        (["nonsense", ""], "space", []),
    ],
)
def test_everything_that_can_be_named_is_completed(
    complete: Complete, words: list[str], kind: str, expected: list[str]
) -> None:
    lines = complete(*words)
    assert (lines[0], sorted(values(lines))) == (kind, sorted(expected))


def test_names_with_control_characters_are_left_out(complete: Complete) -> None:
    found = values(complete("call", "dev/odd one/"))
    prefix = "dev/odd one/"
    assert found == [prefix + name for name in ("read_file", *NAMES) if "\t" not in name]


@pytest.mark.parametrize("text", ["{", "", '{"toolboxes": 5}', '{"toolboxes": {"a": 5}}'])
def test_a_broken_configuration_completes_nothing_and_says_nothing(bench: Bench, text: str) -> None:
    bench.config.write_text(text, encoding="utf-8")
    done = bench.run("_complete", "words", "tools", "")
    assert (done.returncode, done.stderr) == (0, "")
    assert bench.run("_complete", "nonsense").stderr == ""


def test_completion_loads_nothing_for_people_or_for_the_network(named: Bench) -> None:
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "mcp_workbench",
        "_complete",
        "words",
        "call",
        "dev/",
    ]
    done = subprocess.run(
        command,
        cwd=named.directory,
        env=named.environment(),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert (
        loaded & {"rich", "httpx2", "mcp", "pydantic", "starlette", "keyring", "tomlkit", "uvloop"} == set()
    )


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(mcp-workbench completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit && compinit -u -D; source <(mcp-workbench completion zsh)",
    ),
    "fish": (["fish", "--no-config", "-i"], "mcp-workbench completion fish | source"),
}


ODD = "call dev/odd\\ one/"
TYPED = {
    "too\tde\tgi\tl\t": ["tools", "dev/git/log"],
    f"{ODD}sp\t": ["call", "dev/odd one/sp ace"],
    f"{ODD}co\t": ["call", "dev/odd one/co:lon"],
    f"{ODD}quo\t": ["call", "dev/odd one/quo'te"],
    f"{ODD}dou\t": ["call", 'dev/odd one/dou"ble'],
    f"{ODD}\\$\t": ["call", f"dev/odd one/{TRAP}"],
    f"{ODD}a\t": ["call", "dev/odd one/a;touch TRAPPED"],
    "call read_file pa\tx mo\tb\t": ["call", "read_file", "path=x", "mode=base64"],
}
"""What is typed, with tabs, and the arguments that the command gets then."""

PROGRAM = """\
#!/bin/sh
case "$1" in _complete|completion) exec {command} "$@";; esac
printf '%s\\n' "$@" end >> said
"""
"""Stands in the place of our command: completes like it, and writes down what it is called with."""


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_inserts_names_that_it_reads_back_as_they_are(named: Bench, shell: str) -> None:
    if shutil.which(shell) is None:
        assert shell != "bash"
        pytest.skip(f"{shell} is not installed")
    (command, setup), home = SHELLS[shell], named.directory
    said = home / "said"
    said.write_text("", encoding="utf-8")
    program = home / "bin" / "mcp-workbench"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM.format(command=SCRIPT[0]), encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = named.environment({"PATH": path, "TERM": "dumb", "PS1": "> "})
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home)
        os.execvpe(command[0], command, environment)  # noqa: S606 - the shell is what is tested
    try:
        shown = type_line(terminal, f"{setup}; mcp-workbench ready", lambda: said.read_text(encoding="utf-8"))
        for count, typed in enumerate(TYPED, 2):
            shown += type_line(
                terminal,
                f"mcp-workbench {typed}",
                lambda: said.read_text(encoding="utf-8").count("\nend\n") >= count,  # noqa: B023 - called at once
            )
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
    calls = said.read_text(encoding="utf-8").split("\nend\n")[1:-1]
    assert [call.splitlines() for call in calls] == list(TYPED.values()), shown.decode(errors="replace")
    assert not (home / "TRAPPED").exists()


def type_line(terminal: int, line: str, is_done: Callable[[], object]) -> bytes:
    """Type a line, and return what is shown until something has come of it."""
    os.write(terminal, f"{line}\n".encode())
    shown = b""
    deadline = time.monotonic() + 2 * PATIENCE
    while not is_done():
        assert time.monotonic() < deadline, shown.decode(errors="replace")
        if select.select([terminal], [], [], 0.05)[0]:
            shown += os.read(terminal, 65536)
    return shown


@pytest.mark.parametrize(
    ("line", "words", "current", "kept", "quote"),
    [
        ("wb tools ", ["wb", "tools"], "", 0, ""),
        ("wb call a\\ b/c", ["wb", "call"], "a b/c", 0, ""),
        ("wb call a\\ b:c", ["wb", "call"], "a b:c", 4, ""),
        ("wb call x mode=te", ["wb", "call", "x"], "mode=te", 5, ""),
        ("wb call 'a b", ["wb", "call"], "a b", 0, "'"),
        ('wb call "a \\"b', ["wb", "call"], 'a "b', 0, '"'),
        ("ls | wb to", ["wb"], "to", 0, ""),
        ("wb call $(rm", [], "rm", 0, ""),
    ],
)
def test_a_line_of_bash_is_split_without_being_evaluated(
    line: str, words: list[str], current: str, kept: int, quote: str
) -> None:
    assert tuple(read_line(line, BREAKS)) == (words, current, kept, quote)


def test_what_cannot_be_written_in_quotes_is_left_out() -> None:
    assert escaped("it's", "'") is None
    assert escaped("$x", '"') is None
    assert escaped("a b$(c)", "") == "a\\ b\\$\\(c\\)"


def test_every_shell_has_its_script(bench: Bench) -> None:
    for shell in SHELLS:
        done = bench.run("completion", shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert "mcp-workbench" in done.stdout
    assert bench.run("completion", "csh").returncode == 2
