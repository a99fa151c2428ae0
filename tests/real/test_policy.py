"""The policy `careful` between an official SDK and a real server: the user of the client decides."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mcp import Client
from mcp_types import ElicitRequestFormParams, ElicitResult

from tests.real import servers
from tests.real.clients import LONG, TRANSPORTS, plain, reached, workbench
from tests.support.configs import toolboxes
from tests.support.sessions import failure_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.client import ClientRequestContext
    from mcp_types import ElicitRequestParams

    from tests.real.clients import Transport
    from tests.support.client import Json

QUESTION = ["[workbench] Allow this call?", "Tool: write_file", "Server: files (toolbox dev)"]


class User:
    """Sees the forms of a client, and answers all of them in the same way."""

    def __init__(self, answer: ElicitResult) -> None:
        self.answer = answer
        self.seen: list[list[str]] = []

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the SDK names it
        params: ElicitRequestParams,
    ) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.seen.append(params.message.splitlines()[:3])
        return self.answer


async def use(client: Client, tool: str, **arguments: str) -> Json:
    identifier = {"toolbox": "dev", "server": "files", "tool": tool}
    return plain(await client.call_tool("use_tool", {"tool": identifier, "arguments": arguments}))


async def write(client: Client, path: Path) -> Json:
    return await use(client, "write_file", path=str(path), content="some words")


def careful(files: Path) -> Json:
    return {**toolboxes(dev={"files": servers.filesystem(files)}), "policy": "careful"}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_user_of_an_official_client_decides_what_is_written(
    tmp_path: Path, mode: str, transport: Transport
) -> None:
    (files := tmp_path / "files").mkdir()
    yes = User(ElicitResult(action="accept", content={"allow": "once"}))
    no = User(ElicitResult(action="decline"))
    async with asyncio.timeout(LONG), workbench(tmp_path, careful(files), transport) as target:
        async with Client(reached(target), mode=mode, elicitation_callback=yes) as client:
            text_of(await write(client, files / "a"))
            assert "some words" in text_of(await use(client, "read_text_file", path=str(files / "a")))
        async with Client(reached(target), mode=mode, elicitation_callback=no) as client:
            refusal = failure_of(await write(client, files / "b"))
        async with Client(reached(target), mode=mode) as client:
            advice = failure_of(await write(client, files / "c"))
    assert yes.seen == no.seen == [QUESTION]
    assert "the user was asked whether to allow it, and said no" in refusal
    assert "`mcp-workbench approvals`" in advice
    assert [path.name for path in files.iterdir()] == ["a"]
