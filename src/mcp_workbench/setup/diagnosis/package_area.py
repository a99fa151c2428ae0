"""Looks at the packages that servers are started from: `npx`, `uvx` and the like without a fixed version.

Owns how their command lines are read, and which version is in a cache on this machine. Asks no registry.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from mcp_workbench.config.places import home_directory
from mcp_workbench.setup.diagnosis.examined import title
from mcp_workbench.setup.diagnosis.findings import Area, found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.setup.diagnosis.examined import Examined
    from mcp_workbench.setup.diagnosis.findings import Finding

Registry = Literal["npm", "PyPI"]

MAX_MANIFEST_BYTES: Final = 1024 * 1024
"""Size of the largest `package.json` that is read."""

_LAUNCHERS: Final[dict[tuple[str, ...], Registry]] = {
    ("npx",): "npm",
    ("bunx",): "npm",
    ("pnpx",): "npm",
    ("pnpm", "dlx"): "npm",
    ("yarn", "dlx"): "npm",
    ("npm", "exec"): "npm",
    ("uvx",): "PyPI",
    ("uv", "tool", "run"): "PyPI",
    ("pipx", "run"): "PyPI",
}
_PACKAGE_OPTIONS: Final = frozenset(("-p", "--package", "--from", "--spec"))
"""Options whose value is the package. After `uvx`, `-p` is the version of Python instead."""
_OPTIONS_WITH_VALUE: Final = frozenset(
    (
        *("-c", "--call", "--registry", "--cache", "--prefix", "-w", "--workspace", "--userconfig"),
        *("--with", "--with-editable", "--with-requirements", "--python", "-i"),
        *("--constraints", "--overrides"),
        *("--env-file", "--directory", "--project", "--cache-dir", "--config-file", "--refresh-package"),
        *("--exclude-newer", "--color", "--pip-args", "--torch-backend"),
    )
)
_INDEX_OPTIONS: Final = ("--index", "--extra-index", "--default-index")
"""How the options of uv begin that say where packages come from. Each has a value."""
_NOT_FROM_A_REGISTRY: Final = re.compile(r"[./~]|[A-Za-z]:\\|(?:file|link|git|github|https?|git\+\w+):")
_NPM: Final = re.compile(r"(?P<name>(?:@[\w.~-]+/)?[\w.~-]+)(?:@(?P<version>.+))?")
_PYPI: Final = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,. -]*\])?\s*(?P<version>(?:[@=<>~!]).*)?")
_EXACT_NPM: Final = re.compile(r"=?v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_EXACT_PYPI: Final = re.compile(r"(?:===?|@)\s*[\w.!+-]*\d[\w.!+-]*")


class Package(msgspec.Struct, frozen=True):
    """A package that a server is started from, as its command line names it."""

    registry: Registry
    written: str
    """The package as it is written, with its version if it has one."""
    name: str
    index: int
    """The position of the package among the arguments."""
    is_pinned: bool


def look_at_packages(examined: Examined) -> Area:
    """Return the packages without a fixed version, with the version that a cache has."""
    findings: list[Finding] = []
    pinned = 0
    for origin, entry in examined.entries.items():
        package = package_of(entry)
        if package is None:
            continue
        if package.is_pinned:
            pinned += 1
            continue
        line = examined.line(origin, "args", package.index)
        version = cached_version(package, examined.environ)
        message = f"{title(origin)} runs whatever version of {package.name} is the newest when it starts."
        if version:
            join = "@" if package.registry == "npm" else "=="
            remedy = f'Write "{package.name}{join}{version}", the version that was run here last.'
            command = examined.edit(line)
        else:
            remedy = "Write the version after the name. To see which is the newest:"
            command = _ask(package)
        findings.append(
            found(
                "unpinned-package",
                message,
                servers=(title(origin),),
                file=examined.path,
                line=line,
                remedy=remedy,
                command=command,
            )
        )
    return Area("packages", f"{pinned} with a version, {len(findings)} without", tuple(findings))


def package_of(entry: Mapping[str, object]) -> Package | None:
    """Return the package that an entry starts by a launcher such as `npx`; None for another program."""
    args = entry.get("args")
    given = [word if isinstance(word, str) else "" for word in (args if isinstance(args, list) else [])]
    program = re.split(r"[/\\]", str(entry.get("command", "")))[-1].lower()
    words = [re.sub(r"\.(?:exe|cmd)$", "", program), *given]
    for launcher, registry in _LAUNCHERS.items():
        if tuple(words[: len(launcher)]) == launcher:
            return _read_package(given, len(launcher) - 1, registry)
    return None


def _read_package(args: Sequence[str], start: int, registry: Registry) -> Package | None:
    index = start
    while index < len(args):
        word = args[index]
        option, equals, value = word.partition("=")
        is_package = option in _PACKAGE_OPTIONS and (registry, option) != ("PyPI", "-p")
        if is_package and equals:
            return _package(value, index, registry)
        if is_package:
            return _package(args[index + 1], index + 1, registry) if index + 1 < len(args) else None
        if not word.startswith("-"):
            return _package(word, index, registry)
        takes_value = (
            option in _OPTIONS_WITH_VALUE
            or option.startswith(_INDEX_OPTIONS)
            or (registry, option) == ("PyPI", "-p")
        )
        index += 2 if takes_value and not equals else 1
    return None


def _package(written: str, index: int, registry: Registry) -> Package | None:
    if not written or _NOT_FROM_A_REGISTRY.match(written):
        return None
    read = (_NPM if registry == "npm" else _PYPI).fullmatch(written)
    if read is None:
        return None
    version = read["version"] or ""
    exact = _EXACT_NPM if registry == "npm" else _EXACT_PYPI
    # The value of a reference is not known here.
    is_pinned = "${" in version or exact.fullmatch(version) is not None
    return Package(registry, written, read["name"], index, is_pinned)


def cached_version(package: Package, environ: Mapping[str, str]) -> str:
    """Return the version of a package that was last run on this machine; empty if that is not known."""
    found_versions = _npx_versions if package.registry == "npm" else _uvx_versions
    try:
        versions = found_versions(package.name, environ)
    except (OSError, ValueError):
        return ""
    return max(versions)[1] if versions else ""


def _npx_versions(name: str, environ: Mapping[str, str]) -> list[tuple[float, str]]:
    """Return the versions of a package in the cache of npx, each with the time when it was installed."""
    cache = environ.get("npm_config_cache") or os.path.join(home_directory(environ), ".npm")
    pattern = os.path.join(glob.escape(cache), "_npx", "*", "node_modules", glob.escape(name), "package.json")
    versions = []
    for path in glob.glob(pattern):
        with open(path, "rb") as file:
            manifest = msgspec.json.decode(file.read(MAX_MANIFEST_BYTES))
        version = manifest.get("version") if isinstance(manifest, dict) else None
        if isinstance(version, str) and _EXACT_NPM.fullmatch(version):
            versions.append((os.stat(path).st_mtime, version))
    return versions


def _uvx_versions(name: str, environ: Mapping[str, str]) -> list[tuple[float, str]]:
    """Return the versions of a package among the archives of uv, each with the time of its unpacking."""
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(home_directory(environ), ".cache")
    cache = environ.get("UV_CACHE_DIR") or os.path.join(caches, "uv")
    normal = re.sub(r"[-_.]+", "_", name).lower()
    pattern = os.path.join(glob.escape(cache), "archive-v*", "*", f"{glob.escape(normal)}-*.dist-info")
    versions = []
    for path in glob.glob(pattern):
        version = os.path.basename(path)[len(normal) + 1 : -len(".dist-info")]
        if _EXACT_PYPI.fullmatch(f"=={version}"):
            versions.append((os.stat(path).st_mtime, version))
    return versions


def _ask(package: Package) -> str:
    """Return the command that asks the registry for the newest version."""
    name = shlex.quote(package.name)
    if package.registry == "npm":
        return f"npm view {name} version"
    return f"echo {name} | uv pip compile --quiet --no-deps -"
