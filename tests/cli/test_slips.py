"""Slips of the command line: each is understood, or answered on stderr with the line to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench import __version__
from mcp_workbench.cli.options import parser

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.commands import Bench

CONFIG = "a configuration file is named with --config: mcp-workbench"
NO_COMMAND = "there is no command"


@pytest.fixture(autouse=True)
def _in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("six.json", "tokens.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")


def answer_to(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said to a wrong command line."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words)
    stdout, stderr = capsys.readouterr()
    assert (ended.value.code, stdout) == (2, "")
    assert stderr.startswith("mcp-workbench: ")
    return stderr.removeprefix("mcp-workbench: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("six.json", f"{CONFIG} --config six.json"),
        ("check six.json", f"{CONFIG} check --config six.json"),
        ("six.json --connect", f"{CONFIG} check --config six.json --connect"),
        ("six.json check", f"{CONFIG} check --config six.json"),
        ("serve absent.jsonc", f"{CONFIG} serve --config absent.jsonc"),
        ("index six.json", f"{CONFIG} index --config six.json"),
        ("--connect check six.json", f"{CONFIG} check --connect --config six.json"),
        ("schema six.json", "schema takes no argument 'six.json'. mcp-workbench schema --help shows"),
    ],
)
def test_a_file_without_its_option(capsys: pytest.CaptureFixture[str], words: str, answer: str) -> None:
    assert answer_to(capsys, *words.split()).startswith(answer)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("chekc --connect", f"{NO_COMMAND} 'chekc'. Did you mean: mcp-workbench check --connect"),
        ("LIST", f"{NO_COMMAND} 'LIST'. Did you mean: mcp-workbench list"),
        ("ls --json", f"{NO_COMMAND} 'ls'. Use: mcp-workbench list --json"),
        ("rm dev/git", f"{NO_COMMAND} 'rm'. Use: mcp-workbench remove dev/git"),
        ("run", f"{NO_COMMAND} 'run'. Use: mcp-workbench serve"),
        ("start --http 8000", f"{NO_COMMAND} 'start'. Use: mcp-workbench serve --http 8000"),
        ("search files", f"{NO_COMMAND} 'search'. Use: mcp-workbench tools --query files"),
        ("status", f"{NO_COMMAND} 'status'. Use: mcp-workbench doctor"),
        ("zzz", f"{NO_COMMAND} 'zzz'. mcp-workbench --help lists the commands"),
        ("z\x1b[31m", rf"{NO_COMMAND} 'z\x1b[31m'. mcp-workbench --help lists the commands"),
        (
            "instal cursor",
            f"{NO_COMMAND} 'instal'. Did you mean one of these?\n  mcp-workbench install cursor\n  mcp-workb",
        ),
        ("secret st A", "mcp-workbench secret has no action 'st'. Did you mean: mcp-workbench secret set"),
        ("secret ls", "mcp-workbench secret has no action 'ls'. Did you mean: mcp-workbench secret list"),
        ("secret zzz", "mcp-workbench secret has no action 'zzz'. Its actions: set, list, remove"),
        ("npx -y @acme/mcp-server-git .", "to add a server: mcp-workbench add git -- npx -y @acme/mcp-serv"),
        ("uvx mcp-server-time", "to add a server: mcp-workbench add time -- uvx mcp-server-time"),
        ("docker run", "to add a server: mcp-workbench add run -- docker run"),
        (
            "https://mcp.linear.app/mcp",
            "to add a remote server: mcp-workbench add linear https://mcp.linear.app/mcp",
        ),
        ("add npx -y foo", "write the program after two dashes: mcp-workbench add foo -- npx -y foo"),
        ("add bar npx -y foo", "write the program after two dashes: mcp-workbench add bar -- npx -y foo"),
    ],
)
def test_a_word_that_is_no_command(capsys: pytest.CaptureFixture[str], words: str, answer: str) -> None:
    assert answer_to(capsys, *words.split()).startswith(answer)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("check --conect", "check --connect"),
        ("check --confg six.json", "check --config six.json"),
        ("index --confg=six.json", "index --config=six.json"),
        ("--confg six.json", "--config six.json"),
        ("--confg six.json check", "check --config six.json"),
        ("check --conf six.json", "check --config six.json"),
        ("check -config six.json", "check --config six.json"),
        ("check -c six.json", "check --config six.json"),
        ("check --JSON", "check --json"),
        ("import -y", "import --yes"),
        ("import --dry_run", "import --dry-run"),
        ("--log_level debug check", "check --log-level debug"),
    ],
)
def test_an_option_that_was_mistyped(capsys: pytest.CaptureFixture[str], words: str, line: str) -> None:
    assert answer_to(capsys, *words.split()).endswith(f". Did you mean: mcp-workbench {line}")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("check --zzz", "check has no option --zzz. mcp-workbench check --help lists the options"),
        ("--zzz", "there is no option --zzz. mcp-workbench --help lists the options"),
        ("schema dev", "schema takes no argument 'dev'. mcp-workbench schema --help shows what it takes"),
        ("--config", "--config needs a value: --config FILE. mcp-workbench --help explains it"),
        (
            "serve --http",
            "--http needs a value: --http HOST:PORT. mcp-workbench serve --help explains it",
        ),
        (
            "login x --port abc",
            "argument --port: should be a number from 1 to 65535. mcp-workbench login --help explains it",
        ),
        ("check --json=1", "--json takes no value. mcp-workbench check --help explains it"),
        (
            "check --log-level trace",
            (
                "--log-level takes debug, info, warning, error or off, not 'trace'. "
                "mcp-workbench check --help explains it"
            ),
        ),
        (
            "tools --query x --limit 0",
            "argument --limit: should be a number from 1 to 100. mcp-workbench tools --help explains it",
        ),
        ("completion", "missing: {bash,zsh,fish}. mcp-workbench completion --help explains it"),
        (
            "completion tcsh",
            "choose bash, zsh or fish, not 'tcsh'. mcp-workbench completion --help explains it",
        ),
        ("serve --port 8000", "the address is given with --http: mcp-workbench serve --http 127.0.0.1:8000"),
        (
            "serve --host=0.0.0.0 --port=9000",
            "the address is given with --http: mcp-workbench serve --http 0.0.0.0:9000",
        ),
    ],
)
def test_an_option_that_the_command_does_not_have(
    capsys: pytest.CaptureFixture[str], words: str, answer: str
) -> None:
    assert answer_to(capsys, *words.split()) == answer


@pytest.mark.parametrize(
    "words",
    [
        ("ad", "wiki", "--env", "KEY=hunter2"),
        ("ad", "wiki", "--header", "Authorization: hunter2"),
        ("chekc", "hunter2-0123456789abcdef"),
        ("chekc", "hunter-hunter-hunter2"),
        ("chekc", "SG.hunter2hunter2hunt.hunter2hunter2hunt"),
        ("secret", "set", "KEY", "hunter2"),
        ("secret", "st", "KEY", "hunter2"),
    ],
)
def test_no_answer_repeats_what_may_be_a_secret(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert "hunter2" not in answer_to(capsys, *words)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("--connect check", "check --connect"),
        ("--connect --config six.json check --json", "check --config six.json --connect --json"),
        ("--http 8000 serve", "serve --http 8000"),
        ("--config serve check", "check --config serve"),
        ("--log-level debug check", "check --log-level debug"),
    ],
)
def test_an_option_may_stand_before_its_command(words: str, meant: str) -> None:
    assert parser().parse_args(words.split()) == parser().parse_args(meant.split())


@pytest.mark.parametrize(
    "words",
    [
        *("help check", "--help check", "check --help", "-h check", "check six.json --help"),
        *("--connect --help check", "--connect check -h"),
    ],
)
def test_help_is_given_wherever_it_is_asked_for(capsys: pytest.CaptureFixture[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words.split())
    assert (ended.value.code, capsys.readouterr().out.partition("[")[0]) == (0, "usage: mcp-workbench check ")


@pytest.mark.parametrize("word", ["version", "-v", "-V", "--version"])
def test_the_version_is_told_however_it_is_asked_for(capsys: pytest.CaptureFixture[str], word: str) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([word])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"mcp-workbench {__version__}\n")


@pytest.mark.parametrize("words", ["import six.json", "add wiki https://a.example/six.json", "undo config"])
def test_what_is_right_is_no_slip(words: str) -> None:
    assert parser().parse_args(words.split()).command == words.split(maxsplit=1)[0]


def test_an_option_of_another_command_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    answer = answer_to(capsys, "check", "--http", "8000")
    assert answer.startswith("check has no option --http. It is an option of serve. mcp-workbench check --he")


def test_on_a_terminal_it_is_said_what_is_waited_for(bench: Bench) -> None:
    bench.write({"toolboxes": {}})
    code, shown = bench.run_on_terminal("serve", typed=b"\x04")
    assert code == 0
    assert "waiting for an MCP client on stdin. Clients start this command themselves: mcp-workbench" in shown


def test_a_slip_ends_the_process_with_its_answer(bench: Bench) -> None:
    done = bench.run("chekc")
    said = "mcp-workbench: there is no command 'chekc'. Did you mean: mcp-workbench check\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
