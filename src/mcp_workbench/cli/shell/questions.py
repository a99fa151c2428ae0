"""Asks the person at the terminal what a server wants to know in the middle of a call: a form, or a URL.

Whatever a server writes is shown without control characters. Nothing is sent before the person has agreed,
and without a terminal the answer is to decline.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mcp_workbench.cli.shell.values import ValueReader, WrongValue
from mcp_workbench.cli.terminal import complain
from mcp_workbench.protocol.names import ELICITATION, WORKBENCH_LABEL
from mcp_workbench.workbench.text.sanitise import show_name

if TYPE_CHECKING:
    from mcp_workbench.cli.shell.person import ProgressLine, Terminal
    from mcp_workbench.cli.shell.workbenches.mcp_client import ServerQuestion

    Json = dict[str, Any]

NO_TERMINAL: Final = (
    "the server asks for input, which is declined, because there is no terminal to ask on. "
    "Run the command in a terminal to answer"
)
CONFIRM: Final = "Send this? [Y]es, [n]o, [c]ancel the question: "
CONFIRM_OURS: Final = "Allow it? [y]es, [N]o, [c]ancel the question: "
CONFIRM_URL: Final = "Have you opened it, and should the call continue? [y]es, [N]o, [c]ancel the question: "
FORMATS: Final = {
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?"),
}


class Questioner:
    """Puts the questions of servers to the person at the terminal."""

    def __init__(self, terminal: Terminal | None, progress: ProgressLine) -> None:
        self._terminal = terminal
        self._progress = progress

    async def answer(self, question: ServerQuestion) -> Json:
        """Return the answer to a question, in the form that MCP defines for its method."""
        self._progress.erase()
        if question.method != ELICITATION:
            # Not declared as a capability, so no server should ask for it.
            return {"action": "decline"}
        if self._terminal is None:
            complain(f"{NO_TERMINAL}. It asks: {show_name(str(question.params.get('message', '')))}")
            return {"action": "decline"}
        if question.params.get("mode") == "url":
            return await self._send_to(self._terminal, question.params)
        return await _Form(self._terminal, question.params).fill_in()

    async def _send_to(self, terminal: Terminal, params: Json) -> Json:
        terminal.say(f"\n{params.get('message', '')}")
        terminal.say(f"Open this address in a browser: {show_name(str(params.get('url', '')))}")
        return {"action": _action(await terminal.ask(CONFIRM_URL), agreeing=("y", "yes"))}


class _Form:
    """A form of a server: its fields are asked one after another."""

    def __init__(self, terminal: Terminal, params: Json) -> None:
        self._terminal = terminal
        self._message = str(params.get("message", ""))
        schema = params.get("requestedSchema")
        self._schema: Json = schema if isinstance(schema, dict) else {}
        self._reader = ValueReader(self._schema)
        self._is_ours = self._message.startswith(f"{WORKBENCH_LABEL} ")
        """Whether the workbench asks if something is allowed, and not a server for input."""

    async def fill_in(self) -> Json:
        self._terminal.say(f"\n{self._message}")
        properties = self._schema.get("properties")
        required = self._schema.get("required")
        content: Json = {}
        for name, schema in properties.items() if isinstance(properties, dict) else ():
            field = _Field(self._reader, name, schema if isinstance(schema, dict) else {})
            is_required = isinstance(required, list) and name in required
            field.explain(self._terminal, is_required=is_required)
            while True:
                typed = await self._ask(field.prompt)
                if typed is None:
                    return {"action": "cancel"}
                try:
                    value = field.read(typed, is_required=is_required)
                except WrongValue as error:
                    self._terminal.say(f"  {error}")
                    continue
                if value is not ...:
                    content[name] = value
                break
        if self._is_ours:
            action = _action(await self._ask(CONFIRM_OURS), agreeing=("y", "yes"))
        else:
            action = _action(await self._ask(CONFIRM), agreeing=("", "y", "yes"))
        return {"action": action, "content": content} if action == "accept" else {"action": action}

    async def _ask(self, prompt: str) -> str | None:
        if self._is_ours:
            # What was typed before the question was shown is no answer to it.
            self._terminal.forget_typed()
        return await self._terminal.ask(prompt)


class _Field:
    """A field of a form: what it is for, and which values it takes."""

    def __init__(self, reader: ValueReader, name: str, schema: Json) -> None:
        self._reader = reader
        self._name = name
        self._schema = schema
        items = schema.get("items")
        self._is_list = schema.get("type") == "array" and isinstance(items, dict)
        self._choices = _choices(items if self._is_list and isinstance(items, dict) else schema)
        """The values that can be chosen, each with its name for people."""

    @property
    def prompt(self) -> str:
        """The text before which the person types: the name, and the default in brackets."""
        default = self._schema.get("default")
        return f"  {self._name}: " if default is None else f"  {self._name} [{_shown(default)}]: "

    def explain(self, terminal: Terminal, *, is_required: bool) -> None:
        """Show what the field is for, its type, and the values to choose from."""
        title = self._schema.get("title")
        about = self._schema.get("description")
        words = [str(text) for text in (title, about) if text]
        kind = (
            "choose several, separated by commas"
            if self._is_list
            else self._reader.schemas.kind_of(self._schema)
        )
        kind = "choose one" if self._choices and not self._is_list else kind
        kind += "" if is_required else ", optional"
        terminal.say(f"  {'. '.join(words) or self._name} ({kind})")
        for number, (value, label) in enumerate(self._choices, 1):
            named = "" if label == value else f" ({value})"
            terminal.say(f"    {number}  {label}{named}")

    def read(self, typed: str, *, is_required: bool) -> object:
        """Return the value that was typed; an ellipsis if the field is left out. Raises WrongValue."""
        if not typed:
            if (default := self._schema.get("default")) is not None:
                return default
            if is_required:
                raise WrongValue("this is needed")
            return ...
        if self._is_list:
            chosen = [self._choose(part.strip()) for part in typed.split(",") if part.strip()]
            _check_length(len(chosen), self._schema, "Items", "choose")
            return chosen
        if self._choices:
            return self._choose(typed)
        value = self._reader.read(typed, self._schema)
        if isinstance(value, str):
            _check_text(value, self._schema)
        else:
            _check_number(typed, self._schema)
        return value

    def _choose(self, typed: str) -> str:
        if typed.isdecimal() and 0 < int(typed) <= len(self._choices):
            return self._choices[int(typed) - 1][0]
        for value, label in self._choices:
            if typed in (value, label):
                return value
        if not self._choices:
            return typed
        raise WrongValue(f"choose a number from 1 to {len(self._choices)}")


def _action(answer: str | None, *, agreeing: tuple[str, ...]) -> str:
    """Return what a person has decided about a question: to accept, to decline or to cancel."""
    if answer is None or answer[:1].lower() == "c":
        return "cancel"
    return "accept" if answer.lower() in agreeing else "decline"


def _choices(schema: Json) -> list[tuple[str, str]]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        return [
            (str(each["const"]), str(each.get("title", each["const"])))
            for each in titled
            if isinstance(each, dict) and "const" in each
        ]
    values, labels = schema.get("enum"), schema.get("enumNames")
    if not isinstance(values, list):
        return []
    if not isinstance(labels, list) or len(labels) != len(values):
        labels = values
    return [(str(value), str(label)) for value, label in zip(values, labels, strict=True)]


def _check_text(text: str, schema: Json) -> None:
    _check_length(len(text), schema, "Length", "write")
    form = schema.get("format")
    pattern = FORMATS.get(form) if isinstance(form, str) else None
    if pattern is not None and not pattern.fullmatch(text):
        raise WrongValue(f"this is not of the form {form}")


def _check_length(length: int, schema: Json, what: str, verb: str) -> None:
    noun = "characters" if what == "Length" else "of them"
    if isinstance(least := schema.get(f"min{what}"), int) and length < least:
        raise WrongValue(f"{verb} at least {least} {noun}")
    if isinstance(most := schema.get(f"max{what}"), int) and length > most:
        raise WrongValue(f"{verb} at most {most} {noun}")


def _check_number(typed: str, schema: Json) -> None:
    if schema.get("type") not in ("integer", "number"):
        return
    if isinstance(least := schema.get("minimum"), (int, float)) and float(typed) < least:
        raise WrongValue(f"at least {least:g}")
    if isinstance(most := schema.get("maximum"), (int, float)) and float(typed) > most:
        raise WrongValue(f"at most {most:g}")


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    return ", ".join(map(str, default)) if isinstance(default, list) else str(default)
