"""Every code of the table is found where its cause is, with real files and programs, and nowhere else."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.setup.diagnosis import examined, version_calls
from mcp_workbench.setup.diagnosis.findings import CODES
from mcp_workbench.storage.audit.audit_files import AuditFiles
from mcp_workbench.storage.directories import data_directory
from mcp_workbench.storage.login_record import Login
from mcp_workbench.storage.logins import LoginFile
from mcp_workbench.storage.secret_lookup import secrets_path
from mcp_workbench.storage.trust.lock_file import FILE_NAME
from mcp_workbench.storage.trust.pin_records import HeldServer, HeldTool, PinPlace, config_name
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.wire.processes.orphans import find_orphans
from mcp_workbench.wire.processes.scanner import identify
from tests.setup.diagnosis.clinic import PINNED, SECRET, WORKBENCH, Clinic
from tests.support.orphans import orphaned
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from collections.abc import Callable

WIKI = "https://wiki.example/mcp"


HANGING = "program-silent"
LOCKED = "keyring-unavailable"


@pytest.fixture(autouse=True)
def _wait_as_long_as_needed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the programs of a busy machine more time, but not those that never answer."""
    is_hanging = HANGING in request.node.name or "hangs" in request.node.name
    monkeypatch.setattr(version_calls, "VERSION_SECONDS", 0.3 if is_hanging else PATIENCE)
    monkeypatch.setattr(examined, "KEYRING_SECONDS", 0.3 if LOCKED in request.node.name else PATIENCE)


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    made = Clinic(tmp_path)
    made.list_tools(time.time())
    return made


def _log_in(clinic: Clinic, **fields: object) -> None:
    clinic.write({"wiki": {"url": WIKI}})
    login = Login(
        issuer="https://login.example",
        token_endpoint="https://login.example/token",  # noqa: S106 - an address
        resource=WIKI,
        client_id="me",
        redirect_uri="http://localhost/callback",
        access_token=SECRET,
        obtained_at=time.time() - 7200,
        **fields,  # type: ignore[arg-type] # as the caller says
    )
    LoginFile(clinic.environ, ("dev", "wiki"), WIKI).write(login)


def _damage_login(clinic: Clinic) -> None:
    _log_in(clinic)
    path = LoginFile(clinic.environ, ("dev", "wiki"), WIKI).path
    Path(path).write_text("{", encoding="utf-8")


def _keep_in_keyring(clinic: Clinic) -> None:
    kept = {"format": 1, "secrets": {"TOKEN": {"kept": "keyring"}}}
    path = Path(secrets_path(clinic.environ))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept), encoding="utf-8")
    path.chmod(0o600)
    clinic.write({"gh": {**PINNED, "env": {"GH_TOKEN": "${keyring:TOKEN}"}}})


def _share_writing(clinic: Clinic) -> None:
    clinic.config.chmod(0o666)


def _share_reading(clinic: Clinic) -> None:
    clinic.write({"gh": {**PINNED, "env": {"GH_TOKEN": SECRET}}})
    clinic.config.chmod(0o644)


def _make_large(clinic: Clinic) -> None:
    text = clinic.config.read_text(encoding="utf-8")
    clinic.write_text(text + " " * 1024 * 1024)


def _add_another(clinic: Clinic) -> None:
    other = clinic.home / "other.json"
    other.write_text("{}", encoding="utf-8")
    clinic.environ["WORKBENCH_CONFIG"] = str(other)


def _remove_config(clinic: Clinic) -> None:
    clinic.config.unlink()


def _add_script(clinic: Clinic) -> None:
    script = clinic.program("mine", "exit 0")
    script.chmod(0o644)
    clinic.write({"mine": {"command": str(script)}})


def _install_twice(clinic: Clinic) -> None:
    for name in ("first", "second"):
        script = clinic.bin / name / "mcp-workbench"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\n", encoding="utf-8")
        script.chmod(0o755)
    clinic.environ["PATH"] = f"{clinic.bin}:{clinic.bin}/first:{clinic.bin}/second"


