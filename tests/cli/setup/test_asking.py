"""Questions are asked on a terminal only, and no answer is not a yes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.waiting import PATIENCE

ON_TERMINAL = "from mcp_workbench.cli.setup.asking import *; print(repr({call}))"
NO_TERMINAL = "mcp-workbench: nothing is changed: there is no terminal to ask on. Use --yes to confirm\n"


def on_terminal(call: str, typed: bytes) -> str:
    """What the call returns, as it is shown, if a person types that."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL.format(call=call)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
        encoding="utf-8",
    )
    os.close(theirs)
    prompt = os.read(ours, 4096)
    os.write(ours, typed)
    shown = process.communicate(timeout=PATIENCE)[0]
    os.close(ours)
    return f"{prompt.decode().strip()} {shown.strip()}"


def without_terminal(call: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", ON_TERMINAL.format(call=call)],
        input="y\n",
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [(b"y\n", "True"), (b"YES\n", "True"), (b"\n", "False"), (b"n\n", "False"), (b"\x04", "False")],
)
def test_only_a_typed_yes_is_a_yes(typed: bytes, outcome: str) -> None:
    assert on_terminal("confirm('Write it?', yes=False)", typed) == f"Write it? [y/N] {outcome}"


def test_yes_asks_nobody() -> None:
    assert without_terminal("confirm('Write it?', yes=True)") == ("True", "")


def test_without_a_terminal_nothing_is_changed() -> None:
    assert without_terminal("confirm('Write it?', yes=False)") == ("False", NO_TERMINAL)


def test_the_default_is_the_answer_if_nothing_is_typed() -> None:
    assert on_terminal("ask('Name?', 'dev')", b"\n") == "Name? [dev] 'dev'"
    assert on_terminal("ask('Name?', 'dev')", b"web\n") == "Name? [dev] 'web'"
    assert without_terminal("ask('Name?', 'dev')") == ("'dev'", "")


def test_a_secret_is_asked_for_without_a_terminal_in_vain() -> None:
    assert without_terminal("ask_secret('Value:')") == ("None", "")
