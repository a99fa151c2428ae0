"""Which command lines start a package, and whether its version is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_workbench.setup.diagnosis.package_area import Package, cached_version, package_of

if TYPE_CHECKING:
    from pathlib import Path


def read(line: str) -> Package | None:
    command, *args = line.split()
    return package_of({"command": command, "args": args})


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("npx -y some-server", "some-server"),
        ("npx @scope/server /data", "@scope/server"),
        ("npx --yes @scope/server@latest", "@scope/server"),
        ("npx -y server@^1.2.3", "server"),
        ("npx -y server@1", "server"),
        ("/usr/bin/npx --package=server run-it", "server"),
        ("npx -p server@next run-it", "server"),
        ("npx --registry http://x server", "server"),
        ("npm exec -- server", "server"),
        ("bunx server", "server"),
        ("pnpm dlx server", "server"),
        ("npx.cmd server", "server"),
        ("uvx mcp-server-time", "mcp-server-time"),
        ("uvx --python 3.12 mcp-server-time@latest", "mcp-server-time"),
        ("uvx -p 3.12 mcp-server-time", "mcp-server-time"),
        ("uvx --default-index https://packages.example mcp-server-time", "mcp-server-time"),
        ("uvx --from mcp-server-time>=1.0 mcp-server-time", "mcp-server-time"),
        ("uvx --with x==1 mcp-server[extra]", "mcp-server"),
        ("uv tool run mcp-server-time", "mcp-server-time"),
        ("pipx run --spec mcp-server mcp-server", "mcp-server"),
    ],
)
def test_a_package_without_a_fixed_version_is_found(line: str, name: str) -> None:
    package = read(line)
    assert package is not None
    assert (package.name, package.is_pinned) == (name, False)


@pytest.mark.parametrize(
    "line",
    [
        "npx -y server@1.2.3",
        "npx -y @scope/server@1.2.3-beta.1",
        "npx -y server@${VERSION}",
        "npx -p server@1.2.3 run-it",
        "uvx mcp-server-time==2025.1",
        "uvx mcp-server-time@0.6.2",
        "uvx --from mcp-server-time==1.0.0 thing",
        "uvx --from=mcp-server[extra]==1.0.0 thing",
        "pipx run --spec mcp-server==1.0 mcp-server",
    ],
)
def test_a_fixed_version_is_recognised(line: str) -> None:
    package = read(line)
    assert package is not None
    assert package.is_pinned


@pytest.mark.parametrize(
    "line",
    [
        "node server.js",
        "python -m server",
        "uv run server.py",
        "npx ./server",
        "npx /opt/server",
        "npx github:owner/repository",
        "uvx --from git+https://example.com/x thing",
        "uvx --from . thing",
        "npx",
        "npx -y",
        "npx -p",
        "docker run image",
    ],
)
def test_what_comes_from_elsewhere_is_no_package(line: str) -> None:
    assert read(line) is None


def test_the_version_that_npx_ran_last_is_known(tmp_path: Path) -> None:
    manifest = tmp_path / ".npm/_npx/0123/node_modules/@scope/server/package.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"name": "@scope/server", "version": "1.4.0"}', encoding="utf-8")
    package = read("npx @scope/server")
    assert package is not None
    assert cached_version(package, {"HOME": str(tmp_path)}) == "1.4.0"
    manifest.write_text('{"version": "$(rm -rf /)"}', encoding="utf-8")
    assert cached_version(package, {"HOME": str(tmp_path)}) == ""
    manifest.write_text("{", encoding="utf-8")
    assert cached_version(package, {"HOME": str(tmp_path)}) == ""


def test_the_version_that_uvx_ran_last_is_known(tmp_path: Path) -> None:
    (tmp_path / "uv/archive-v0/abc/mcp_server_time-2025.9.25.dist-info").mkdir(parents=True)
    package = read("uvx mcp-server-time")
    assert package is not None
    assert cached_version(package, {"XDG_CACHE_HOME": str(tmp_path)}) == "2025.9.25"
    assert cached_version(package, {"UV_CACHE_DIR": str(tmp_path / "none")}) == ""
