"""Lines of the audit, as tests write and read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_workbench.storage.audit.audit_entry import AuditEntry, encode_entries

if TYPE_CHECKING:
    from pathlib import Path


def entry(number: int, time: str = "2026-07-28T09:30:00.000+02:00", **members: Any) -> AuditEntry:
    given: dict[str, Any] = {"method": "tools/call", "toolbox": "dev", "server": "git", "name": "status"}
    given |= {"outcome": "answered", "seconds": 0.012, "response_bytes": 1400, "client": "cursor"}
    return AuditEntry(time, "run", 1, number, **(given | members))


def line(number: int, **members: Any) -> bytes:
    return encode_entries([entry(number, **members)])


def directory(home: Path) -> Path:
    return home / "mcp-workbench" / "audit"


def read(home: Path) -> list[dict[str, Any]]:
    """All lines in the order of the files. Each has to be whole."""
    files = sorted(directory(home).iterdir()) if directory(home).exists() else []
    return [json.loads(written) for file in files for written in file.read_bytes().splitlines()]
