"""Which literal values of an entry are recognised as secrets, and which are not."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_workbench.config.masking.recognition import (
    LiteralSecret,
    find_secrets,
    is_literal_secret,
    replace_secrets,
)
from mcp_workbench.config.source.expand import expand
from mcp_workbench.config.validation.problems import Problems

LETTERS = "AbCdEfGhIjKlMnOpQrStUvWx"
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

TOKENS = [
    f"ghp_{LETTERS}",
    f"gho_{MIXED}",
    f"github_pat_{MIXED}_{MIXED}",
    f"glpat-{MIXED}",
    f"sk-{MIXED}",
    f"sk-ant-api03-{MIXED}",
    f"sk-proj-{MIXED}",
    f"xoxb-1234567890-{LETTERS}",
    f"xoxp-{MIXED}",
    "AKIAIOSFODNN7ABCDEFG",
    f"AIzaSy{MIXED}{MIXED}",
    f"ya29.{MIXED}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{MIXED}",
    f"npm_{MIXED}",
    f"pypi-AgEIcHlwaS5vcmc{MIXED}",
    f"hf_{LETTERS}",
    f"lin_api_{MIXED}",
    f"ntn_{MIXED}",
    f"secret_{MIXED}",
    f"figd_{MIXED}",
    f"SG.{MIXED}.{MIXED}",
    f"sk_live_{MIXED}",
    f"rk_live_{MIXED}",
    f"ATATT3xFfGF0{MIXED}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{MIXED}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{MIXED}",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_of_a_known_service_is_found_under_any_name_and_in_any_argument(token: str) -> None:
    entry = {
        "env": {"SETTING": token},
        "args": ["--setting", token, f"--setting={token}", f"SETTING={token}"],
    }
    places = [("env", "SETTING"), ("args", 1), ("args", 2), ("args", 3)]
    assert [(found.place, found.value) for found in find_secrets(entry)] == [
        (place, token) for place in places
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PASSWORD", "letmein"),
        ("DB_PASSWORD", "correct horse battery"),
        ("REDIS_PASS", "123456"),
        ("MYSQL_PWD", "s3cr3t"),
        ("API_KEY", "abc123def456"),
        ("apiKey", "abc123def456"),
        ("BRAVE_API_KEY", MIXED),
        ("CLIENT_SECRET", "5uper-secret-value"),
        ("ACCESS_TOKEN", "0123456789abcdef"),
        ("SECRET_KEY", "550e8400-e29b-41d4-a716-446655440000"),
        ("X-API-Key", "k-9f8e7d6c"),
        ("SESSION_COOKIE", "sid=a1b2c3d4e5f6"),
        ("NOTHING_SPECIAL", MIXED),
        ("NOTHING_SPECIAL", HEX),
        ("NOTHING_SPECIAL", "dGhpcyBpcyBhIHNlY3JldCB0aGF0IDEyMzQ1Njc4OTA="),
    ],
)
def test_this_is_a_secret(name: str, value: str) -> None:
    assert find_secrets({"env": {name: value}})[0].value == value
    assert is_literal_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("API_KEY", text)
            for text in ("", "<YOUR_TOKEN>", "your-api-key", "YOUR_API_KEY", "xxx", "changeme")
        ),
        *(
            ("API_KEY", text)
            for text in ("${API_KEY}", "${keyring:X}", "$API_KEY", "%API_KEY%", "{{api_key}}")
        ),
        *(("TOKEN", text) for text in ("token", "***", "...", "sk-...", "ghp_xxxxxxxxxxxxxxxxxxxx", "none")),
        *(
            ("TOKEN", text)
            for text in ("paste-your-token-here", "my-secret-token", "REPLACE_ME", "change-me")
        ),
        ("TOKEN", "ghp_your_token_here_1234567890"),
        ("PASSWORD", "password"),
        ("PASSWORD", "<password>"),
        ("PASSWORD_FILE", "/run/secrets/password"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/key.json"),
        ("GOOGLE_APPLICATION_CREDENTIALS", r"C:\Users\ada\key.json"),
        ("SSH_AUTH_SOCK", "/run/user/1000/ssh-agent"),
        ("PRIVATE_KEY", "~/.ssh/id_rsa"),
        ("MAX_TOKENS", "4096"),
        ("TOKEN_LIMIT", "100000"),
        ("SESSION_TIMEOUT", "30s"),
        ("AUTH_TYPE", "oauth"),
        ("AUTH", "basic"),
        ("AUTHOR", "Ada Lovelace"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("KEYCLOAK_URL", "https://login.example.com/realms/main"),
        ("KEYBOARD", "qwertz"),
        ("ENABLE_AUTH", "true"),
        ("PUBLIC_KEY", MIXED),
        ("PROJECT_ID", "550e8400-e29b-41d4-a716-446655440000"),
        ("PROJECT", "550e8400-e29b-41d4-a716-446655440000"),
        ("GIT_COMMIT", "0123456789abcdef0123456789abcdef01234567"),
        ("IMAGE", f"sha256:{HEX}{HEX}"),
        ("MODEL", "claude-3-5-sonnet-20241022"),
        ("AWS_REGION", "eu-central-1"),
        ("LOG_LEVEL", "info"),
        ("PORT", "8080"),
        ("DEBUG", "true"),
        ("VERSION", "2025.1.14-rc1"),
        ("PACKAGE", "@modelcontextprotocol/server-filesystem@2025.8.21"),
        ("EMAIL", "ada.lovelace1815@example.com"),
        ("DATABASE_URL", "postgres://localhost:5432/app"),
        ("DATABASE_URL", "postgres://app@localhost:5432/app"),
        ("DATABASE_URL", "postgres://postgres:postgres@localhost/app"),
        ("DATABASE_URL", "postgres://app:${DB_PASSWORD}@localhost/app"),
        ("DATABASE_URL", "postgres://app:<password>@localhost/app"),
        ("ENDPOINT", "https://api.example.com/v1?page=2&sort=name"),
        ("ENDPOINT", "https://api.example.com/v1?api_key=${KEY}"),
        ("NAMES", "alpha,beta,gamma"),
        ("SENTENCE", "Use this server for 3 things only"),
        ("PATH_LIST", "/usr/local/bin:/usr/bin:/bin"),
        ("DIR", "/nix/store/0c5b7a9d8e1f2a3b4c5d6e7f8a9b0c1d-node-20"),
    ],
)
def test_this_is_no_secret(name: str, value: str) -> None:
    assert find_secrets({"env": {name: value}}) == []
    assert not is_literal_secret(name, value)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--api-key=abc123def456"], [(0, "abc123def456", "API_KEY")]),
        (["--token", "abc123def456"], [(1, "abc123def456", "TOKEN")]),
        (["--apiKey", "abc123def456", "-v"], [(1, "abc123def456", "API_KEY")]),
        (["-e", "GITHUB_TOKEN=abc123def456"], [(1, "abc123def456", "GITHUB_TOKEN")]),
        (["--header", "Authorization: Bearer abc123"], [(1, "abc123", "AUTHORIZATION")]),
        (["--header", "Authorization:Bearer abc123"], [(1, "abc123", "AUTHORIZATION")]),
        (["--header", "X-Api-Key: abc123def456"], [(1, "abc123def456", "X_API_KEY")]),
        (["--dsn", "postgres://app:s3cr3t@db/app"], [(1, "s3cr3t", "DSN_PASSWORD")]),
        (["postgres://app:s3cr3t@db/app"], [(0, "s3cr3t", "PASSWORD")]),
        (["https://x.example/mcp?token=abc123def456&v=1"], [(0, "abc123def456", "TOKEN")]),
        (["--config", '{"apiKey":"abc123def456","debug":true}'], [(1, "abc123def456", "API_KEY")]),
        ([f"ghp_{LETTERS}"], [(0, f"ghp_{LETTERS}", "GITHUB_TOKEN")]),
        (["-c", f"TOKEN=ghp_{LETTERS} exec npx server"], [(1, f"ghp_{LETTERS}", "TOKEN")]),
        (["-c", f"KEY='{MIXED}' exec npx server"], [(1, MIXED, "KEY")]),
        (["-lc", "exec server --api-key abc123def456"], [(1, "abc123def456", "API_KEY")]),
        (["/c", 'server -H "Authorization: Bearer abc123def456"'], [(1, "abc123def456", "AUTHORIZATION")]),
        (["-c", "cd /srv/site && exec npx -y server --port=8080"], []),
        (["--env=API_KEY=abc123def456"], [(0, "abc123def456", "API_KEY")]),
        (["--header=Authorization: Bearer abc123"], [(0, "abc123", "AUTHORIZATION")]),
        (["--token=abc123=def456=="], [(0, "abc123=def456==", "TOKEN")]),
        (["-e", "DB_PASSWORD=correct horse battery"], [(1, "correct horse battery", "DB_PASSWORD")]),
        ([f"https://mcp.example.com/s/{MIXED}/mcp"], [(0, MIXED, "TOKEN")]),
        (["https://abc123def456@mcp.example.com/mcp"], [(0, "abc123def456", "TOKEN")]),
        (["https://git@example.com/ada/some-repository-2024/archive/v1.2.3.tar.gz"], []),
        (["git+https://example.com/ada/site@0123456789abcdef0123456789abcdef01234567"], []),
        (["https://example.com/archive/0123456789abcdef0123456789abcdef01234567.zip"], []),
        (["https://example.com/550e8400-e29b-41d4-a716-446655440000/mcp"], []),
        (["-y", "@scope/package@1.2.3", "--port", "8080", "/srv/files"], []),
        (["-y", "mcp-remote", "https://mcp.example.com/sse", "--header", "Authorization: ${AUTH}"], []),
        (["--header", "Authorization: Bearer <token>"], []),
        (["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"], []),
        (["--token", "--verbose", "abc"], []),
        (["--directory=/srv/projects/site", "--with", "httpx==0.28.1", "C:\\Users\\ada"], []),
        (["--mode=read-only", "--transport", "stdio", "--user-agent", "mcp-server/1.0"], []),
    ],
)
def test_the_secret_part_of_an_argument_is_found(
    args: list[str], expected: list[tuple[int, str, str]]
) -> None:
    found = find_secrets({"command": "npx", "args": args})
    assert found == [LiteralSecret(("args", at), value, name) for at, value, name in expected]


def test_the_secrets_of_a_remote_server_are_found() -> None:
    entry = {
        "url": "https://ada:s3cr3t@mcp.example.com/mcp?key=abc123def456",
        "headers": {
            "Authorization": "Bearer abc123",
            "Proxy-Authorization": "Basic YWRhOnNlY3JldA==",
            "X-Api-Key": "abc123def456",
            "Accept": "application/json",
            "User-Agent": "workbench/1.0",
        },
        "oauth": {"clientId": "my-client", "clientSecret": "hush-hush-1", "privateKeyFile": "/etc/key.pem"},
    }
    assert [(found.place, found.value, found.suggested_name) for found in find_secrets(entry)] == [
        (("url",), "s3cr3t", "URL_PASSWORD"),
        (("url",), "abc123def456", "KEY"),
        (("headers", "Authorization"), "abc123", "AUTHORIZATION"),
        (("headers", "Proxy-Authorization"), "YWRhOnNlY3JldA==", "PROXY_AUTHORIZATION"),
        (("headers", "X-Api-Key"), "abc123def456", "KEY"),
        (("oauth", "clientSecret"), "hush-hush-1", "CLIENT_SECRET"),
    ]


def test_headers_written_as_json_in_a_variable_are_read() -> None:
    headers = f'{{"Authorization": "Bearer ntn_{MIXED}", "Notion-Version": "2022-06-28"}}'
    found = find_secrets({"env": {"OPENAPI_MCP_HEADERS": headers}})
    assert [secret.value for secret in found] == [f"ntn_{MIXED}"]


def test_equal_values_share_a_name_and_others_get_a_number() -> None:
    args = ["--token", "abc123def456", "--token", "xyz789uvw012", "TOKEN=abc123def456"]
    names = [(found.value, found.suggested_name) for found in find_secrets({"args": args})]
    assert names == [
        ("abc123def456", "TOKEN"),
        ("xyz789uvw012", "TOKEN_2"),
        ("abc123def456", "TOKEN"),
    ]


def expanded_again(entry: dict[str, object]) -> object:
    """The entry after its secrets are stored, replaced by references, and these replaced by the values."""
    stored = {found.suggested_name: found.value for found in find_secrets(entry)}
    names = {found.value: found.suggested_name for found in find_secrets(entry)}
    return expand(replace_secrets(entry, names), {}, Problems(), lookup=stored.get).tree


def test_references_take_the_place_of_the_secret_parts_alone() -> None:
    entry: dict[str, object] = {
        "args": ["--token=abc123def456", "--url", "postgres://app:s3cr3t@db/app"],
        "env": {"A": "plain", "TOKEN": "TOKEN-1234-abc", "URL_PASSWORD": "URL_PASSWORD9"},
    }
    names = {found.value: found.suggested_name for found in find_secrets(entry)}
    assert replace_secrets(entry, names) == {
        "args": ["--token=${keyring:TOKEN}", "--url", "postgres://app:${keyring:URL_PASSWORD}@db/app"],
        "env": {
            "A": "plain",
            "TOKEN": "${keyring:TOKEN_2}",
            "URL_PASSWORD": "${keyring:URL_PASSWORD_2}",
        },
    }
    assert expanded_again(entry) == entry


VALUES = st.one_of(
    st.sampled_from(TOKENS),
    st.text(alphabet="abAB019$-_:/@=. {}\"'\n", max_size=30),
    st.from_regex(r"[a-z]{3,8}://[a-z]{1,5}:[ -~]{1,10}@host/\?token=[a-z0-9$]{4,12}", fullmatch=True),
    st.from_regex(r"(Bearer|Basic) [A-Za-z0-9$]{4,30}", fullmatch=True),
)
NAMES = st.sampled_from(["TOKEN", "PASSWORD", "API_KEY", "LOG", "url", "Authorization", "KEY_2", "AUTH"])


@given(
    st.fixed_dictionaries(
        {"env": st.dictionaries(NAMES, VALUES), "args": st.lists(st.one_of(VALUES, st.just("--token")))}
    )
)
@settings(max_examples=40)
def test_stored_and_expanded_again_every_entry_is_what_it_was(entry: dict[str, object]) -> None:
    if "${" not in str(entry):
        assert expanded_again(entry) == entry


def test_an_entry_of_another_shape_does_no_harm() -> None:
    entry: dict[str, object] = {"command": ["npx", 1, None], "env": [{"TOKEN": 5}], "args": {"a": True}}
    assert find_secrets(entry) == []
    assert replace_secrets(entry, {}) == entry
    assert msgspec.json.encode(find_secrets({})) == b"[]"
