"""With `--keep-going` a mistake costs only what it is in, and a file that is no JSON costs no restart."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.processes.reloading import changing
from tests.support.client import RawClient, clean_environment, serve_command
from tests.support.configs import server, toolboxes
from tests.support.sessions import failure_of, session_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.processes.reloading import Changing
    from tests.support.client import Json
    from tests.support.sessions import Era

    Begin = Callable[..., AbstractAsyncContextManager[Changing]]


@pytest.fixture
def begin(tmp_path: Path, client_era: Era) -> Begin:
    """Each test runs with a client of either era, on a configuration or on a file that is written already."""
    return lambda config, path=None: changing(tmp_path, client_era, config, "--keep-going", path=path)


def broken(**keys: object) -> Json:
    return {"command": "some-server", **keys}


async def opened(it: Changing, toolbox: str) -> Json:
    found: Json = json.loads(text_of(await it.session.open_toolbox(toolbox)))
    return found


async def test_a_server_with_an_unset_variable_is_a_failed_server_beside_its_neighbours(begin: Begin) -> None:
    async with begin(toolboxes(dev={"good": server(), "bad": broken(env={"KEY": "${NOT_SET}"})})) as it:
        found = await opened(it, "dev")
        assert (found["servers_connected"], len(found["tools"])) == (1, 1)
        (failed,) = found["failed_servers"]
        place = f"{it.path}:1: toolboxes.dev.mcpServers.bad.env.KEY"
        assert failed["server"] == "bad"
        assert f"{place}: the variable NOT_SET is not set" in failed["error"]
        assert failed["hint"].startswith("export NOT_SET=value    (or give a default: ${NOT_SET:-default}")
        assert text_of(await it.session.use_tool("dev", "good", "echo", {"a": 1})) == '{"a": 1}'


async def test_a_call_of_a_server_with_a_mistake_says_what_it_is_and_what_to_do(begin: Begin) -> None:
    async with begin(toolboxes(dev={"good": server(), "bad": {"comand": "x"}})) as it:
        refused = failure_of(await it.session.use_tool("dev", "bad", "anything"))
        assert refused.startswith("Error executing tool 'anything' in server 'bad' (toolbox 'dev'): ")
        assert 'Did you mean "command"?' in refused


@pytest.mark.parametrize("entry", ["npx", None, [], 5, {"command": "x", "url": "https://x.example"}])
async def test_an_entry_of_any_wrong_form_costs_only_itself(begin: Begin, entry: object) -> None:
    async with begin({"toolboxes": {"dev": box(good=server(), bad=entry)}}) as it:
        found = await opened(it, "dev")
        assert [failed["server"] for failed in found["failed_servers"]] == ["bad"]
        assert found["servers_connected"] == 1


async def test_a_required_server_with_a_mistake_fails_its_toolbox_alone(begin: Begin) -> None:
    bad = broken(required=True, args="not a list")
    config = toolboxes(dev={"good": server(), "bad": bad}, ops={"good": server()})
    async with begin(config) as it:
        assert "args: should be a list" in failure_of(await it.session.open_toolbox("dev"))
        assert (await opened(it, "ops"))["servers_connected"] == 1


async def test_a_toolbox_that_cannot_be_read_costs_only_itself(begin: Begin) -> None:
    async with begin(
        {"toolboxes": {"dev": box(good=server()), "ops": [], "web": {"description": "W"}}}
    ) as it:
        refused = failure_of(await it.session.open_toolbox("ops"))
        start = "Toolbox 'ops' cannot be used, because of a mistake in the configuration:\n"
        assert refused.startswith(f"{start}- {it.path}:1: toolboxes.ops: should be an object")
        assert "mcpServers: is missing" in failure_of(await it.session.use_tool("web", "x", "y"))
        searched = await it.session.call("open_toolbox", {"toolbox_name": "ops", "query": "files"})
        assert failure_of(searched) == refused
        assert (await opened(it, "dev"))["servers_connected"] == 1


async def test_a_toolbox_without_a_description_works(begin: Begin) -> None:
    async with begin({"toolboxes": {"dev": {"mcpServers": {"good": server()}}}}) as it:
        assert (await opened(it, "dev"))["description"] == "(no description)"


async def test_the_instructions_count_the_mistakes(begin: Begin) -> None:
    async with begin(toolboxes(dev={"good": server(), "bad": broken(args=[1, 2])})) as it:
        instructions = it.session.greeting["instructions"]
        assert instructions.startswith("Available Toolboxes:\n- dev (2 servers)")
        assert instructions.endswith(
            "Mistakes in the configuration: 2. `mcp-workbench check` shows them to the user."
        )
        assert (
            it.client.stderr.count("should be a string, not a number. Put the value in double quotes.") == 2
        )


async def test_a_disabled_server_is_no_failure_whatever_is_wrong_with_it(begin: Begin) -> None:
    off = broken(disabled=True, args="not a list", env={"KEY": "${NOT_SET}"})
    async with begin(toolboxes(dev={"good": server(), "off": off})) as it:
        assert "failed_servers" not in await opened(it, "dev")
        assert "It is disabled" in failure_of(await it.session.use_tool("dev", "off", "x"))


async def test_a_file_that_is_no_json_still_serves_and_every_answer_says_why(
    begin: Begin, tmp_path: Path
) -> None:
    path = tmp_path / "workbench-config.json"
    path.write_text('{\n  "toolboxes": {\n    "dev": oops\n  }\n}', encoding="utf-8")
    async with begin({}, path) as it:
        explained = it.session.greeting["instructions"]
        assert explained.startswith(
            f"There are no toolboxes, because the configuration file {path} cannot be used. Tell the user. "
            "When it is corrected, it is used within seconds, without a restart.\n"
            f"- {path}:3: column 12: invalid JSON: a value is expected here\n"
        )
        answers = [
            await it.session.open_toolbox("dev"),
            await it.session.call("open_toolbox", {"query": "files"}),
            await it.session.call("open_toolbox", {}),
            await it.session.use_tool("dev", "a", "echo"),
        ]
        assert [failure_of(answer) for answer in answers] == [explained] * 4
        for method, params in (
            ("resources/read", {"uri": "workbench:dev/a/file:///x"}),
            ("prompts/get", {"name": "dev/a/greet"}),
        ):
            refused = await it.session.request(method, params)
            assert explained in refused["error"]["message"]


async def test_a_file_that_is_corrected_is_used_and_the_client_is_told(begin: Begin, tmp_path: Path) -> None:
    path = tmp_path / "workbench-config.json"
    path.write_text("{", encoding="utf-8")
    async with begin({}, path) as it:
        await it.listen()
        await it.change(toolboxes(dev={"good": server()}))
        assert len(it.announcements) == 1
        assert (await it.session.greet())["instructions"].startswith("Available Toolboxes:\n- dev (1 server)")
        assert text_of(await it.session.use_tool("dev", "good", "echo", {"a": 1})) == '{"a": 1}'


async def test_a_file_that_appears_later_is_used(begin: Begin, tmp_path: Path) -> None:
    async with begin({}, tmp_path / "later.json") as it:
        assert "there is no such file" in failure_of(await it.session.open_toolbox("dev"))
        await it.change(toolboxes(dev={"good": server()}))
        assert (await opened(it, "dev"))["servers_connected"] == 1


async def test_another_mistake_in_a_file_that_cannot_be_used_replaces_the_first(
    begin: Begin, tmp_path: Path
) -> None:
    path = tmp_path / "workbench-config.json"
    path.write_text("{", encoding="utf-8")
    async with begin({}, path) as it:
        await it.reloaded_by(lambda: it.replace("[]"))
        assert "should hold one JSON object" in failure_of(await it.session.open_toolbox("dev"))


async def test_what_works_stays_when_the_file_becomes_unreadable(begin: Begin) -> None:
    async with begin(toolboxes(dev={"good": server()})) as it:
        assert "invalid JSON" in await it.refused_by(lambda: it.replace("{"))
        assert (await opened(it, "dev"))["servers_connected"] == 1


async def test_a_mistake_that_is_made_later_costs_only_what_it_is_in(begin: Begin) -> None:
    async with begin(toolboxes(dev={"a": server(), "b": server()})) as it:
        assert (await opened(it, "dev"))["servers_connected"] == 2
        await it.change(toolboxes(dev={"a": server(), "b": broken(args="x")}))
        found = await opened(it, "dev")
        assert [failed["server"] for failed in found["failed_servers"]] == ["b"]
        assert found["servers_connected"] == 1
        assert "[dev/b] has a mistake in its configuration; its running processes end" in it.client.stderr


async def test_without_the_option_a_mistake_stops_the_start(tmp_path: Path, client_era: Era) -> None:
    path = tmp_path / "workbench-config.json"
    path.write_text(json.dumps(toolboxes(dev={"good": server(), "bad": {}})), encoding="utf-8")
    for arguments, code in (((), 2), (("--keep-going",), 0)):
        async with RawClient(serve_command(path, *arguments), clean_environment(tmp_path)) as client:
            if code == 0:
                await session_of(client_era, client).greet()
                await client.close()
            assert (await client.wait_exit()).code == code


async def test_a_secret_that_is_set_later_mends_the_server_that_needs_it(
    begin: Begin, tmp_path: Path
) -> None:
    needy = server(entry={"env": {"KEY": "${keyring:MY_KEY}"}})
    async with begin(toolboxes(dev={"a": needy})) as it:
        refused = failure_of(await it.session.use_tool("dev", "a", "echo"))
        assert "there is no secret MY_KEY" in refused
        assert refused.endswith("\nmcp-workbench secret set MY_KEY")

        def set_it() -> None:
            command = [sys.executable, "-m", "mcp_workbench", "secret", "set", "MY_KEY"]
            subprocess.run(
                command, env=clean_environment(tmp_path), input=b"value", check=True, capture_output=True
            )

        await it.reloaded_by(set_it)
        assert text_of(await it.session.use_tool("dev", "a", "echo", {"a": 1})) == '{"a": 1}'


@pytest.mark.parametrize("entry", [{"envFile": "late.env"}, {"env": {"KEY": "${file:late.env}"}}])
async def test_a_file_that_is_created_later_mends_the_server_that_needs_it(
    begin: Begin, tmp_path: Path, entry: Json
) -> None:
    async with begin(toolboxes(dev={"a": server(entry=entry)})) as it:
        assert "there is no such file" in failure_of(await it.session.use_tool("dev", "a", "echo"))
        late = tmp_path / "late.env"
        await it.reloaded_by(lambda: late.write_text("KEY=value\n", encoding="utf-8"))
        assert text_of(await it.session.use_tool("dev", "a", "echo", {"a": 1})) == '{"a": 1}'


def box(**servers: object) -> Json:
    return {"description": "Tools", "mcpServers": servers}
