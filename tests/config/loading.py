"""Short ways to put a configuration on disk and to look at what loading it gives."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mcp_workbench.config import LoadedConfig, ServerConfig, load
from mcp_workbench.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write(directory: Path, content: object) -> Path:
    """The path of a file with these bytes, this text, or this tree as JSON."""
    path = directory / "workbench-config.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def load_content(directory: Path, content: object, environ: Mapping[str, str] | None = None) -> LoadedConfig:
    """The configuration in a file, its warnings without the lines, which `test_lines` is about."""
    path = write(directory, content)
    loaded = load(path, environ or {})
    located = re.compile(rf"{re.escape(str(path))}:\d+: ")
    return msgspec.structs.replace(
        loaded, warnings=tuple(located.sub("", warning) for warning in loaded.warnings)
    )


def problems(directory: Path, content: object, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """The problems in a file, without their lines, which `test_lines` is about."""
    with pytest.raises(ConfigError) as raised:
        load_content(directory, content, environ)
    return [msgspec.structs.replace(problem, line=None) for problem in raised.value.problems]


def toolbox(**servers: object) -> dict[str, Any]:
    return {"description": "Tools", "mcpServers": servers}


def one_server(entry: object) -> dict[str, Any]:
    """A file with one server: `toolboxes.dev.mcpServers.fs`."""
    return {"toolboxes": {"dev": toolbox(fs=entry)}}


def load_server(directory: Path, entry: object, environ: Mapping[str, str] | None = None) -> ServerConfig:
    return load_content(directory, one_server(entry), environ).config.toolboxes["dev"].servers["fs"]