def _break_client(clinic: Clinic) -> None:
    clinic.cursor.write_text("{", encoding="utf-8")


def _install_other_program(clinic: Clinic, script: str) -> None:
    clinic.install(command=str(clinic.program("mcp-workbench", script)))


def _install_by_name(clinic: Clinic) -> None:
    clinic.program("mcp-workbench", f'exec {WORKBENCH} "$@"')
    clinic.install(command="mcp-workbench")


def _install_from_cache(clinic: Clinic) -> None:
    cache = clinic.home / ".cache" / "uv"
    cache.mkdir(parents=True)
    (cache / "mcp-workbench").symlink_to(WORKBENCH)
    clinic.install(command=str(cache / "mcp-workbench"))


def _use_another_file(clinic: Clinic) -> None:
    other = clinic.home / "other.json"
    other.write_text("{}", encoding="utf-8")
    clinic.install("--config", str(other), "--keep-going")


def _shorten_path(clinic: Clinic) -> None:
    clinic.install(env={"PATH": str(clinic.home)})


def _need_a_rare_program(clinic: Clinic) -> None:
    clinic.program("my-launcher", "exit 0")
    clinic.write({"files": {"command": "my-launcher"}})
    clinic.install(env={})


def _have_both(clinic: Clinic) -> None:
    text = json.loads(clinic.cursor.read_text(encoding="utf-8"))
    clinic.write_client({**text["mcpServers"], "files": PINNED})


def _link_cache(clinic: Clinic) -> None:
    elsewhere = clinic.home / "elsewhere"
    elsewhere.mkdir()
    clinic.environ["XDG_CACHE_HOME"] = str(clinic.home / "caches")
    (clinic.home / "caches").mkdir()
    (clinic.home / "caches" / "mcp-workbench").symlink_to(elsewhere)


def _block_audit(clinic: Clinic) -> Path:
    audit = Path(AuditFiles(clinic.environ).path)
    audit.parent.mkdir(parents=True, mode=0o700)
    audit.write_bytes(b"")
    return audit


def _leave_draft(clinic: Clinic) -> None:
    draft = clinic.cursor.with_name(".mcp.json.0123456789ab.mcp-workbench.tmp")
    draft.write_text("{", encoding="utf-8")


def _hold_tool(clinic: Clinic) -> None:
    place = PinPlace(config_name(str(clinic.config)), "dev", "files")
    tool = HeldTool(
        digest="", hints={}, definition=msgspec.Raw(b"{}"), reasons=("it changed",), since=time.time()
    )
    held = HeldServer(place=place, level="scan", identity="", program="npx", tools={"read": tool})
    PinStore(data_directory(clinic.environ)).held.keep(place, held)


