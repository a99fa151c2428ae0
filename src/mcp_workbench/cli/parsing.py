"""The parser of the command line: plain help texts in 80 columns, and answers to slips, in a line or two."""

from __future__ import annotations

import argparse
import itertools
import os
import re
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_workbench.cli.slips import (
    explain_action,
    explain_command,
    explain_config_file,
    explain_unknown,
    is_config_file,
    put_in_order,
)
from mcp_workbench.workbench.text.sanitise import show_name, show_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULT_COLUMNS = 80
MIN_COLUMNS = 40
OTHER_COMMANDS = "other commands"
"""Title in the help for commands that are in no group."""


def read_seconds(text: str) -> float:
    """Return the seconds that an option gives. Raises ArgumentTypeError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e8:
        raise argparse.ArgumentTypeError("should be a number of seconds, such as 60")
    return seconds


class CommandParser(argparse.ArgumentParser):
    """Parses the options of one command."""

    takes_program = False
    """Whether more words may follow, in `words`, and behind `--` a command line of its own, in `program`."""
    takes_files = False
    """Whether a positional argument may be the path of a file."""

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

    def option_names(self) -> list[str]:
        """Return all options of the command, as they are typed."""
        return list(self._option_string_actions)

    def positional_names(self) -> list[str]:
        """Return the names under which the words are stored that are no options."""
        return [action.dest for action in self._actions if not action.option_strings]

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where it is explained, and exit. argparse would print the usage too."""
        found = re.fullmatch(r"argument (\S+): expected one argument", message)
        if found and (action := self._option_string_actions.get(found[1])) is not None:
            message = f"{found[1]} needs a value: {found[1]} {action.metavar or action.dest.upper()}"
        elif found := re.fullmatch(r"argument (\S+): ignored explicit argument .*", message):
            message = f"{found[1]} takes no value"
        elif found := re.fullmatch(r"the following arguments are required: (.*)", message):
            message = f"missing: {found[1]}"
        self.answer(f"{message}. {self.prog} --help explains it")

    def answer(self, text: str) -> NoReturn:
        """Answer a wrong command line, and exit."""
        self.exit(2, f"mcp-workbench: {show_text(text)}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Answer an unknown action of a command. argparse would list all choices."""
        if action.dest == "action" and action.choices is not None and value not in action.choices:
            self.answer(explain_action(value, self.prog, list(action.choices)))
        if action.choices is not None and value not in action.choices:
            *others, last = map(str, action.choices)
            what = f"{action.option_strings[0]} takes" if action.option_strings else "choose"
            self.error(f"{what} {', '.join(others)} or {last}, not '{show_name(str(value))}'")


class TopParser(CommandParser):
    """Parses the whole command line. Its help lists the commands by task."""

    def __init__(self, groups: Mapping[str, Sequence[str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._groups = groups
        self._words: list[str] = []
        """The command line that is being parsed."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse a command line. Exits with an answer if it is wrong."""
        commands = self._commands()
        own = {name: action.nargs is None for name, action in self._option_string_actions.items()}
        self._words = put_in_order(args, commands, own)
        options, unknown = self.parse_known_args(self._words, namespace)
        if unknown:
            taken = {name: parser.option_names() for name, parser in commands.items()}
            taken[""] = self.option_names()
            self.answer(explain_unknown(unknown, options.command or "", self._words, taken))
        if options.command is not None and not commands[options.command].takes_files:
            self._refuse_config_file(commands[options.command], options)
        return options

    def format_help(self) -> str:
        """Return the help, with the commands in groups. argparse has one group for all of them."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        subactions = self._subparsers_action()._get_subactions()  # noqa: SLF001 - there is no public way
        listed = {action.dest: action for action in subactions}
        for title, names in self._groups.items():
            _add_section(formatter, title, (listed.pop(name) for name in names if name in listed))
        if listed:
            _add_section(formatter, OTHER_COMMANDS, listed.values())
        _add_section(
            formatter,
            "options",
            (action for action in self._actions if action.option_strings),
        )
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.dest == "command" and action.choices is not None and value not in action.choices:
            at = self._words.index(value)
            before = self._words[at - 1] if at else ""
            if before.startswith("-") and before not in self._option_string_actions:
                # The word is the value of an option that does not exist.
                self.answer(explain_unknown([before], "", self._words, {"": self.option_names()}))
            self.answer(explain_command(value, self._words, list(action.choices)))
        super()._check_value(action, value)

    def _refuse_config_file(self, parser: CommandParser, options: argparse.Namespace) -> None:
        """Answer a configuration file where a command expects names."""
        if options.config is not None:
            return
        for name in parser.positional_names():
            given = getattr(options, name, None)
            for word in given if isinstance(given, list) else [given]:
                if isinstance(word, str) and is_config_file(word):
                    self.answer(explain_config_file(word, self._words))

    def _commands(self) -> Mapping[str, CommandParser]:
        choices: Mapping[str, CommandParser] = self._subparsers_action().choices
        return choices

    def _subparsers_action(self) -> argparse._SubParsersAction[Any]:
        kind = argparse._SubParsersAction  # noqa: SLF001 - the type of what `add_subparsers` returns
        return next(action for action in self._actions if isinstance(action, kind))


def _add_section(formatter: argparse.HelpFormatter, title: str, actions: Iterable[argparse.Action]) -> None:
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()


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
