"""What a server asks in the middle of a call is asked in the terminal, whatever its protocol version."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands import MODULE
from tests.cli.setup.terminals import run_answering
from tests.cli.shell.servers import talker
from tests.support.configs import toolboxes
from tests.support.processes import wait_until_gone
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from tests.cli.commands import Bench
    from tests.support.client import Json
    from tests.support.journal import Journal

FORM: Json = {
    "method": "elicitation/create",
    "params": {
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Your\x1b name", "minLength": 2},
                "age": {"type": "integer", "minimum": 18},
                "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                "sizes": {
                    "type": "array",
                    "items": {"anyOf": [{"const": "s"}, {"const": "l", "title": "Large"}]},
                },
                "mail": {"type": "string", "format": "email"},
                "news": {"type": "boolean", "default": False},
            },
            "required": ["name", "age"],
        },
    },
}
URL: Json = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Log in", "url": "https://example.com/x", "elicitationId": "e1"},
}
ROOTS: Json = {"method": "roots/list", "params": {}}


def asking(*questions: Json) -> tuple[str, ...]:
    return ("call", "dev/talk/converse", f"steps:={json.dumps([{'ask': list(questions)}])}")


def answered(screen: str) -> Json:
    """What the server was told, which is what it answers: the JSON at the end of the screen."""
    told = json.loads(screen[screen.rindex('\n{\n  "answers"') :])
    result: Json = told["answers"][0][0]["result"]
    return result


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_form_is_filled_in_field_by_field(bench: Bench, era: str) -> None:
    bench.write(toolboxes(dev={"talk": talker(era)}))
    typed = [
        ("name: ", ""),
        ("this is needed", "A"),
        ("at least 2 characters", "Ada"),
        ("age: ", "young"),
        ("takes an integer", "17"),
        ("at least 18", "36"),
        ("colour: ", "3"),
        ("from 1 to 2", "Green"),
        ("sizes: ", "1, Large"),
        ("mail: ", "nobody"),
        ("not of the form email", ""),
        ("news [false]: ", "yes"),
        ("Send this?", ""),
    ]
    code, screen = run_answering(asking(FORM), typed, bench.directory, bench.environment())
    assert code == 0
    assert answered(screen) == {
        "action": "accept",
        "content": {"name": "Ada", "age": 36, "colour": "g", "sizes": ["s", "l"], "news": True},
    }
    assert "[dev/talk] Who are you?" in screen
    assert "  Your\\x1b name (string)\n" in screen
    assert "    2  Green (g)\n" in screen


@pytest.mark.parametrize(
    ("question", "typed", "answer"),
    [
        (URL, [("Have you opened it", "y")], {"action": "accept"}),
        (URL, [("Have you opened it", "")], {"action": "decline"}),
        (URL, [("Have you opened it", "c")], {"action": "cancel"}),
        (FORM, [("name: ", "\x04")], {"action": "cancel"}),
        (
            {**FORM, "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}},
            [("Send this?", "n")],
            {"action": "decline"},
        ),
    ],
)
def test_a_person_may_decline_or_cancel(
    bench: Bench, question: Json, typed: list[tuple[str, str]], answer: Json
) -> None:
    bench.write(toolboxes(dev={"talk": talker("modern")}))
    code, screen = run_answering(asking(question), typed, bench.directory, bench.environment())
    assert (code, answered(screen)) == (0, answer)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_without_a_terminal_a_question_is_declined_and_the_person_is_told(bench: Bench, era: str) -> None:
    bench.write(toolboxes(dev={"talk": talker(era)}))
    done = bench.run(*asking(FORM))
    assert done.returncode == 0
    assert done.stderr == (
        "mcp-workbench: the server asks for input, which is declined, "
        "because there is no terminal to ask on. "
        "Run the command in a terminal to answer. It asks: [dev/talk] Who are you?\n"
    )
    assert json.loads(done.stdout)["answers"][0][0]["result"] == {"action": "decline"}


def test_what_the_shell_cannot_answer_is_refused(bench: Bench) -> None:
    bench.write(toolboxes(dev={"talk": talker("legacy")}))
    done = bench.run(*asking(ROOTS))
    assert json.loads(done.stdout)["answers"][0][0]["error"]["code"] == -32601


async def test_an_interrupted_question_ends_the_call(bench: Bench, journal: Journal) -> None:
    bench.write(toolboxes(dev={"talk": talker("legacy", journal)}))
    ours, theirs = os.openpty()
    process = subprocess.Popen(  # noqa: ASYNC220 - returns at once
        [*MODULE, *asking(FORM)],
        cwd=bench.directory,
        env=bench.environment({"TERM": "dumb"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"name: " not in shown:
        shown += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    os.close(ours)
    await poll(lambda: journal.messages("notifications/cancelled"))
    await wait_until_gone(journal.pids)
