"""What commands print: no character of a name, a path or a message may control the terminal or hide there.

Owns how text reaches stdout and stderr outside of tables. Names that stand in a text are put through
`show_name` by whoever writes the text, because a line feed in a name must not start a line.
"""

from __future__ import annotations

import json
import sys

from mcp_workbench.workbench.text.sanitise import show_text


def say(text: str) -> None:
    """Print a text on stdout at once."""
    print(show_text(text), flush=True)


def complain(text: str) -> None:
    """Print an error on stderr."""
    print(f"mcp-workbench: {show_text(text)}", file=sys.stderr)


def print_json(outcome: dict[str, object]) -> None:
    """Print an object for scripts, in a form that people can read. Hidden characters are escapes of JSON."""
    text = json.dumps(outcome, indent=2, ensure_ascii=False)
    print(show_text(text, lambda character: json.dumps(character)[1:-1].replace("\x7f", "\\u007f")))
