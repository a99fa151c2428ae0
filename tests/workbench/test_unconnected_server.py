"""A server whose entry has a mistake fails with the cause of the mistake, if it has one."""

from __future__ import annotations

import pytest

from mcp_workbench.errors import Cause, Problem, StartError
from mcp_workbench.workbench.unconnected_server import UnusableServer

PLAIN = Problem("toolboxes.dev", "unknown key", "Delete it.", 3)
SOCKET = Problem("toolboxes.dev.url", "is a WebSocket", "Write https://", 4, cause="websocket-url")


@pytest.mark.parametrize(("problems", "cause"), [([PLAIN], "failed"), ([PLAIN, SOCKET], "websocket-url")])
async def test_the_cause_of_a_mistake_is_that_of_the_failure(problems: list[Problem], cause: Cause) -> None:
    unusable = UnusableServer(("dev", "files"), "file.json", problems, is_required=False)
    with pytest.raises(StartError) as raised:
        await unusable.tools(modern=True)
    assert raised.value.cause == cause
    assert raised.value.reason.startswith("its configuration cannot be used: file.json:3: toolboxes.dev:")
