"""What may stand at the cursor of a command line: commands, options, values, toolboxes, servers and tools.

Options come from the parser of the command line, names from the configuration and the catalogue. Nothing is
started, and a configuration with mistakes is used as far as it goes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_workbench.cli.options import parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_workbench.cli.completion.known_names import KnownNames

FILE_METAVARS: Final = ("FILE", "FILE|DIR", "DIR")
"""Names of values in help texts that stand for a file."""


class Completion(msgspec.Struct, frozen=True):
    """A text that may be inserted, and what it means."""

    value: str
    about: str = ""


class Completions(msgspec.Struct, frozen=True):
    """All texts that may be inserted at the cursor."""

    found: list[Completion]
    are_files: bool = False
    """Whether the shell is to complete names of files instead."""
    are_complete: bool = True
    """Whether a space may follow: none of the texts is only the beginning of a word."""


NOTHING: Final = Completions([])


def candidates_for(words: Sequence[str], current: str) -> Completions:
    """Return what may stand at the cursor, after the words before it."""
    top = parser()
    commands = _commands(top)
    chosen, before = _command(top, commands, words)
    if (action := _awaits_value(chosen, words)) is not None:
        return _values(action)
    option, equals, _ = current.partition("=")
    if equals and _takes_value(chosen, option):
        choices = _values(chosen._option_string_actions[option]).found  # noqa: SLF001 - see `_commands`
        return Completions([Completion(f"{option}={each.value}") for each in choices])
    if current.startswith("-"):
        return Completions(list(_options(chosen)))
    if chosen is top and before:
        return NOTHING  # after a word that is no command
    if chosen is top:
        return Completions([each for each in _described(top) if each.value.startswith(current)])
    command = chosen.prog.rpartition(" ")[2]
    names = _NAMES.get(command)
    if names is not None:
        from mcp_workbench.cli.completion.known_names import known_names
        from mcp_workbench.config.places import config_option

        found = names(known_names(config_option(words)), before, current)
        return _with_ends([each for each in found if each.value.startswith(current)])
    for action in chosen._actions:  # noqa: SLF001 - argparse has no other way to tell
        if not action.option_strings and action.choices is not None and not before:
            return Completions([Completion(str(choice)) for choice in action.choices])
        if not action.option_strings and action.metavar in FILE_METAVARS:
            return Completions([], are_files=True)
    return NOTHING


def _with_ends(found: list[Completion]) -> Completions:
    return Completions(found, are_complete=not any(each.value.endswith(("/", "=")) for each in found))


def _commands(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in top._actions:  # noqa: SLF001 - argparse has no other way to tell
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            return dict(action.choices)
    return {}


def _described(top: argparse.ArgumentParser) -> Iterator[Completion]:
    for action in top._actions:  # noqa: SLF001 - argparse has no other way to tell
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - see above
            for choice in action._choices_actions:  # noqa: SLF001 - see above
                yield Completion(choice.dest, choice.help or "")


def _command(
    top: argparse.ArgumentParser, commands: dict[str, argparse.ArgumentParser], words: Sequence[str]
) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser of the command in the line, and the words after it that are not options."""
    chosen = top
    before: list[str] = []
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("-") and word != "-":
            takes_value = "=" not in word and _takes_value(chosen, word)
        elif chosen is top:
            if word not in commands:
                return top, [word]
            chosen = commands[word]
        else:
            before.append(word)
    return chosen, before


def _takes_value(chosen: argparse.ArgumentParser, option: str) -> bool:
    action = chosen._option_string_actions.get(option)  # noqa: SLF001 - argparse has no other way to tell
    return action is not None and action.nargs != 0


def _awaits_value(chosen: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Action | None:
    """Return the option whose value is at the cursor; None if there is none."""
    if not words or not words[-1].startswith("-") or not _takes_value(chosen, words[-1]):
        return None
    return chosen._option_string_actions[words[-1]]  # noqa: SLF001 - argparse has no other way to tell


def _values(action: argparse.Action) -> Completions:
    if action.choices is not None:
        return Completions([Completion(str(choice)) for choice in action.choices])
    return Completions([], are_files=True) if action.metavar in FILE_METAVARS else NOTHING


def _options(chosen: argparse.ArgumentParser) -> Iterator[Completion]:
    for action in chosen._actions:  # noqa: SLF001 - argparse has no other way to tell
        if action.help != argparse.SUPPRESS:
            for option in action.option_strings:
                if option.startswith("--"):
                    yield Completion(option, action.help or "")


def _tools(known: KnownNames, before: list[str], current: str) -> Iterator[Completion]:
    """Yield toolboxes, then servers, then tools, each level when the one above is typed."""
    if before:
        return
    for toolbox, description, servers in known.toolboxes():
        if not current.startswith(f"{toolbox}/"):
            yield Completion(f"{toolbox}/", description)
            continue
        for server in servers:
            if not current.startswith(f"{toolbox}/{server}/"):
                yield Completion(f"{toolbox}/{server}/")
                continue
            for tool, about in known.tools(toolbox, server):
                yield Completion(f"{toolbox}/{server}/{tool}", about)


def _call(known: KnownNames, before: list[str], current: str) -> Iterator[Completion]:
    """Yield tools, and after a tool the names of its arguments."""
    if not before:
        yield from _tools(known, before, current)
        return
    given = {word.partition("=")[0].removesuffix(":") for word in before[1:]}
    for name, about, values in known.arguments(before[0]):
        if current.startswith(f"{name}="):
            for value in values:
                yield Completion(f"{name}={value}")
        elif name not in given:
            yield Completion(f"{name}=", about)


def _servers(known: KnownNames, before: list[str], current: str) -> Iterator[Completion]:  # noqa: ARG001 - all
    """Yield all servers with their toolboxes."""
    if not before:
        for toolbox, _, servers in known.toolboxes():
            for server in servers:
                yield Completion(f"{toolbox}/{server}")


def _move(known: KnownNames, before: list[str], current: str) -> Iterator[Completion]:
    """Yield a server, and then the toolbox to move it to."""
    if len(before) == 1:
        for toolbox, description, _ in known.toolboxes():
            yield Completion(toolbox, description)
    else:
        yield from _servers(known, before, current)


def _toolboxes_and_servers(known: KnownNames, before: list[str], current: str) -> Iterator[Completion]:
    """Yield all toolboxes and all servers, of which several may be given."""
    for toolbox, description, _ in known.toolboxes():
        if toolbox not in before:
            yield Completion(toolbox, description)
    for each in _servers(known, [], current):
        if each.value not in before:
            yield each


_NAMES: Final[dict[str, Callable[[KnownNames, list[str], str], Iterator[Any]]]] = {
    "call": _call,
    "disable": _servers,
    "enable": _servers,
    "check": _toolboxes_and_servers,
    "index": _toolboxes_and_servers,
    "lock": _toolboxes_and_servers,
    "login": _servers,
    "logout": _servers,
    "move": _move,
    "remove": _servers,
    "tools": _tools,
}
"""What the commands with names of toolboxes, servers or tools complete."""
