"""A workbench of the tests' own for the soak's client, which treats calls in a way of their choice."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from soak.client import Client, safe_environment
from soak.ledger import Ledger
from soak.plan import Place, Server
from soak.traffic import Traffic
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

WORKBENCH = """
import json, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def answer(message):
    text = message["params"]["arguments"]["arguments"]["text"]
    send(id=message["id"], result={"content": [{"type": "text", "text": text}], "resultType": "complete"})
withheld = []
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        ANSWERED
    elif message["method"] == "initialize":
        send(id=message["id"], result={"capabilities": {"tools": {}}})
    elif message["method"] == "ping":
        send(id=message["id"], result={})
        for one in withheld:
            answer(one)
        send(method="notifications/tools/list_changed")
    elif message["method"] == "tools/call":
        HOW
"""
SERVER = Server("box0", "alpha", "legacy")


@asynccontextmanager
async def conversation(
    how: str, tmp_path: Path, answered: str = "pass"
) -> AsyncIterator[tuple[Client, Traffic, Ledger]]:
    """With a workbench that treats calls, and the client's answers, in this way."""
    ledger = Ledger()
    command = [sys.executable, "-c", WORKBENCH.replace("HOW", how).replace("ANSWERED", answered)]
    client = Client(Place(tmp_path, "a test"), ledger, time.monotonic, command)
    async with asyncio.timeout(PATIENCE):
        await client.start(safe_environment())
        try:
            yield client, Traffic(client, [SERVER], random.Random(1)), ledger  # noqa: S311 - no secret
        finally:
            client.close_input()
            assert await client.exit_code(PATIENCE) == 0
            client.forget()


def problems(ledger: Ledger) -> list[str]:
    """What is found to be wrong, without where."""
    return [problem.partition(": 1 ×")[0] for problem in (*ledger.problems, *ledger.judge())]  # noqa: RUF001