PROVOCATIONS: dict[str, Callable[[Clinic], object]] = {
    "configuration-missing": _remove_config,
    "file-mistake": lambda clinic: clinic.write({"files": {"commnad": "npx"}}),
    "file-warning": lambda clinic: clinic.write({"files": {**PINNED, "toolFilters": []}}),
    "file-writable-by-others": _share_writing,
    "file-readable-by-others": _share_reading,
    "file-large": _make_large,
    "another-file": _add_another,
    "variable-not-set": lambda clinic: clinic.write({"gh": {**PINNED, "env": {"A": "${NOT_SET}"}}}),
    "secret-missing": lambda clinic: clinic.write({"gh": {**PINNED, "env": {"A": "${keyring:NONE}"}}}),
    LOCKED: _keep_in_keyring,
    "secret-in-plain-text": lambda clinic: clinic.write({"gh": {**PINNED, "env": {"GH_TOKEN": SECRET}}}),
    "shell-reference": lambda clinic: clinic.write({"gh": {**PINNED, "env": {"GH_TOKEN": "$GH_TOKEN"}}}),
    "timeout-in-milliseconds": lambda clinic: clinic.write({"files": {**PINNED, "timeout": 30000}}),
    "unpinned-package": lambda clinic: clinic.write(
        {"time": {"command": "uvx", "args": ["mcp-server-time"]}}
    ),
    "program-missing": lambda clinic: clinic.write({"files": {"command": "no-such-program"}}),
    "arguments-in-command": lambda clinic: clinic.write({"files": {"command": "npx -y @scope/files@1.2.3"}}),
    "program-not-executable": _add_script,
    "directory-missing": lambda clinic: clinic.write({"files": {**PINNED, "cwd": "/no/such/directory"}}),
    "program-too-old": lambda clinic: clinic.program("node", "echo v16.20.2"),
    "program-fails": lambda clinic: clinic.program("npx", "echo 'no such shim' >&2; exit 3"),
    HANGING: lambda clinic: clinic.program("npx", "exec /bin/sleep 60"),
    "no-client": lambda clinic: clinic.cursor.unlink(),
    "client-file-unreadable": _break_client,
    "client-command-missing": lambda clinic: clinic.install(command="/no/such/mcp-workbench"),
    "client-command-fails": lambda clinic: _install_other_program(clinic, "exit 1"),
    "client-command-not-absolute": _install_by_name,
    "client-command-temporary": _install_from_cache,
    "client-version-differs": lambda clinic: _install_other_program(clinic, "echo mcp-workbench 0.0.1"),
    "client-config-missing": lambda clinic: clinic.install("--config", "/no/such.json", "--keep-going"),
    "client-config-not-absolute": lambda clinic: clinic.install("--config", "it.json", "--keep-going"),
    "client-uses-another-file": _use_another_file,
    "client-without-keep-going": lambda clinic: clinic.install("--config", str(clinic.config)),
    "client-path-too-short": _shorten_path,
    "client-without-path": _need_a_rare_program,
    "server-in-both": _have_both,
    "login-expired": lambda clinic: _log_in(clinic, expires_at=time.time() - 60),
    "login-missing": lambda clinic: clinic.write({"wiki": {"url": WIKI, "oauth": {"clientId": "me"}}}),
    "login-unreadable": _damage_login,
    "catalogue-incomplete": lambda clinic: clinic.write({"new": {**PINNED, "cwd": "/"}}),
    "catalogue-old": lambda clinic: clinic.list_tools(time.time() - 40 * 24 * 3600),
    "lock-unusable": lambda clinic: clinic.config.with_name(FILE_NAME).write_text("<<<<<<< HEAD"),
    "tools-held": _hold_tool,
    "directory-unusable": _link_cache,
    "leftover-files": _leave_draft,
    "several-installs": _install_twice,
}
"""What makes each code appear. Orphans and sandboxes have tests of their own."""


async def test_where_all_is_right_nothing_is_found(clinic: Clinic) -> None:
    assert await clinic.findings() == []


def test_every_code_is_provoked() -> None:
    assert {*PROVOCATIONS, "orphaned-processes", "sandbox-unavailable", "sandbox-undoable"} == {*CODES}


@pytest.mark.parametrize("code", PROVOCATIONS)
async def test_a_cause_is_found_with_the_command_that_mends_it(clinic: Clinic, code: str) -> None:
    PROVOCATIONS[code](clinic)
    findings = await clinic.findings()
    finding = next((one for one in findings if one.code == code), None)
    assert finding is not None, findings
    assert finding.severity == CODES[code].severity
    assert finding.message.strip()
    assert shlex.split(finding.command)
    assert [one for one in findings if SECRET in repr(one)] == []
    # What belongs to one cause is not reported as another problem too.
    others = [one for one in findings if one.code != code and one.severity == "problem"]
    assert others == []


async def test_the_place_of_a_mistake_in_the_lock_is_as_it_is_written(clinic: Clinic) -> None:
    clinic.config.with_name(FILE_NAME).write_text('{"version": 1, "toolboxes": {"dev": 1}}')
    (finding,) = [one for one in await clinic.findings() if one.code == "lock-unusable"]
    assert finding.message == (
        "The lock cannot be used: toolboxes.dev: this should be an object, { … }. "
        "What it approves does not count, and servers with strict pins are held."
    )


