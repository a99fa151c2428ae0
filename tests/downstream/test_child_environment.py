"""What a server gets to see of our environment."""

from __future__ import annotations

import pytest

from mcp_workbench.config import ServerConfig
from mcp_workbench.downstream.environment import child_environment

SAFE = {
    name: f"value of {name}"
    for name in (
        *("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_TIME", "TERM", "SHELL", "TMPDIR"),
        *("XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "HTTP_PROXY", "https_proxy", "no_proxy", "ALL_PROXY"),
        *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    )
}
UNSAFE = {
    name: f"value of {name}"
    for name in (
        *(
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "GITHUB_USER",
            "SSH_AUTH_SOCK",
            "PYTHONPATH",
            "NODE_OPTIONS",
        ),
        *("path", "MY_PATH", "PATHS", "XDG", "LC", "USERS", ""),
    )
}
OURS = {**SAFE, **UNSAFE}


def environment(**settings: object) -> dict[str, str]:
    return child_environment(ServerConfig(command="x", **settings), OURS)  # type: ignore[arg-type] # by test


def test_by_itself_it_is_what_programs_need_to_run_and_nothing_secret() -> None:
    assert environment() == SAFE
    assert environment(inherit_env=False) == SAFE


def test_the_servers_own_variables_come_on_top() -> None:
    assert environment(env={"PATH": "/own", "TOKEN": "t"}) == {**SAFE, "PATH": "/own", "TOKEN": "t"}


def test_all_of_ours_is_inherited_when_it_says_so() -> None:
    assert environment(inherit_env=True, env={"PATH": "/own"}) == {**OURS, "PATH": "/own"}


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ([], set()),
        (["GITHUB_TOKEN"], {"GITHUB_TOKEN"}),
        (["GITHUB_*", "NODE_OPTION?"], {"GITHUB_TOKEN", "GITHUB_USER", "NODE_OPTIONS"}),
        (["github_*", "NOT_SET"], set()),
        (["*"], set(UNSAFE)),
    ],
)
def test_names_and_globs_are_inherited_beyond_the_safe_ones(wanted: list[str], given: set[str]) -> None:
    expected = {**SAFE, **{name: UNSAFE[name] for name in given}}
    assert environment(inherit_env=wanted) == expected


def test_our_own_environment_is_left_as_it_is() -> None:
    before = dict(OURS)
    environment(inherit_env=True, env={"PATH": "/own"})["PATH"] = "changed"
    assert before == OURS


WITH_PASSWORD = {
    name: f"http://ann:word@{name}:3128"
    for name in (
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
        *("npm_config_proxy", "FTP_PROXY"),
    )
}
WITHOUT = {"NO_PROXY": "a@b,localhost", "PATH": "/bin"}


@pytest.mark.parametrize("value", ["http://ann:word@proxy:3128", "ann:word@proxy", "socks5://token@proxy"])
def test_a_proxy_variable_with_credentials_is_passed_on_only_if_asked_for(value: str) -> None:
    ours = {**WITHOUT, **dict.fromkeys(WITH_PASSWORD, value)}
    assert child_environment(ServerConfig(command="x"), ours) == WITHOUT
    assert child_environment(ServerConfig(command="x", inherit_env=["AWS_*"]), ours) == WITHOUT
    assert child_environment(ServerConfig(command="x", inherit_env=True), ours) == ours
    asking = ServerConfig(command="x", inherit_env=["HTTPS_PROXY", "npm_*"])
    assert child_environment(asking, ours) == {**WITHOUT, "HTTPS_PROXY": value, "npm_config_proxy": value}
    own = ServerConfig(command="x", env={"HTTP_PROXY": "http://u:own@proxy"})
    assert child_environment(own, ours) == {**WITHOUT, "HTTP_PROXY": "http://u:own@proxy"}


@pytest.mark.parametrize("value", ["http://proxy:3128", "proxy:3128", "http://proxy/a@b", ""])
def test_a_proxy_variable_without_credentials_is_passed_on(value: str) -> None:
    ours = {**WITHOUT, "HTTPS_PROXY": value, "all_proxy": value}
    assert child_environment(ServerConfig(command="x"), ours) == ours
