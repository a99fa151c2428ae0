"""How uvicorn runs what is compared with the workbench: as it runs the workbench."""

from __future__ import annotations

from typing import Any, Final

SETTINGS: Final[dict[str, Any]] = {
    "loop": "uvloop",
    "http": "httptools",
    "ws": "none",
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "date_header": False,
    "proxy_headers": False,
}
