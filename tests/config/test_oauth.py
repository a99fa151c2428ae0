"""The `oauth` object of a remote server: what it takes, and what it says to what cannot be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config import OAuthConfig
from tests.config.loading import load_content, load_server, one_server, problems

if TYPE_CHECKING:
    from pathlib import Path

OAUTH = "toolboxes.dev.mcpServers.fs.oauth"
MACHINE = {"grant": "client_credentials", "clientId": "ci", "issuer": "https://auth.example.com"}


def remote(**oauth: object) -> dict[str, Any]:
    return {"url": "https://mcp.example.com/mcp", "oauth": oauth}


def complaints(directory: Path, entry: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.where, problem.what) for problem in problems(directory, one_server(entry))]


def test_what_the_object_says_is_what_the_server_has(tmp_path: Path) -> None:
    environ = {"S": "hidden"}
    entry = remote(clientId="me", clientSecret="${S}", issuer="https://a", scopes=["x", "y"], callbackPort=80)
    assert load_server(tmp_path, entry, environ).oauth == OAuthConfig(
        client_id="me", client_secret=environ["S"], issuer="https://a", scopes=["x", "y"], callback_port=80
    )


@pytest.mark.parametrize(("scopes", "scope"), [("a b", "a b"), (["a", "b"], "a b"), ([], ""), ("", "")])
def test_scopes_are_a_list_or_one_string(tmp_path: Path, scopes: object, scope: str) -> None:
    oauth = load_server(tmp_path, remote(scopes=scopes)).oauth
    assert oauth is not None
    assert oauth.scope == scope


@pytest.mark.parametrize(
    "oauth",
    [
        {"clientId": "id", "callbackPort": 8080, "scopes": "one two"},  # Claude Code
        {"clientId": "id"},  # VS Code
        {"clientId": "id", "clientSecret": "secret", "scopes": ["one"]},  # Gemini CLI
    ],
)
def test_the_objects_of_other_clients_load_without_a_warning(tmp_path: Path, oauth: dict[str, Any]) -> None:
    assert load_content(tmp_path, one_server(remote(**oauth))).warnings == ()


def test_another_clients_keys_in_it_are_ignored_with_a_warning(tmp_path: Path) -> None:
    port = 'write "callbackPort" for the port that the browser is redirected to'
    entry = remote(clientId="id", authServerMetadataUrl="https://x", redirectUri="https://x/callback")
    assert load_content(tmp_path, one_server(entry)).warnings == (
        f"{OAUTH}.authServerMetadataUrl: the workbench does not know this key and ignores it",
        f"{OAUTH}.redirectUri: the workbench ignores this key; {port}",
    )


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("clientid", "clientId"),
        ("clientSecrets", "clientSecret"),
        ("callbackport", "callbackPort"),
        ("isuer", "issuer"),
    ],
)
def test_a_slip_is_an_error_with_the_suggestion(tmp_path: Path, slip: str, meant: str) -> None:
    entry = remote(**{"clientId": "id", slip: "x"})
    (problem,) = problems(tmp_path, one_server(entry))
    assert (problem.where, problem.remedy) == (
        f"{OAUTH}.{slip}",
        f'Did you mean "{meant}"? Write it exactly so.',
    )


def test_it_is_for_remote_servers_only(tmp_path: Path) -> None:
    what = 'is for a remote server ("url"), and this one has none'
    assert complaints(tmp_path, {"command": "x", "oauth": {}}) == [(OAUTH, what)]


@pytest.mark.parametrize(
    ("oauth", "where"),
    [
        ({"clientSecret": "s"}, f"{OAUTH}.clientSecret"),
        ({"issuer": "https://a"}, f"{OAUTH}.issuer"),
        ({"clientId": "c", "issuer": "auth.example.com"}, f"{OAUTH}.issuer"),
        ({"clientId": "c", "clientMetadataUrl": "https://x/c.json"}, OAUTH),
        ({"clientMetadataUrl": "https://x"}, f"{OAUTH}.clientMetadataUrl"),
        ({"clientMetadataUrl": "http://x/c.json"}, f"{OAUTH}.clientMetadataUrl"),
        ({"clientId": "c", "privateKeyFile": "k.pem"}, f"{OAUTH}.privateKeyFile"),
        ({"clientId": "c", "privateKeyFile": "k\0.pem"}, f"{OAUTH}.privateKeyFile"),
        ({"grant": "client_credentials"}, f"{OAUTH}.clientId"),
        (MACHINE, OAUTH),
        ({**MACHINE, "clientSecret": "s", "privateKeyFile": "k.pem"}, OAUTH),
        ({**MACHINE, "clientSecret": "s", "callbackPort": 80}, f"{OAUTH}.callbackPort"),
        ({"callbackPort": "80"}, f"{OAUTH}.callbackPort"),
        ({"scopes": [1]}, f"{OAUTH}.scopes[0]"),
    ],
)
def test_what_cannot_be_meant_is_an_error_at_its_place(
    tmp_path: Path, oauth: dict[str, Any], where: str
) -> None:
    assert where in [place for place, _ in complaints(tmp_path, remote(**oauth))]


def test_credentials_that_any_server_could_ask_for_are_warned_of(tmp_path: Path) -> None:
    named = {**MACHINE, "clientSecret": "s"}
    unnamed = {key: value for key, value in named.items() if key != "issuer"}
    assert load_content(tmp_path, one_server(remote(**named))).warnings == ()
    (warning,) = load_content(tmp_path, one_server(remote(**unnamed))).warnings
    assert warning.startswith(f'{OAUTH}: without "issuer" the server decides who is sent the credentials')


def test_the_secret_of_a_client_is_masked(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, one_server(remote(clientId="id", clientSecret="very-secret")))
    assert loaded.secrets.mask("it said very-secret") == "it said <oauth clientSecret>"