async def test_a_cache_that_is_a_link_gets_its_remedy_in_words(clinic: Clinic) -> None:
    _link_cache(clinic)
    (finding,) = [one for one in await clinic.findings() if one.code == "directory-unusable"]
    what = "is a symbolic link, which is not followed here"
    harm = "the catalogue is not kept, and searches find less"
    assert finding.message == f"{finding.file} {what}. So {harm}."
    assert finding.remedy.startswith(
        "Replace it by a directory. To keep the files elsewhere, set XDG_CACHE_HOME"
    )
    assert finding.remedy.endswith("a link to it in its place.")


async def test_an_audit_that_cannot_be_written_is_found_unless_it_is_off(clinic: Clinic) -> None:
    audit = _block_audit(clinic)
    (finding,) = await clinic.findings()
    assert (finding.code, finding.file) == ("directory-unusable", str(audit))
    assert finding.message.endswith("So calls are not recorded.")
    assert finding.remedy == "Move it away, or set XDG_DATA_HOME to another directory."
    clinic.write({"files": PINNED}, audit="off")
    assert await clinic.findings() == []


async def test_an_orphan_is_shown_without_its_secrets(clinic: Clinic) -> None:
    with orphaned(os.urandom(8).hex(), "--api-key", SECRET) as pid:
        await poll(lambda: pid in [orphan.pid for orphan in find_orphans()])
        diagnosis = await clinic.diagnose()
        (finding,) = [one for one in diagnosis.findings if one.code == "orphaned-processes"]
    # Other tests may have some at the same time.
    assert str(pid) in finding.command.removeprefix("kill ").split()
    assert str(pid) in finding.message
    assert SECRET not in repr(diagnosis)


@pytest.mark.parametrize(
    ("helper", "missing", "command"),
    [
        ("pipx", "uvx", "pipx install uv"),
        ("none", "uvx", "python3 -m pip install --user uv"),
        ("brew", "uvx", "brew install uv"),
        ("brew", "npx", "brew install node"),
        pytest.param(
            *("apt-get", "docker", "sudo apt-get install docker.io"),
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it"),
        ),
        ("none", "deno", "${EDITOR:-vi} +7 {config}"),
    ],
)
async def test_a_missing_launcher_is_installed_by_what_is_there(
    clinic: Clinic, helper: str, missing: str, command: str
) -> None:
    for name in ("npx", "uvx"):
        (clinic.bin / name).unlink()
    clinic.program(helper, "exit 0")
    clinic.write({"one": {"command": missing, "args": ["thing@1.0.0"]}})
    (finding,) = [one for one in await clinic.findings() if one.code == "program-missing"]
    assert finding.command == command.replace("{config}", str(clinic.config))


async def test_npx_without_node_is_noticed(clinic: Clinic) -> None:
    (clinic.bin / "node").unlink()
    (finding,) = [one for one in await clinic.findings() if one.code == "program-missing"]
    assert finding.message == "The command 'npx' is there, but 'node', in which it runs, was not found."


async def test_the_version_to_pin_is_the_one_that_was_run_last(clinic: Clinic) -> None:
    (clinic.home / ".cache/uv/archive-v0/a/mcp_server_time-2025.9.25.dist-info").mkdir(parents=True)
    clinic.write({"time": {"command": "uvx", "args": ["mcp-server-time"]}})
    (finding,) = [one for one in await clinic.findings() if one.code == "unpinned-package"]
    assert finding.remedy == 'Write "mcp-server-time==2025.9.25", the version that was run here last.'


@pytest.mark.parametrize("fields", [{}, {"expires_at": 1.0, "refresh_token": "again"}])
async def test_a_login_that_works_or_can_be_renewed_is_no_finding(
    clinic: Clinic, fields: dict[str, object]
) -> None:
    _log_in(clinic, **fields)
    codes = [one.code for one in await clinic.findings()]
    assert [code for code in codes if code.startswith("login")] == []


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (sys.executable, ["-m", "mcp_workbench", "--config={config}", "--keep-going"]),
        (str(WORKBENCH), ["--keep-going"]),
        ("${userHome}/bin/mcp-workbench", ["--config", "{config}", "--keep-going"]),
    ],
    ids=["a module", "the person's own file", "what the client replaces"],
)
async def test_other_ways_to_start_the_workbench_work_too(
    clinic: Clinic, command: str, args: list[str]
) -> None:
    clinic.install(*(word.replace("{config}", str(clinic.config)) for word in args), command=command)
    assert await clinic.findings() == []


