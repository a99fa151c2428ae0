"""Prints text of commands, so that no name, path or message can control the terminal or hide in it.

Owns what goes to stdout and stderr outside of tables. Callers put names through `show_name` themselves,
because a line feed in a name must not start a line.
"""

from __future__ import annotations

import json
import sys

from mcp_workbench.workbench.text.sanitise import show_text


def say(text: str) -> None:
    """Print a text on stdout, and flush it."""
    print(show_text(text), flush=True)


def complain(text: str) -> None:
    """Print an error on stderr, after the name of the program."""
    print(f"mcp-workbench: {show_text(text)}", file=sys.stderr)


def print_json(outcome: dict[str, object]) -> None:
    """Print an object as indented JSON, with hidden characters as JSON escapes."""
    print(spell_json(json.dumps(outcome, indent=2, ensure_ascii=False)))


def spell_json(text: str) -> str:
    """Return JSON text for a terminal, with hidden characters as JSON escapes."""
    return show_text(text, lambda character: json.dumps(character)[1:-1].replace("\x7f", "\\u007f"))
