"""One that keeps what it is given in the file that $TEST_KEYRING names, and one that never answers."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from keyring.backend import KeyringBackend


class Kept(KeyringBackend):
    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # as keyring has it

    def get_password(self, service: str, username: str) -> str | None:
        found = _read().get(f"{service} {username}")
        return None if found is None else str(found)

    def set_password(self, service: str, username: str, password: str) -> None:
        _write(_read() | {f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        _write({name: text for name, text in _read().items() if name != f"{service} {username}"})


class Silent(Kept):
    def get_password(self, service: str, username: str) -> str | None:
        if kept := os.environ.get("TEST_KEYRING"):
            Path(kept).with_suffix(".asked").touch()
        threading.Event().wait()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        threading.Event().wait()
        super().set_password(service, username, password)


def _read() -> dict[str, str]:
    path = Path(os.environ["TEST_KEYRING"])
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _write(kept: dict[str, str]) -> None:
    Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(kept))
