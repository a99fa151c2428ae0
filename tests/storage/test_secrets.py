"""Secrets are kept where their owner alone can read them, and no keyring is waited for without end."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_workbench.errors import StoreError
from mcp_workbench.storage.private_files import try_lock
from mcp_workbench.storage.secret_lookup import secret_lookup
from mcp_workbench.storage.secrets import MAX_VALUE_BYTES, SecretStore
from tests.servers.keyrings.backends import Kept, Silent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file behind a keyring that works."""
    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "ring.json"))
    monkeypatch.setattr("keyring.core._keyring_backend", Kept())
    return tmp_path / "ring.json"


def store_in(home: Path, limit: float = 10.0) -> SecretStore:
    return SecretStore({"XDG_DATA_HOME": str(home)}, limit=limit)


def content(home: Path) -> object:
    return json.loads((home / "mcp-workbench" / "secrets.json").read_text())


def use_silent_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyring.core._keyring_backend", Silent())


def test_without_a_keyring_a_value_is_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert store.put("TOKEN", "hunter2") == "file"
    assert store.keyring_error == "there is no usable keyring on this system"
    assert store_in(tmp_path).get("TOKEN") == "hunter2"
    assert store.places() == {"TOKEN": "file"}
    path = tmp_path / "mcp-workbench" / "secrets.json"
    assert str(path) == store.path
    assert [stat.S_IMODE(where.stat().st_mode) for where in (path, path.parent)] == [0o600, 0o700]


def test_with_a_keyring_the_file_says_only_where_a_value_is(tmp_path: Path, ring: Path) -> None:
    store = store_in(tmp_path)
    assert store.put("TOKEN", "hunter2") == "keyring"
    assert store.keyring_error == ""
    assert store_in(tmp_path).get("TOKEN") == "hunter2"
    assert content(tmp_path) == {"format": 1, "secrets": {"TOKEN": {"kept": "keyring"}}}
    assert json.loads(ring.read_text()) == {"mcp-workbench secret TOKEN": "hunter2"}


def test_a_value_that_moves_to_the_keyring_leaves_nothing_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "ring.json"))
    monkeypatch.setattr("keyring.core._keyring_backend", Kept())
    assert store.put("TOKEN", "hunter3") == "keyring"
    assert content(tmp_path) == {"format": 1, "secrets": {"TOKEN": {"kept": "keyring"}}}
    assert store.get("TOKEN") == "hunter3"


def test_a_removed_secret_is_gone_from_the_keyring_and_from_the_file(tmp_path: Path, ring: Path) -> None:
    store = store_in(tmp_path)
    store.put("ONE", "1111")
    store.put("TWO", "2222")
    assert [store.remove("ONE"), store.remove("ONE")] == [True, False]
    assert [store.get("ONE"), store.get("TWO")] == [None, "2222"]
    assert store.places() == {"TWO": "keyring"}
    assert json.loads(ring.read_text()) == {"mcp-workbench secret TWO": "2222"}


def test_a_value_that_was_deleted_in_the_keyring_is_missing_and_can_be_removed(
    tmp_path: Path, ring: Path
) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    ring.write_text("{}")
    assert store.get("TOKEN") is None
    assert store.remove("TOKEN")


def test_a_keyring_that_does_not_answer_is_given_up_and_the_file_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_silent_keyring(monkeypatch)
    store = store_in(tmp_path, limit=0.05)
    assert store.put("TOKEN", "hunter2") == "file"
    assert store.keyring_error == "the system's keyring did not answer within 0.05 s: is it locked?"
    assert store.get("TOKEN") == "hunter2"
    assert store.remove("TOKEN")


def test_many_values_wait_once_for_a_keyring_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_silent_keyring(monkeypatch)
    store = store_in(tmp_path, limit=0.5)
    started = time.monotonic()
    assert {store.put(f"TOKEN_{number}", "hunter2") for number in range(20)} == {"file"}
    assert time.monotonic() - started < 5
    assert store.keyring_error == "the system's keyring did not answer within 0.5 s: is it locked?"


def test_a_value_that_must_be_new_replaces_no_other(tmp_path: Path, ring: Path) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2", may_replace=False)
    store.put("TOKEN", "hunter2", may_replace=False)
    with pytest.raises(StoreError, match=r"^another secret TOKEN was stored meanwhile"):
        store.put("TOKEN", "hunter3", may_replace=False)
    assert store.get("TOKEN") == "hunter2"
    ring.write_text("{}")
    store.put("TOKEN", "hunter3", may_replace=False)
    assert store.get("TOKEN") == "hunter3"


def test_a_value_that_a_keyring_quotes_is_not_told(tmp_path: Path, ring: Path) -> None:
    ring.mkdir()  # so that its path is in the keyring's error, and stands for the value
    store = store_in(tmp_path)
    store.put("TOKEN", str(ring))
    assert store.keyring_error.startswith("the system's keyring failed: ")
    assert str(ring) not in store.keyring_error


