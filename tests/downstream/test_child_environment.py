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
