"""What a server gets from us: little, unless the configuration says more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.configs import acting, toolboxes
from tests.support.sessions import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Connect

OURS = {
    "SECRET_TOKEN": "hidden",
    "SECRET_OTHER": "hidden too",
    "LANG": "C.UTF-8",
    "HTTPS_PROXY": "http://proxy",
}


async def told(connect: Connect, **entry: Any) -> dict[str, Any]:
    session = await connect(toolboxes(dev={"files": acting("who", "tell", entry=entry)}), env=OURS)
    known: dict[str, Any] = json.loads(text_of(await session.use_tool("dev", "files", "who")))
    return known


async def test_our_secrets_stay_with_us_and_the_harmless_passes(connect_modern: Connect) -> None:
    environment = (await told(connect_modern, env={"OWN": "value"}))["env"]
    assert "SECRET_TOKEN" not in environment
    assert environment["OWN"] == "value"
    assert {"PATH", "HOME", "LANG", "HTTPS_PROXY", "XDG_CACHE_HOME"} <= set(environment)


async def test_all_of_it_is_inherited_when_the_configuration_says_so(connect_modern: Connect) -> None:
    environment = (await told(connect_modern, inheritEnv=True, env={"SECRET_OTHER": "own"}))["env"]
    assert {"SECRET_TOKEN": "hidden", "SECRET_OTHER": "own"}.items() <= environment.items()


async def test_names_and_globs_are_inherited_when_the_configuration_lists_them(
    connect_modern: Connect,
) -> None:
    by_name = (await told(connect_modern, inheritEnv=["SECRET_TOKEN"]))["env"]
    assert (by_name.get("SECRET_TOKEN"), by_name.get("SECRET_OTHER")) == ("hidden", None)
    by_glob = (await told(connect_modern, inheritEnv=["SECRET_*"]))["env"]
    assert (by_glob.get("SECRET_TOKEN"), by_glob.get("SECRET_OTHER")) == ("hidden", "hidden too")


async def test_variables_are_expanded_into_the_servers_environment(connect_modern: Connect) -> None:
    environment = (await told(connect_modern, env={"OWN": "${SECRET_TOKEN}", "ELSE": "${UNSET:-default}"}))[
        "env"
    ]
    assert (environment["OWN"], environment["ELSE"]) == ("hidden", "default")


async def test_a_server_inherits_no_descriptors_but_its_three_pipes(connect_modern: Connect) -> None:
    assert (await told(connect_modern))["descriptors"] == [0, 1, 2]


async def test_a_server_runs_in_the_directory_it_is_given(connect_modern: Connect, tmp_path: Path) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    assert (await told(connect_modern, cwd=str(place)))["cwd"] == str(place.resolve())


@pytest.mark.parametrize("inherit", [True, ["WORKBENCH_*"]])
async def test_the_key_of_our_states_is_never_passed_on(connect_modern: Connect, inherit: object) -> None:
    entry = acting("tell", "tell", entry={"inheritEnv": inherit})
    variables = {"WORKBENCH_STATE_KEY": "k" * 40, "WORKBENCH_OTHER": "passed"}
    session = await connect_modern(toolboxes(dev={"files": entry}), env=variables)
    told = json.loads(text_of(await session.use_tool("dev", "files", "tell")))["env"]
    assert told["WORKBENCH_OTHER"] == "passed"
    assert "WORKBENCH_STATE_KEY" not in told


async def test_a_key_that_can_be_guessed_is_warned_of_but_not_shown(connect_modern: Connect) -> None:
    session = await connect_modern(toolboxes(dev={}), env={"WORKBENCH_STATE_KEY": "hunter2"})
    await session.client.wait_for_stderr("WORKBENCH_STATE_KEY is short")
    assert "hunter2" not in session.client.stderr