def test_a_secret_in_a_keyring_that_does_not_answer_is_an_error_and_stays(
    tmp_path: Path, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_in(tmp_path).put("TOKEN", "hunter2")
    use_silent_keyring(monkeypatch)
    store = store_in(tmp_path, limit=0.05)
    for work in (store.get, store.remove):
        with pytest.raises(StoreError, match=r"did not answer within 0\.05 s: is it locked\?$"):
            work("TOKEN")
    assert store.places() == {"TOKEN": "keyring"}
    assert "hunter2" in ring.read_text()


def test_what_a_keyring_fails_with_is_told(tmp_path: Path, ring: Path) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    ring.write_text("no JSON")
    with pytest.raises(StoreError, match=r"^the system's keyring failed: Expecting value"):
        store.get("TOKEN")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format":2,"secrets":{}}', b"\xff\xfe", b"\0" * 100])
def test_a_damaged_file_is_an_error_that_says_what_to_do_and_is_not_overwritten(
    tmp_path: Path, damage: bytes
) -> None:
    store = store_in(tmp_path)
    store.put("OLD", "hunter2")
    path = tmp_path / "mcp-workbench" / "secrets.json"
    path.write_bytes(damage)
    for work in (lambda: store.put("NEW", "x"), lambda: store.get("OLD"), store.places):
        with pytest.raises(StoreError) as raised:
            work()
        assert str(raised.value) == (
            f"{path} is damaged, or of a later version: move it away, and set the secrets again"
        )
    assert path.read_bytes() == damage


def test_a_file_that_others_can_write_to_is_not_trusted(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    (tmp_path / "mcp-workbench" / "secrets.json").chmod(0o666)
    with pytest.raises(StoreError, match="other users can write to"):
        store.get("TOKEN")


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    path = tmp_path / "mcp-workbench" / "secrets.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot be read"):
        store.get("TOKEN")
    with pytest.raises(StoreError, match="cannot be read"):
        store.put("TOKEN", "hunter3")
    assert "hunter2" in (tmp_path / "elsewhere").read_text()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mcp-workbench").write_text("in the way")
    with pytest.raises(StoreError, match=r"secrets\.json\.lock cannot be written: Not a directory"):
        store_in(tmp_path).put("TOKEN", "hunter2")


@pytest.mark.parametrize("name", ["", "1A", "a b", "a/b", "-a", "a\n", "ä", "${A}"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=r"^a name is made of"):
        store_in(tmp_path).put(name, "hunter2")


def test_a_value_of_the_greatest_length_is_stored_and_a_longer_one_refused(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    longest = "ä" * (MAX_VALUE_BYTES // 2)
    store.put("TOKEN", longest)
    assert store.get("TOKEN") == longest
    with pytest.raises(StoreError, match="longer than 65,536 bytes"):
        store.put("TOKEN", f"{longest}x")


WRITER = """
import sys
from mcp_workbench.storage.secrets import SecretStore
store = SecretStore({"XDG_DATA_HOME": sys.argv[1]})
for number in range(10):
    store.put(f"{sys.argv[2]}_{number}", "value")
"""


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("A", "B")]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    names = {f"{name}_{number}" for name in ("A", "B") for number in range(10)}
    assert set(store_in(tmp_path).places()) == names


def test_a_lock_that_another_process_holds_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_workbench.storage.secrets.LOCK_TIMEOUT_SECONDS", 0.05)
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    descriptor = os.open(f"{store.path}.lock", os.O_RDWR)
    assert try_lock(descriptor)
    with pytest.raises(StoreError, match=r"another process has held .*\.lock for 0\.05 s"):
        store.put("TOKEN", "hunter3")
    os.close(descriptor)
    assert store.get("TOKEN") == "hunter2"


def test_drafts_of_killed_processes_are_cleaned_up(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.put("TOKEN", "hunter2")
    draft = tmp_path / "mcp-workbench" / "secrets.json.0123456789ab.draft"
    draft.write_text("half")
    store.put("TOKEN", "hunter3")
    assert not draft.exists()


def test_a_lookup_touches_nothing_before_it_is_used_and_asks_once(tmp_path: Path, ring: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    lookup = secret_lookup(environ)
    assert not (tmp_path / "mcp-workbench").exists()
    store_in(tmp_path).put("TOKEN", "hunter2")
    assert [lookup("TOKEN"), lookup("ABSENT")] == ["hunter2", None]
    ring.write_text("{}")
    assert lookup("TOKEN") == "hunter2"
    assert secret_lookup(environ)("TOKEN") is None


def test_a_lookup_waits_once_for_a_keyring_that_does_not_answer(
    tmp_path: Path, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    for number in range(20):
        store.put(f"T{number}", "hunter2")
    use_silent_keyring(monkeypatch)
    store_in(tmp_path, limit=0.01).put("IN_FILE", "hunter3")
    lookup = secret_lookup({"XDG_DATA_HOME": str(tmp_path)}, limit=0.2)
    begun = time.monotonic()
    for number in range(20):
        with pytest.raises(StoreError, match="did not answer"):
            lookup(f"T{number}")
    assert time.monotonic() - begun < 1.0
    assert lookup("IN_FILE") == "hunter3"
