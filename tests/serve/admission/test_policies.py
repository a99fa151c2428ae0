"""The policies of the file and of tokens in a real process: open sessions notice a change, and stay open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.serve.admission.shared import sharing
from tests.serve.admission.test_tokens import ALICE, BOB
from tests.support.client import write_config
from tests.support.configs import server, tool, toolboxes
from tests.support.waiting import poll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.admission.shared import TokenClient
    from tests.support.client import Json

CONFIG = toolboxes(dev={"echo": server(tools=[tool("read"), tool("write")])})


def write_policies(directory: Path, alice: Json) -> Path:
    """A token file in which Alice has a policy, and Bob none."""
    path, fresh = directory / "tokens.json", directory / "tokens.new"
    tokens = {
        "alice": {"token": ALICE, "toolboxes": ["*"], "policy": alice},
        "bob": {"token": BOB, "toolboxes": ["*"]},
    }
    fresh.write_text(json.dumps({"tokens": tokens}), encoding="utf-8")
    fresh.chmod(0o600)
    fresh.rename(path)
    return path


async def outcome(client: TokenClient, name: str) -> str:
    """What a call of a tool comes to, in a word."""
    text = (await client.use_tool("dev", "echo", name))["content"][0]["text"]
    known = {"{}": "answered", "Tool ": "not found", "Call ": "denied"}
    return next(word for start, word in known.items() if text.startswith(start))


async def listed(client: TokenClient) -> list[str]:
    return [each["name"] for each in (await client.open_toolbox("dev"))["structuredContent"]["tools"]]


async def test_changed_policies_of_tokens_and_file_reach_open_sessions(tmp_path: Path) -> None:
    tokens = write_policies(tmp_path, {"write": "deny"})
    async with sharing(tmp_path, CONFIG, "--token-file", str(tokens)) as shared:
        legacy, modern = [await shared.client(ALICE, era) for era in ("legacy", "modern")]
        bob = await shared.client(BOB, "legacy")
        for client, words in ((legacy, ["answered", "denied"]), (bob, ["answered", "answered"])):
            assert [await outcome(client, name) for name in ("read", "write")] == words
        assert await outcome(modern, "write") == "denied"

        write_policies(tmp_path, {"*": "deny", "dev/echo/write": "allow", "hide": True})
        await poll(lambda: "the tokens are reloaded" in shared.log)
        for client in (legacy, modern):
            assert [await outcome(client, name) for name in ("read", "write")] == ["not found", "answered"]
            assert await listed(client) == ["write"]
        assert await listed(bob) == ["read", "write"]

        write_config(tmp_path, CONFIG | {"policy": {"read": "deny"}})
        await poll(lambda: "the configuration is reloaded" in shared.log)
        assert [await outcome(bob, name) for name in ("read", "write")] == ["denied", "answered"]
        assert await outcome(legacy, "write") == "answered"
