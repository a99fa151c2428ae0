"""Real servers behind the workbench: what they say comes through as they said it."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.wire.processes.guard import MARK
from tests.real import servers
from tests.real.results import substance, without_advice
from tests.support.client import Json, RawClient, clean_environment
from tests.support.configs import toolboxes
from tests.support.sessions import LegacySession, Session, failure_of, names, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Connect

Calls = list[tuple[str, Json]]

LOCALE = {"LC_ALL": "C.UTF-8"}
"""Without a locale Python puts one into its own environment, and so into that of the servers it starts."""


def everything(home: Path) -> tuple[Json, Calls]:
    gzipped = {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}
    return servers.everything(), [
        ("echo", {"message": "line one\nline two ✓ \U0001f9f0"}),
        ("get-annotated-message", {"messageType": "debug", "includeImage": True}),
        ("get-env", {}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 3}),
        ("get-structured-content", {"location": "New York"}),
        ("get-sum", {"a": 0.1, "b": -2}),
        ("get-sum", {"a": "one"}),
        ("get-tiny-image", {}),
        ("gzip-file-as-resource", gzipped),
        # Each toggle goes on and off again: a server with its timer running would not leave by itself.
        ("toggle-simulated-logging", {}),
        ("toggle-simulated-logging", {}),
        ("toggle-subscriber-updates", {}),
        ("toggle-subscriber-updates", {}),
        ("trigger-long-running-operation", {"duration": 0.1, "steps": 2}),
        ("simulate-research-query", {"topic": "relays"}),
    ]


def memory(home: Path) -> tuple[Json, Calls]:
    ada = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    return servers.memory(home / "memory.json"), [
        ("create_entities", {"entities": [ada]}),
        ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["writes"]}]}),
        ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["?"]}]}),
        ("read_graph", {}),
        ("delete_entities", {"entityNames": ["Ada"]}),
        ("read_graph", {}),
    ]


def filesystem(home: Path) -> tuple[Json, Calls]:
    root = home / "root"
    root.mkdir()
    file = str(root / "note.txt")
    edit = {"oldText": "first", "newText": "second"}
    return servers.filesystem(root), [
        ("list_allowed_directories", {}),
        ("write_file", {"path": file, "content": "first\n"}),
        ("edit_file", {"path": file, "edits": [edit]}),
        ("read_text_file", {"path": file}),
        ("list_directory", {"path": str(root)}),
        ("read_text_file", {"path": str(root / "missing.txt")}),
        ("read_text_file", {"path": str(home / "outside.txt")}),
    ]


def time(home: Path) -> tuple[Json, Calls]:
    return servers.time(), [
        ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
        ("convert_time", {"source_timezone": "UTC", "time": "noon", "target_timezone": "Asia/Tokyo"}),
        ("get_current_time", {"timezone": "Nowhere/Land"}),
    ]


def git(home: Path) -> tuple[Json, Calls]:
    repository = make_repository(home)
    here = {"repo_path": str(repository)}
    return servers.git(repository), [
        ("git_status", here),
        ("git_log", here),
        ("git_show", {**here, "revision": "HEAD"}),
        ("git_show", {**here, "revision": "no-such-revision"}),
        ("git_diff_unstaged", here),
        ("git_branch", {**here, "branch_type": "local"}),
    ]


def make_repository(home: Path) -> Path:
    """One commit, and one file that is not yet in it."""
    repository = home / "repository"
    repository.mkdir()
    run_git(repository, "init", "--quiet", "--initial-branch", "main")
    run_git(repository, "config", "user.name", "Ada")
    run_git(repository, "config", "user.email", "ada@example.org")
    run_git(repository, "commit", "--quiet", "--allow-empty", "--message", "The first commit")
    (repository / "new.txt").write_text("new\n", encoding="utf-8")
    return repository


def run_git(repository: Path, *args: str) -> str:
    environment = clean_environment(repository.parent)
    done = subprocess.run(["git", *args], cwd=repository, env=environment, capture_output=True, check=True)
    return done.stdout.decode()


async def directly(home: Path, entry: Json, calls: Calls) -> tuple[list[Json], list[Json]]:
    """The server's tools, and its results, without the workbench."""
    environment = clean_environment(home, LOCALE | entry.get("env", {}))
    # For the workbench alone, which does not pass it on.
    del environment["PYTHON_KEYRING_BACKEND"]
    async with RawClient([entry["command"], *entry["args"]], environment) as client:
        session = LegacySession(client)
        await session.greet()
        return await session.list_tools(), [await session.call(name, arguments) for name, arguments in calls]


