"""Which program a server is: without the values of its options, and told apart from others."""

from __future__ import annotations

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.workbench.trust.programs import server_program


def program(*words: str) -> str:
    command, *arguments = words
    return server_program(ServerConfig(command=command, args=arguments), None)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-p", "Xq9-short"], "-p <value>"),
        (["-u", "bob:hunter22"], "-u <value>"),
        (["--user", "bob:hunter22"], "--user <value>"),
        (["--connection-string", "Server=x;Password=MyPass!word1;"], "--connection-string <value>"),
        (["--dsn", "Server=x;Password=MyPass!word1;", "--quiet"], "--dsn <value> --quiet"),
        (["--header", "X-Api-Key: q8Zk2LmP0a"], "--header <value>"),
        (["--name=value", "files"], "--name files"),
        (["-e", "MODE=fast"], "-e <value>"),
        (["MODE=fast"], "MODE=<value>"),
        (["--root", "${ROOT}/x", "--port", "80"], "--root ${ROOT}/x --port <value>"),
    ],
)
@pytest.mark.parametrize(
    "start",
    ["fs-server", "npx -y package", "/opt/venv/bin/python3.11 server.py", "uv run --with x python -m server"],
)
def test_no_value_of_an_option_is_in_it(start: str, options: list[str], expected: str) -> None:
    assert program(*start.split(), *options) == f"{start} {expected}"


@pytest.mark.parametrize(
    "words",
    [
        "npx -y package /srv/files /srv/more",
        "npx --yes --package some-package run-it",
        "npx.cmd -y package",
        "cmd /c npx -y package",
        "uvx --from some-package mcp-server",
        "uv --directory /srv/project run server.py",
        "uv run --directory /srv/project python -m module serve",
        "python -u -m module serve",
        "python3 -u /srv/server.py data.json",
        "node --import tsx /srv/server.ts",
        "java -cp a.jar -jar server.jar",
        "docker run -i --rm --name files -v /srv:/srv some/image npx -y package",
        "fs-server serve /srv",
        "node --trace",
    ],
)
def test_the_program_and_what_tells_it_from_others_stay(words: str) -> None:
    assert program(*words.split()) == words


def test_a_script_of_a_shell_is_the_program() -> None:
    assert program("sh", "-c", "exec server") == 'sh -c "exec server"'
    assert (
        program("sh", "-c", "MODE=fast exec server", "-p", "x")
        == 'sh -c "MODE=<value> exec server" -p <value>'
    )


def test_values_that_a_launcher_hands_on_are_left_out() -> None:
    words = ["docker", "run", "-e", "MODE=fast", "-e", "TOKEN", "image", "--password", "short"]
    assert program(*words) == "docker run -e MODE=<value> -e TOKEN image --password <value>"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("npx -y package@1.2.3", "npx -y package"),
        ("npx -y @scope/package@latest /srv", "npx -y @scope/package /srv"),
        ("npx -y @scope/package", "npx -y @scope/package"),
        ("npx --package @scope/package@2 run-it", "npx --package @scope/package run-it"),
        ("npx -p package@2 run-it", "npx -p package run-it"),
        ("uvx -p python@3.12 server", "uvx -p python@3.12 server"),
        ("cmd /c npx -y package@1", "cmd /c npx -y package"),
        ("uvx package==2026.10.19 --quiet", "uvx package --quiet"),
        ("uvx package@latest", "uvx package"),
        ("uvx --from package[extra]>=1.2 server", "uvx --from package[extra] server"),
        ("uvx --from git+https://host/x/y@v1 server", "uvx --from git+https://host/x/y server"),
        ("uvx --from git+ssh://git@host/x/y server", "uvx --from git+ssh://git@host/x/y server"),
        ("uv run --with package==1 python -m server", "uv run --with package python -m server"),
        ("pipx run --spec package==1 server", "pipx run --spec package server"),
        ("go run host/x/y@v1.2.3", "go run host/x/y"),
        ("deno run npm:package@1", "deno run npm:package"),
        (
            "docker run -v /srv:/srv host:5000/image:1.2 serve",
            "docker run -v /srv:/srv host:5000/image serve",
        ),
        ("docker run -i image@sha256:0123abcd", "docker run -i image"),
        ("docker run --rm image:1 npx -y package@1", "docker run --rm image npx -y package"),
        ("python server@2.py", "python server@2.py"),
        ("fs-server user@host", "fs-server user@host"),
        ("npx -y package@1 user@host", "npx -y package user@host"),
        ("npx -y package@${VERSION}", "npx -y package@${VERSION}"),
    ],
)
def test_the_version_of_a_package_does_not_count(words: str, expected: str) -> None:
    assert program(*words.split()) == expected
