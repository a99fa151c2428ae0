"""A login is kept where its owner alone can read it, and what is wrong there is told."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import msgspec
import pytest

from mcp_workbench.downstream.oauth import login_store
from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.errors import StoreError
from mcp_workbench.storage.login_record import Login
from tests.downstream.oauth.logins import AS_IN_SERVICE, ORIGIN
from tests.servers.keyrings.backends import Kept, Silent

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = AS_IN_SERVICE

URL = "https://wiki.example.com/mcp"
LOGIN = Login(
    issuer="https://auth.example.com",
    token_endpoint="https://auth.example.com/token",  # noqa: S106 - an address
    resource=URL,
    client_id="me",
    redirect_uri="http://localhost:1/callback",
    access_token="access",  # noqa: S106 - not a real token
    refresh_token="refresh",  # noqa: S106 - not a real token
    obtained_at=0.0,
    expires_at=3600.0,
)


def logins(home: Path, origin: tuple[str, str] = ORIGIN, url: str = URL) -> LoginStore:
    return LoginStore({"XDG_DATA_HOME": str(home)}, origin, url)


async def save(kept: LoginStore, login: Login = LOGIN, limit: float = 10.0) -> str:
    async with kept.locked():
        return await kept.save(login, limit=limit)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_what_is_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    assert await logins(tmp_path).load() is None
    assert await save(logins(tmp_path)) == "file"
    assert await logins(tmp_path).load() == LOGIN


async def test_a_login_is_for_one_server_of_one_toolbox_at_one_address(tmp_path: Path) -> None:
    await save(logins(tmp_path))
    others = [
        logins(tmp_path, ("team", "other")),
        logins(tmp_path, ("other", "wiki")),
        logins(tmp_path, ORIGIN, f"{URL}/"),
        logins(tmp_path, ("team/wiki", "")),
    ]
    assert [await other.load() for other in others] == [None] * 4


async def test_every_change_is_seen_by_its_stamp(tmp_path: Path) -> None:
    kept = logins(tmp_path)
    stamps = [kept.stamp()]
    for token in ("one", "two"):
        await save(kept, msgspec.structs.replace(LOGIN, access_token=token))
        stamps.append(kept.stamp())
    async with kept.locked():
        assert await kept.forget()
    assert (stamps[0], kept.stamp(), len(set(stamps))) == (None, None, 3)


async def test_no_other_user_can_read_it(tmp_path: Path) -> None:
    kept = logins(tmp_path)
    await save(kept)
    directory = tmp_path / "mcp-workbench" / "logins"
    assert mode(directory) == 0o700
    assert {mode(path) for path in directory.iterdir()} == {0o600}


async def test_permissions_that_are_too_wide_are_put_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = logins(tmp_path)
    await save(kept)
    directory = tmp_path / "mcp-workbench" / "logins"
    (file,) = directory.glob("*.json")
    directory.chmod(0o755)
    file.chmod(0o644)
    assert await kept.load() == LOGIN
    assert mode(file) == 0o600
    assert "could be read by other users, and now cannot" in caplog.text
    await save(kept)
    assert mode(directory) == 0o700


async def test_a_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    kept = logins(tmp_path)
    await save(kept)
    (file,) = (tmp_path / "mcp-workbench" / "logins").glob("*.json")
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(StoreError, match="cannot be read"):
        await kept.load()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"kept":"file"}', b"\xff", b'{"server":"a","url":"b","kept":"x"}']
)
async def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    kept = logins(tmp_path)
    await save(kept)
    (file,) = (tmp_path / "mcp-workbench" / "logins").glob("*.json")
    file.write_bytes(content)
    with pytest.raises(StoreError, match="leads to no login that this version can read"):
        await kept.load()
    assert file.read_bytes() == content
    await save(kept)
    assert await kept.load() == LOGIN


async def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "mcp-workbench").write_text("a file where the directory should be")
    with pytest.raises(StoreError, match="cannot be written"):
        await save(logins(tmp_path))


async def test_a_draft_that_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    kept = logins(tmp_path)
    await save(kept)
    (file,) = (tmp_path / "mcp-workbench" / "logins").glob("*.json")
    file.with_suffix(".json.draft").write_text("half a login")
    await save(kept)
    assert (await kept.load(), sorted((tmp_path / "mcp-workbench" / "logins").glob("*.draft"))) == (LOGIN, [])


async def test_with_a_keyring_it_is_in_there_and_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "keyring.json"))
    in_a_file = logins(tmp_path, ("team", "other"))
    await save(in_a_file)
    monkeypatch.setattr("keyring.core._keyring_backend", Kept())
    assert await save(logins(tmp_path)) == "keyring"
    assert await logins(tmp_path).load() == LOGIN
    assert await save(in_a_file) == "file"


async def test_a_keyring_that_never_answers_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keyring.core._keyring_backend", Silent())
    assert await save(logins(tmp_path), limit=0.1) == "file"
    assert await logins(tmp_path).load() == LOGIN


async def test_a_login_in_a_keyring_that_does_not_answer_any_more_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "keyring.json"))
    monkeypatch.setattr("keyring.core._keyring_backend", Kept())
    assert await save(logins(tmp_path)) == "keyring"
    monkeypatch.setattr("keyring.core._keyring_backend", Silent())
    monkeypatch.setattr(login_store, "KEYRING_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(StoreError, match=r"keyring did not answer within 0\.1 s: is it locked"):
        await logins(tmp_path).load()


async def test_a_login_does_not_show_its_tokens() -> None:
    assert repr(LOGIN) == "Login(issuer='https://auth.example.com')"