async def opened_tools(session: Session) -> list[Json]:
    """The definitions that `open_toolbox` shows, as the server itself gives them."""
    tools = (await session.open_toolbox("real", detail="full"))["structuredContent"]["tools"]
    mark = {"toolbox_name": "real", "source_server": "server"}
    assert [tool["description"][:14] for tool in tools] == ["[real/server] "] * len(tools)
    assert [tool | mark for tool in tools] == tools
    return [
        {key: value for key, value in tool.items() if key not in mark}
        | {"description": tool["description"].removeprefix("[real/server] ")}
        for tool in tools
    ]


def timeless(results: list[Json]) -> list[Json]:
    """One of the tools tells the time of day, which passes between two calls, and one its environment, where
    the workbench puts a mark."""
    text = re.sub(r"\d+:\d\d:\d\d [AP]M", "now", json.dumps(results))
    mark = rf',\\n  \\"{MARK}\\": \\"[0-9a-f./]+\\"'
    told: list[Json] = json.loads(re.sub(mark, "", text))
    return told


@pytest.mark.parametrize("server", [everything, memory, filesystem, time, git])
async def test_a_real_server_is_the_same_through_the_workbench(
    server: Callable[[Path], tuple[Json, Calls]], connect: Connect, tmp_path: Path
) -> None:
    entry, calls = server(tmp_path)
    tools, results = await directly(tmp_path, entry, calls)

    session = await connect(toolboxes(real={"server": entry}), env=LOCALE)
    assert await opened_tools(session) == tools
    used = [await session.use_tool("real", "server", name, arguments) for name, arguments in calls]
    assert timeless([substance(without_advice(result)) for result in used]) == timeless(results)


async def test_every_tool_of_server_everything_is_called(tmp_path: Path) -> None:
    entry, calls = everything(tmp_path)
    tools, _ = await directly(tmp_path, entry, [])
    assert sorted({name for name, _ in calls}) == sorted(names(tools))


async def test_a_file_is_written_where_the_server_may_and_nowhere_else(
    connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "allowed").mkdir()
    inside, outside = tmp_path / "allowed" / "note.txt", tmp_path / "note.txt"
    session = await connect(toolboxes(files={"fs": servers.filesystem(tmp_path / "allowed")}))

    written = await session.use_tool("files", "fs", "write_file", {"path": str(inside), "content": "hello"})
    denied = await session.use_tool("files", "fs", "write_file", {"path": str(outside), "content": "hello"})

    assert text_of(written) == f"Successfully wrote to {inside}"
    assert inside.read_text(encoding="utf-8") == "hello"
    assert failure_of(denied).startswith("Access denied")
    assert not outside.exists()


async def test_a_commit_made_through_the_workbench_is_in_the_repository(
    connect: Connect, tmp_path: Path
) -> None:
    repository = make_repository(tmp_path)
    here = {"repo_path": str(repository)}
    session = await connect(toolboxes(dev={"git": servers.git(repository)}))

    await session.use_tool("dev", "git", "git_add", {**here, "files": ["new.txt"]})
    committed = await session.use_tool("dev", "git", "git_commit", {**here, "message": "The second commit"})

    head = run_git(repository, "rev-parse", "HEAD").strip()
    assert text_of(committed) == f"Changes committed successfully with hash {head}"
    assert run_git(repository, "log", "--format=%s") == "The second commit\nThe first commit\n"


async def test_five_real_servers_share_a_toolbox(connect: Connect, tmp_path: Path) -> None:
    kinds = (everything, memory, filesystem, time, git)
    boxed = {kind.__name__: kind(tmp_path)[0] for kind in kinds}
    session = await connect(toolboxes(all=boxed))

    opened = (await session.open_toolbox("all"))["structuredContent"]

    assert opened["servers_connected"] == len(kinds)
    # Their whole definitions are more than a model is to read at once.
    assert opened["detail"] == "signatures"
    assert list(opened["tools"]) == list(boxed)
    whole = (await session.open_toolbox("all", detail="full"))["structuredContent"]
    assert {tool["source_server"] for tool in whole["tools"]} == set(boxed)
