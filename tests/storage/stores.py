"""Everything that the workbench keeps on disk, used as it is in service, below one directory."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from mcp_workbench.downstream.oauth.login_store import LoginStore
from mcp_workbench.errors import StoreError
from mcp_workbench.storage.catalogue import UNUSED_SECONDS, Catalogue, Record
from mcp_workbench.storage.kept_files import KeptFiles
from mcp_workbench.storage.login_record import Login
from mcp_workbench.storage.protocol_versions import VersionMemory, Versions
from mcp_workbench.storage.trust.approval_files import ApprovalFiles, PendingApproval
from mcp_workbench.storage.trust.pin_records import HeldServer, HeldTool, PinPlace, ServerPin, ToolPin
from mcp_workbench.storage.trust.pins import PinStore
from mcp_workbench.storage.vectors import VectorMemory, key_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROOT: Final = "mcp-workbench"
DIRECTORIES: Final = {
    "protocol versions": "eras",
    "catalogue": "catalogue",
    "vectors": "vectors",
    "kept results": "results",
    "logins": "logins",
    "pins": "pins",
    "approved texts": "texts",
    "held tools": "held",
    "approvals": "approvals",
}
"""The stores, and the directory of each."""

LOGIN: Final = Login(
    issuer="https://auth.example.com",
    token_endpoint="https://auth.example.com/token",  # noqa: S106 - an address
    resource="https://wiki.example.com/mcp",
    client_id="me",
    redirect_uri="http://localhost:1/callback",
    access_token="access",  # noqa: S106 - not a real token
    obtained_at=0.0,
)
LEGACY: Final = Versions(legacy=True)
PLACE: Final = PinPlace("/home/me/workbench-config.json", "dev", "fs")
TEXT: Final = msgspec.Raw(b'{"name":"read"}')
PIN: Final = ServerPin(
    identity="i", program="p", tools={"read": ToolPin(digest="old", since=1.0, by="first")}
)
HELD: Final = HeldServer(
    place=PLACE,
    level="scan",
    identity="i",
    program="p",
    tools={"read": HeldTool(reasons=("changed",), definition=TEXT, digest="new", since=1.0)},
)
CALL: Final = PendingApproval(
    id="",
    asked_at=1.0,
    config=PLACE.config,
    principal="",
    client="agent",
    method="tools/call",
    toolbox="dev",
    server="fs",
    name="read",
    rule="",
    lines=[],
)
RECORD: Final = Record((msgspec.Raw(b'{"name":"a"}'),), msgspec.Raw(b""), "legacy", 1.0)


def use_versions(home: Path) -> None:
    memory = VersionMemory(home / ROOT)
    memory.recall("server")
    memory.forget("server")
    memory.remember("server", LEGACY)


def use_catalogue(home: Path) -> None:
    memory = Catalogue(home / ROOT)
    memory.recall("server")
    memory.keep("server", RECORD)


def use_vectors(home: Path) -> None:
    VectorMemory(home / ROOT).remember("model-1", 4, {key_of("one"): b"1111"})


def use_results(home: Path) -> None:
    files = KeptFiles(home / ROOT)
    with suppress(OSError):
        files.write("1", b"content")
        files.read("1")
        files.write("2", b"content")
    files.remove("1")
    files.close()


def use_logins(home: Path) -> None:
    async def use() -> None:
        kept = LoginStore({"XDG_DATA_HOME": str(home)}, ("team", "wiki"), LOGIN.resource)
        with suppress(StoreError):
            await kept.load()
        with suppress(StoreError):
            async with kept.locked():
                await kept.forget()
                await kept.save(LOGIN)

    asyncio.run(use())


def use_pins(home: Path) -> None:
    """Pins, approved texts and held tools: each is written and removed, and in the end all are there."""
    store = PinStore(home / ROOT)
    store.change(PLACE, lambda record: record, {})
    store.change(PLACE, lambda record: msgspec.structs.replace(record, pin=PIN), {"old": TEXT})
    store.read(PLACE)
    store.texts(PLACE)
    store.keep_held(PLACE, HELD)
    with suppress(OSError):
        store.approve(HELD, ["read"])
    store.keep_held(PLACE, HELD)
    store.keep_held(PLACE)
    store.keep_held(PLACE, HELD)
    with suppress(OSError):
        store.reject(HELD, ["read"])
    store.held.servers()


def use_approvals(home: Path) -> None:
    files = ApprovalFiles({"XDG_DATA_HOME": str(home), "XDG_CACHE_HOME": str(home)})
    for allow in (True, False):
        with suppress(OSError):
            call = msgspec.structs.replace(CALL, id=files.id_of(b"call", b"%d" % allow))
            files.ask(call)
            files.has_terminal()
            files.answer(call, allow=allow)
            files.state(call.id)


USES: Final[dict[str, Callable[[Path], None]]] = {
    "protocol versions": use_versions,
    "catalogue": use_catalogue,
    "vectors": use_vectors,
    "kept results": use_results,
    "logins": use_logins,
    "pins": use_pins,
    "approved texts": use_pins,
    "held tools": use_pins,
    "approvals": use_approvals,
}


def use_all(home: Path) -> None:
    for use in USES.values():
        use(home)


def make_victim(directory: Path) -> Path:
    """A directory of the user's own, with all the names that cleaning up could take for ours."""
    for name in ("photos", "1234-0123456789abcdef", "99-00112233445566ff"):
        (directory / name).mkdir(parents=True)
        (directory / name / "1").write_text("a file of the user's", "ascii")
    (directory / "99-00112233445566ff" / "lock").touch()
    (directory / "5-0000000000000000").mkdir()
    for name in (
        "0" * 32,
        f"{'0' * 32}.json",
        "1",
        "model-1",
        "lock",
        "thesis.txt",
        f"{'1' * 32}.json.draft",
    ):
        (directory / name).write_text("a file of the user's", "ascii")
        age(directory / name)
    return directory


def age(path: Path) -> None:
    """Makes a file so old that a cache would drop it."""
    then = path.stat().st_mtime - 2 * UNUSED_SECONDS
    os.utime(path, (then, then))


def snapshot(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every path below a directory, with its mode, its inode and its content."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_ino, content)
    return found