async def test_an_entry_that_names_no_file_is_a_warning_if_the_file_is_not_the_persons_own(
    clinic: Clinic,
) -> None:
    path = clinic.home / "elsewhere.json"
    clinic.config.rename(path)
    clinic.install("--keep-going")
    codes = [one.code for one in (await clinic.diagnose(str(path))).findings]
    assert "client-config-not-absolute" in codes


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("file-writable-by-others", "chmod go-w {config}"),
        ("file-readable-by-others", "chmod go-r {config}"),
        ("variable-not-set", "export NOT_SET=value"),
        ("secret-missing", "mcp-workbench secret set NONE"),
        ("secret-in-plain-text", "mcp-workbench secret set GH_TOKEN"),
        ("timeout-in-milliseconds", "${{EDITOR:-vi}} +12 {config}"),
        ("directory-missing", "mkdir -p /no/such/directory"),
        ("client-without-keep-going", "mcp-workbench install cursor"),
        ("server-in-both", "mcp-workbench install cursor --replace"),
        ("login-expired", "mcp-workbench login dev/wiki"),
        ("catalogue-incomplete", "mcp-workbench index dev/new"),
        ("leftover-files", "rm -f {home}/.cursor/.mcp.json.0123456789ab.mcp-workbench.tmp"),
    ],
)
async def test_the_command_is_the_one_to_run(clinic: Clinic, code: str, command: str) -> None:
    PROVOCATIONS[code](clinic)
    (finding,) = [one for one in await clinic.findings() if one.code == code]
    expected = command.format(config=clinic.config, home=clinic.home)
    # Whether the group has others in it depends on the machine.
    assert finding.command in (expected, expected.replace("chmod go", "chmod o"))


async def test_a_file_that_was_named_is_named_in_the_commands_too(clinic: Clinic) -> None:
    path = clinic.config.with_name("my file.json")
    clinic.config.rename(path)
    clinic.install("--config", str(path))
    diagnosis = await clinic.diagnose(str(path))
    (finding,) = [one for one in diagnosis.findings if one.code == "client-without-keep-going"]
    assert finding.command == f"mcp-workbench install cursor --config '{path}'"


async def test_a_broken_file_does_not_stop_the_other_checks(clinic: Clinic) -> None:
    clinic.write_text('{"toolboxes": {\n "dev": {,\n}')
    clinic.install("--config", str(clinic.config))
    clinic.environ["PATH"] = "/nowhere"
    codes = [finding.code for finding in await clinic.findings()]
    assert codes == ["file-mistake", "client-without-keep-going"]
    (mistake, _) = await clinic.findings()
    assert (mistake.file, mistake.line) == (str(clinic.config), 2)


