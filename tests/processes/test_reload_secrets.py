"""Secrets and environment files of a workbench that serves: at the start, and when its file changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.storage.secrets import SecretStore
from tests.processes.reloading import IMPATIENT, Changing, versatile
from tests.support.client import RawClient, clean_environment, write_config
from tests.support.configs import toolboxes
from tests.support.keyrings import use_no_keyring
from tests.support.sessions import session_of
from tests.support.waiting import PATIENCE, poll

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tests.support.client import Json

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_keyring_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_keyring(monkeypatch)


def store_in(home: Path) -> SecretStore:
    return SecretStore({"XDG_DATA_HOME": str(home / ".local/share")})


def workbench(home: Path, config: Json, keyring: str) -> AbstractAsyncContextManager[RawClient]:
    environment = clean_environment(
        home,
        {
            "PYTHON_KEYRING_BACKEND": keyring,
            "TEST_KEYRING": str(home / "ring.json"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        },
    )
    path = write_config(home, config)
    return RawClient([sys.executable, "-c", IMPATIENT, "--config", str(path)], environment)


def with_env(**entry: object) -> Json:
    return toolboxes(dev={"a": versatile(entry=dict(entry))})


async def test_a_server_gets_stored_values_and_new_ones_after_a_change(tmp_path: Path) -> None:
    store_in(tmp_path).put("TOKEN", "hunter22")
    (tmp_path / "app.env").write_text("STAGE=live\n")
    config = with_env(env={"A": "${keyring:TOKEN}"}, envFile="app.env")
    async with workbench(tmp_path, config, "keyring.backends.null.Keyring") as client:
        session = session_of("modern", client)
        await session.greet()
        it = Changing(session, tmp_path / "workbench-config.json")
        known = (await it.tell("dev", "a"))["env"]
        assert (known["A"], known["STAGE"]) == ("hunter22", "live")
        store_in(tmp_path).put("TOKEN", "hunter33")
        (tmp_path / "app.env").write_text("STAGE=test\n")
        await it.change({**config, "openDeadline": 5})
        known = (await it.tell("dev", "a"))["env"]
        assert (known["A"], known["STAGE"]) == ("hunter33", "test")
        assert "hunter" not in client.stderr


async def test_while_a_keyring_does_not_answer_calls_go_on_and_the_end_is_clean(tmp_path: Path) -> None:
    store_in(tmp_path).put("TOKEN", "hunter22")
    file = tmp_path / ".local/share/mcp-workbench/secrets.json"
    file.write_text(json.dumps({"format": 1, "secrets": {"TOKEN": {"kept": "keyring"}}}))
    config = with_env()
    async with workbench(tmp_path, config, "tests.servers.keyrings.backends.Silent") as client:
        session = session_of("modern", client)
        await session.greet()
        it = Changing(session, tmp_path / "workbench-config.json")
        pid = await it.pid("dev", "a")
        it.replace(json.dumps(with_env(env={"A": "${keyring:TOKEN}"})))
        await poll((tmp_path / "ring.asked").exists)
        for _ in range(20):
            assert await it.pid("dev", "a") == pid
        assert "keyring did not answer" not in client.stderr
        await client.close()
    assert "Traceback" not in client.stderr


def test_a_start_with_a_missing_secret_says_how_to_set_it(tmp_path: Path) -> None:
    path = write_config(tmp_path, with_env(env={"A": "${keyring:TOKEN}"}))
    done = subprocess.run(
        [sys.executable, "-m", "mcp_workbench", "--config", str(path)],
        env=clean_environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no secret TOKEN\n    mcp-workbench secret set TOKEN" in done.stderr
