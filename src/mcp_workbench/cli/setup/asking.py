"""Asks the person at the terminal. Without a terminal nothing is asked, and the answer is no.

Questions go to stderr, because stdout may be a pipe that is to get the outcome as JSON.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcp_workbench.cli.terminal import complain
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_interactive() -> bool:
    """Whether a person can be asked: both stdin and stderr are a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def confirm(question: str, *, yes: bool) -> bool:
    """Return whether the person says yes. With `yes` nobody is asked; without a terminal it is no."""
    if yes:
        return True
    if not is_interactive():
        complain("nothing is changed: there is no terminal to ask on. Use --yes to confirm")
        return False
    if _answer(f"{show_text(question)} [y/N] ").lower() in ("y", "yes"):
        return True
    complain("nothing is changed")
    return False


def ask(question: str, default: str = "") -> str:
    """Return the answer to a question; the default if the person just presses return, or cannot be asked."""
    if not is_interactive():
        return default
    hint = f" [{show_name(default)}]" if default else ""
    return _answer(f"{show_text(question)}{hint} ") or default


def ask_secret(prompt: str) -> str | None:
    """Return a secret that the person types without echo; None if there is none, or no terminal."""
    if not is_interactive():
        return None
    from getpass import getpass  # it is rarely needed

    try:
        return getpass(f"{show_text(prompt)} ") or None
    except EOFError:
        return None


def ask_secrets(questions: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets that the person types without echo, by their names. Each may be skipped."""
    answers = {}
    for name, question in questions.items():
        if answer := ask_secret(f"{show_name(question)} ({name}, no echo; return to skip):"):
            answers[name] = answer
    return answers


def _answer(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        print(file=sys.stderr)  # the person pressed Ctrl-D, so the cursor is still behind the question
    return line.strip()
