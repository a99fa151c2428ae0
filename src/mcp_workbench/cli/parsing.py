"""The parser of the command line: plain help texts in 80 columns, and answers to near misses of commands."""

from __future__ import annotations

import argparse
import itertools
import os
from typing import Any

from mcp_workbench.workbench.text.sanitise import show_name

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 40


class CommandParser(argparse.ArgumentParser):
    """Parses the command line, or the options of one command."""

    takes_program = False
    """Whether more words may follow, in `words`, and behind `--` a command line of its own, in `program`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse a command line. Where a program may follow, it is kept apart.

        argparse before Python 3.13 does not find an optional positional argument that follows an option.
        """
        if not self.takes_program:
            return super().parse_known_args(args, namespace)
        arguments = list(args)
        end = arguments.index("--") if "--" in arguments else len(arguments)
        options, rest = super().parse_known_args(arguments[:end], namespace)
        options.words = [word for word in rest if word == "-" or not word.startswith("-")]
        options.program = arguments[end + 1 :]
        return options, [word for word in rest if word not in options.words]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Say what an unknown command may have meant. argparse would list all of them in one line."""
        if action.dest != "command" or action.choices is None or value in action.choices:
            super()._check_value(action, value)
            return
        import difflib

        near = difflib.get_close_matches(value, action.choices, cutoff=0.7)
        guess = f" Did you mean: {', '.join(near)}?" if near else ""
        text = f"there is no command '{show_name(value)}'.{guess} {self.prog} --help lists the commands."
        raise argparse.ArgumentError(None, text)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    # argparse creates a formatter for every argument, and loads several modules to find the width.
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Return a description with the paragraphs wrapped that are too wide. Indented lines are examples."""
        import textwrap

        lines: list[str] = []
        for is_prose, group in itertools.groupby(text.splitlines(), key=lambda line: line[:1].strip() != ""):
            block = list(group)
            is_wide = any(len(line) > width for line in block)
            lines += textwrap.wrap(" ".join(block), width) if is_prose and is_wide else block
        return "\n".join(indent + line for line in lines)


def _width() -> int:
    if (columns := os.environ.get("COLUMNS", "")).isdecimal():
        return max(int(columns), MIN_COLUMNS) - 2
    try:
        return max(os.get_terminal_size().columns, MIN_COLUMNS) - 2
    except OSError:
        return DEFAULT_COLUMNS - 2
