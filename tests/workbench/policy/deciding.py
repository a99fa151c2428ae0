"""One client and one server in memory, behind a door with the policy of a test."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp_workbench.config import InlineConfig, load_data
from mcp_workbench.config.model.results import OFF
from mcp_workbench.errors import CallRefused
from mcp_workbench.protocol.caller import PROGRAM_EXTENSION
from mcp_workbench.protocol.names import META_CAPABILITIES
from mcp_workbench.workbench.door import Door
from mcp_workbench.workbench.policy.configured import ConfiguredPolicy
from tests.serve.relayed import MODERN_META, Relayed, written
from tests.workbench.test_door import Notes

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from mcp_workbench.config import WorkbenchConfig
    from mcp_workbench.workbench.door import CallDecision, CallRecord
    from mcp_workbench.workbench.server_call import ServerCall


def config_with(policy: object, **keys: Any) -> WorkbenchConfig:
    """A configuration with the server dev/files, and a policy of the whole file unless it is None."""
    box = {"description": "d", "mcpServers": {"files": {"command": "x", **keys}}}
    top = {} if policy is None else {"policy": policy}
    return load_data({"toolboxes": {"dev": box}, **top}, {}).config


@dataclass
class Person:
    """An approver that notes what it is asked, and lets calls pass, refuses them or lets them wait."""

    hold: Awaitable[None] | None = None
    refuses: bool = False
    asked: list[tuple[str, CallDecision]] = field(default_factory=list)

    def ask(self, record: CallRecord, call: ServerCall, decision: CallDecision) -> Awaitable[None] | None:
        self.asked.append((call.name, decision))
        if self.refuses:
            toolbox, server = record.origin
            raise CallRefused(record.name, server, toolbox, "the person said no")
        return self.hold


class Decided:
    """A client whose calls pass a policy, in the test's hands."""

    def __init__(
        self,
        directory: Path,
        policy: object,
        *,
        modern: bool = False,
        is_program: bool = False,
        person: Person | None = None,
        **keys: Any,
    ) -> None:
        self.notes = Notes()
        self.person = person or Person()
        self.door = Door(observers=[self.notes])
        self.policy = ConfiguredPolicy(self.door, lambda: self.person)
        self.policy.configure(config_with(policy, **keys))
        self._meta: dict[str, Any] = dict(MODERN_META) if modern else {}
        if is_program:
            self._meta[META_CAPABILITIES] = {"extensions": {PROGRAM_EXTENSION: {}}}
        results = InlineConfig() if keys else OFF
        self.relayed = Relayed(directory, modern=modern, door=self.door, results=results, keys=keys)

    def reload(self, policy: object) -> None:
        """Apply another policy, as a changed file does."""
        self.policy.configure(config_with(policy))
        self.relayed.view.refresh()

    def request(self, request_id: int, method: str, **params: Any) -> None:
        """Let the client send a request."""
        if self._meta:
            params["_meta"] = self._meta
        line = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.relayed.client_says(json.dumps(line).encode())

    def call(self, request_id: int = 1, tool: str = "read", **arguments: Any) -> None:
        """Let the client call a tool."""
        target = {"toolbox": "dev", "server": "files", "tool": tool}
        used = {"tool": target, "arguments": arguments}
        self.request(request_id, "tools/call", name="use_tool", arguments=used)

    def cancel(self, request_id: int = 1) -> None:
        """Let the client cancel a request."""
        line = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        self.relayed.client_says(json.dumps(line).encode())

    @property
    def sent(self) -> list[str]:
        """The methods of the requests that the server got."""
        lines = [json.loads(written(line)) for line in self.relayed.to_server]
        return [line["method"] for line in lines if "id" in line]

    @property
    def answer(self) -> dict[str, Any]:
        """What the client got last."""
        answer: dict[str, Any] = json.loads(written(self.relayed.to_client[-1]))
        return answer

    @property
    def text(self) -> str:
        """The text of the result that the client got last."""
        text: str = self.answer["result"]["content"][0]["text"]
        return text

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(10):
            await asyncio.sleep(0)