async def test_a_home_without_anything_lacks_only_a_configuration_and_a_client(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    clinic.home = tmp_path / "nobody"
    clinic.environ["HOME"] = str(clinic.home)
    clinic.config = clinic.home / "workbench-config.json"
    assert [finding.code for finding in await clinic.findings()] == ["configuration-missing", "no-client"]
    assert not clinic.home.exists()


async def test_one_missing_program_is_one_finding_for_all_its_servers(clinic: Clinic) -> None:
    clinic.write({f"s{number}": {"command": "absent"} for number in range(5)})
    (finding,) = [one for one in await clinic.findings() if one.code == "program-missing"]
    assert len(finding.servers) == 5
    assert "needed by dev/s0, dev/s1, dev/s2 and 2 more." in finding.message


async def test_python_is_recommended_under_the_name_that_is_there(clinic: Clinic) -> None:
    clinic.program("python3", "echo Python 3.12.1")
    clinic.write({"mine": {"command": "python", "args": ["server.py"]}})
    (finding,) = [one for one in await clinic.findings() if one.code == "program-missing"]
    assert finding.remedy == 'Write "command": "python3", which is there.'


async def test_a_tilde_is_replaced_by_no_shell(clinic: Clinic) -> None:
    clinic.write({"mine": {"command": "~/bin/server"}})
    (finding,) = [one for one in await clinic.findings() if one.code == "program-missing"]
    assert finding.remedy == "No shell replaces the ~. Write ${HOME} in its place."


async def test_files_with_secrets_beside_the_configuration_are_looked_at_too(clinic: Clinic) -> None:
    variables, tokens = clinic.config.with_name(".env"), clinic.config.with_name("tokens.json")
    for path in (variables, tokens):
        path.write_text("", encoding="utf-8")
        path.chmod(0o644)
    clinic.write({"files": {**PINNED, "envFile": ".env"}})
    readable = [one.file for one in await clinic.findings() if one.code == "file-readable-by-others"]
    assert readable == [str(variables), str(tokens)]
    variables.chmod(0o602)
    writable = [one for one in await clinic.findings() if one.code == "file-writable-by-others"]
    assert [(one.file, one.command) for one in writable] == [(str(variables), f"chmod o-w {variables}")]


async def test_a_directory_that_others_can_write_to_is_a_problem(clinic: Clinic) -> None:
    clinic.config.parent.chmod(0o777)
    (finding,) = [one for one in await clinic.findings() if one.severity == "problem"]
    assert finding.code == "file-writable-by-others"
    assert finding.command in (f"chmod {who}-w {clinic.config.parent}" for who in ("go", "o"))


async def test_no_program_of_a_server_is_run_and_none_by_its_path(clinic: Clinic) -> None:
    ran = clinic.home / "ran"
    own = clinic.program("own-server", f"echo >{ran}")
    (clinic.bin / "deep").mkdir()
    launcher = clinic.program("deep/node", f"echo >{ran}")
    clinic.write(
        {"own": {"command": "own-server"}, "a": {"command": str(own)}, "b": {"command": str(launcher)}}
    )
    await clinic.findings()
    assert not ran.exists()


async def test_a_program_that_hangs_leaves_nothing_running(clinic: Clinic) -> None:
    note = clinic.home / "pid"
    clinic.program("npx", f"/bin/sleep 60 & echo $! >{note}.new; /bin/mv {note}.new {note}; wait")
    assert HANGING in [finding.code for finding in await clinic.findings()]
    await poll(note.exists)
    pid = int(note.read_text(encoding="utf-8"))
    await poll(lambda: identify(pid) is None)


@pytest.mark.untraced
async def test_two_hundred_servers_take_less_than_a_second_of_cpu(clinic: Clinic) -> None:
    entry = {**PINNED, "env": {"GH_TOKEN": SECRET, "A": "$HOME"}, "timeout": 30000}
    clinic.write(
        {f"server-{number}": {**entry, "args": ["-y", f"package-{number}"]} for number in range(200)}
    )
    before = time.process_time()
    findings = await clinic.findings()
    assert time.process_time() - before < 1.0
    assert sum(one.code == "unpinned-package" for one in findings) == 200


async def test_a_part_of_a_password_is_not_taken_for_a_variable(clinic: Clinic) -> None:
    clinic.write({"db": {**PINNED, "env": {"DB_PASSWORD": "$UNKNOWN1", "DB_PASS": "a1$SECRETPART"}}})
    shown = repr(await clinic.findings())
    assert "UNKNOWN1" not in shown
    assert "SECRETPART" not in shown


async def test_a_shell_replaces_variables_itself(clinic: Clinic) -> None:
    clinic.write({"sh": {"command": "/bin/sh", "args": ["-c", "exec thing $HOME"]}})
    assert [one.code for one in await clinic.findings() if one.code == "shell-reference"] == []


async def test_disabled_servers_are_not_looked_at(clinic: Clinic) -> None:
    wrong = {"command": "absent", "env": {"GH_TOKEN": SECRET}, "disabled": True, "timeout": 30000}
    clinic.write({"off": wrong})
    assert [one.code for one in await clinic.findings() if one.code != "file-warning"] == []
