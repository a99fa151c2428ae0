"""A program that uses the library keeps its own signals, streams, log and event loop."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from mcp_workbench import Workbench
from mcp_workbench.library.log_masking import masking_handler
from tests.support.configs import server, toolboxes
from tests.support.journal import Journal
from tests.support.processes import is_running
from tests.support.waiting import poll

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, None]], None]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_it_runs_in_the_event_loop_of_the_program(run: Run, environ: dict[str, str], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")

    async def use() -> None:
        async with Workbench(toolboxes(dev={"it": server(journal)}), environ=environ) as workbench:
            assert [tool.name for tool in (await workbench.open("dev")).tools] == ["echo"]
            assert (await workbench.call("dev", "it", "echo", {"a": 1})).text == '{"a":1}'
        await poll(lambda: not any(map(is_running, journal.pids)))

    run(use())
    assert journal.starts == 1


def test_it_leaves_the_signals_and_the_streams_of_the_program_alone(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = [signal.getsignal(number) for number in SIGNALS]
    inside: list[object] = []

    async def use() -> None:
        async with Workbench(toolboxes(dev={"it": server(stderr=["hello"])}), environ=environ) as workbench:
            await workbench.call("dev", "it", "echo")
            inside.extend(signal.getsignal(number) for number in SIGNALS[1:])

    asyncio.run(use())
    assert inside == handlers[1:]  # asyncio itself handles SIGINT while it runs
    assert [signal.getsignal(number) for number in SIGNALS] == handlers
    assert capfd.readouterr() == ("", "")


async def test_records_reach_the_log_of_the_program_without_secrets(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mcp_workbench")
    entry = {"env": {"KEY": "s3cret-value"}}
    config = toolboxes(dev={"it": server(entry=entry, stderr=["the key is s3cret-value"])})
    async with Workbench(config, environ=environ) as workbench:
        await workbench.open("dev")
        log = logging.getLogger("mcp_workbench.anything")
        log.error("it was %s", "s3cret-value")
        try:
            raise LookupError("s3cret-value")  # noqa: TRY301 - to have a traceback
        except LookupError:
            log.exception("and a traceback")
    assert "the key is <env KEY>" in caplog.text
    assert "it was <env KEY>" in caplog.text
    assert "LookupError: <env KEY>" in caplog.text
    assert "s3cret-value" not in caplog.text


def test_the_handler_that_masks_is_installed_once() -> None:
    handlers = logging.getLogger("mcp_workbench").handlers
    assert masking_handler() is masking_handler()
    assert handlers.count(masking_handler()) == 1
    assert handlers[0] is masking_handler()
