"""The entry in a client's file starts the workbench from anywhere, and holds no secret."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mcp_workbench.config.source.expand import no_secrets
from mcp_workbench.errors import ConfigError
from mcp_workbench.setup.launching import (
    is_temporary,
    lasting_path,
    load_for_launch,
    own_command,
    plan_launch,
    referenced_variables,
)


def configured(**servers: dict[str, object]) -> dict[str, object]:
    return {"toolboxes": {"dev": {"description": "d", "mcpServers": servers}}}


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_script_beside_the_interpreter_is_started(tmp_path: Path) -> None:
    script = program(tmp_path / "env" / "bin" / "mcp-workbench")
    assert own_command({"PATH": ""}, str(script.with_name("python"))) == (str(script), (), "")


def test_a_link_on_the_path_to_the_script_is_preferred(tmp_path: Path) -> None:
    script = program(tmp_path / "tools" / "bin" / "mcp-workbench")
    link = tmp_path / "local" / "mcp-workbench"
    link.parent.mkdir()
    link.symlink_to(script)
    program(tmp_path / "other" / "mcp-workbench")
    path = os.pathsep.join(["relative", str(tmp_path / "other"), str(link.parent)])
    assert own_command({"PATH": path}, str(script.with_name("python"))) == (str(link), (), "")


def test_without_a_script_the_module_is_started(tmp_path: Path) -> None:
    assert own_command({}, f"{tmp_path}/python") == (f"{tmp_path}/python", ("-m", "mcp_workbench"), "")


@pytest.mark.parametrize("cache", [".cache/uv/archive-v0/abc", "Library/Caches/pipx/abc"])
def test_a_temporary_environment_is_started_by_uvx(tmp_path: Path, cache: str) -> None:
    script = program(tmp_path / cache / "bin" / "mcp-workbench")
    uvx = program(tmp_path / "bin" / "uvx")
    command, args, warning = own_command({"PATH": str(uvx.parent)}, str(script.with_name("python")))
    assert (command, args) == (str(uvx), ("workbench-mcp",))
    assert "temporary environment" in warning


def test_a_temporary_environment_without_uvx_is_warned_of(tmp_path: Path) -> None:
    environ = {"UV_CACHE_DIR": str(tmp_path), "PATH": ""}
    assert is_temporary(f"{tmp_path}/x/bin/python", environ)
    command, args, warning = own_command(environ, f"{tmp_path}/x/bin/python")
    assert (command, args) == (f"{tmp_path}/x/bin/python", ("-m", "mcp_workbench"))
    assert "may be deleted at any time" in warning


def test_the_path_has_only_directories_that_last(tmp_path: Path) -> None:
    for name in ("a", "b", ".cache"):
        (tmp_path / name).mkdir()
    written = [f"{tmp_path}/a", "relative", "", f"{tmp_path}/none", f"{tmp_path}/.cache"]
    path = os.pathsep.join([*written, f"{tmp_path}/b", f"{tmp_path}/a"])
    lasting = [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert lasting_path({"PATH": path}, f"{tmp_path}/.cache/python") == os.pathsep.join(lasting)
    lasting.insert(1, f"{tmp_path}/.cache")
    assert lasting_path({"PATH": path}, f"{tmp_path}/a/python") == os.pathsep.join(lasting)


def test_variables_are_found_wherever_they_are_needed(tmp_path: Path) -> None:
    content = configured(
        one={"command": "${TOOL}", "args": ["$${NOT}", "${A:-default}"], "env": {"X": "${SHARED}"}},
        two={"url": "https://${HOST}/${SHARED}", "headers": {"K": "${env:KEY} ${keyring:K} ${file:/x}"}},
        off={"command": "x", "env": {"X": "${OFF}"}, "disabled": True},
        also_off={"command": "${OFF}", "enabled": False},
        editor={"command": "x", "args": ["${workspaceFolder}", "${userHome}"]},
    )
    tree, _ = load_for_launch(str(tmp_path / "c.json"), json.dumps(content).encode(), {}, no_secrets)
    assert referenced_variables(tree) == {
        "TOOL": ["dev/one"],
        "SHARED": ["dev/one", "dev/two"],
        "HOST": ["dev/two"],
        "KEY": ["dev/two"],
        "WORKSPACE_FOLDER": ["dev/editor"],
    }


def test_only_plain_values_are_written(tmp_path: Path) -> None:
    tree = configured(one={"command": "x", "args": ["${REGION}", "${API_TOKEN}", "${UNSET}", "${HOME}"]})
    environ = {
        "PATH": str(tmp_path),
        "HOME": "/home/me",
        "REGION": "eu-central-1",
        "API_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "UNUSED": "no",
        "XDG_DATA_HOME": "/data",
        "XDG_CACHE_HOME": "relative",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    launch = plan_launch("relative.json", tree, environ, f"{tmp_path}/python")
    assert launch.env == {
        "PATH": str(tmp_path),
        "XDG_DATA_HOME": "/data",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "REGION": "eu-central-1",
    }
    assert launch.args[-3:] == ("--config", str(Path.cwd() / "relative.json"), "--keep-going")
    assert [warning.split(". ")[0] for warning in launch.warnings] == [
        "the variable API_TOKEN looks like a secret, and is not written into the client's file",
        "the variable UNSET is not set",
    ]
    assert all("mcp-workbench secret set" in warning for warning in launch.warnings)
    assert "ghp_" not in repr(launch)


@pytest.mark.skipif(sys.platform == "win32", reason="a bus of Linux")
def test_the_bus_of_the_keyring_is_written_where_it_is_needed(tmp_path: Path) -> None:
    environ = {"PATH": "", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus"}
    with_keyring = configured(one={"command": "x", "env": {"K": "${keyring:K}"}})
    program = f"{tmp_path}/python"
    assert plan_launch("c", with_keyring, environ, program).env == environ
    assert plan_launch("c", configured(), environ, program).env == {"PATH": ""}


def test_a_configuration_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "workbench-config.json"
    with pytest.raises(ConfigError, match="mcp-workbench import"):
        load_for_launch(str(path), None, {}, lambda _: None)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError):
        load_for_launch(str(path), None, {}, lambda _: None)


def test_a_mistake_in_one_server_is_only_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "workbench-config.json"
    path.write_text(
        '{"toolboxes": {"dev": {"description": "d", "mcpServers":'
        ' {"a": {"command": "${NONE}", "args": 1}}}}} // c',
        encoding="utf-8",
    )
    tree, warnings = load_for_launch(str(path), None, {}, lambda _: None)
    assert referenced_variables(tree) == {"NONE": ["dev/a"]}
    assert len(warnings) == 1
    assert "toolboxes.dev.mcpServers.a.args" in warnings[0]


def test_a_file_that_is_to_be_written_counts_already() -> None:
    assert load_for_launch("none.json", b'{"toolboxes": {}}', {}, lambda _: None) == ({"toolboxes": {}}, [])
