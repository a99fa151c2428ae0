"""What is hidden from people's eyes, and what is not."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_workbench.config import Secrets
from tests.config.loading import load_content, one_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_secret_is_replaced_by_its_label_wherever_it_stands() -> None:
    secrets = Secrets({"hunter2!": "${PASSWORD}"})
    assert secrets.mask("hunter2! and (hunter2!)") == "${PASSWORD} and (${PASSWORD})"


def test_text_without_secrets_is_left_alone() -> None:
    assert Secrets({"hunter2!": "${PASSWORD}"}).mask("hunter3! $PASSWORD") == "hunter3! $PASSWORD"
    assert Secrets({}).mask("anything") == "anything"


def test_the_longest_secret_wins_and_a_label_is_not_masked_again() -> None:
    secrets = Secrets({"secret": "<env A>", "secret-longer": "<secret B>"})
    assert secrets.mask("secret-longer secret") == "<secret B> <env A>"


def test_a_secret_is_text_and_not_a_pattern() -> None:
    secrets = Secrets({"a.c(d)*": "<env A>"})
    assert secrets.mask("abc(d)* a.c(d)*") == "abc(d)* <env A>"


def test_values_of_up_to_five_characters_are_shown() -> None:
    assert Secrets({"12345": "<env A>", "": "<env B>"}).mask("12345") == "12345"


def test_each_line_of_a_secret_of_many_lines_is_hidden() -> None:
    secrets = Secrets({"-----BEGIN-----\nMIIEpA\n--\n": "<env KEY>"})
    assert secrets.mask("it starts with MIIEpA --") == "it starts with <env KEY> --"
    assert secrets.mask("-----BEGIN-----\nMIIEpA\n--\n") == "<env KEY>"


def test_a_secret_is_hidden_as_json_spells_it_too() -> None:
    secrets = Secrets({'pa"ss\\wordé': "${PASSWORD}"})
    for text in (r'{"p":"pa\"ss\\wordé"}', r'{"p":"pa\"ss\\word\u00e9"}'):
        assert secrets.mask(text) == '{"p":"${PASSWORD}"}'


SECRET = 'pä ss/"w0rd+\\n?'  # noqa: S105 - made up for these tests
LABELLED = Secrets({SECRET: "<env A>", "unrelated-value": "<env B>"})


def fully_percent(text: str, *, upper: bool) -> str:
    return "".join(f"%{byte:02X}" if upper else f"%{byte:02x}" for byte in text.encode())


def every_other(text: str, escape: Callable[[str], str]) -> str:
    return "".join(escape(character) if at % 2 else character for at, character in enumerate(text))


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET).lower(),
        fully_percent(SECRET, upper=True),
        fully_percent(SECRET, upper=False),
        every_other(SECRET, lambda character: fully_percent(character, upper=True)),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", r"\/"),
        "".join(f"\\u{ord(character):04x}" for character in SECRET),
        "".join(f"\\u{ord(character):04X}" for character in SECRET),
        json.dumps(SECRET)[1:-1].replace("\\", "\\\\"),
        json.dumps(json.dumps(SECRET))[1:-1].strip('\\"'),
        quote(quote(SECRET)),
        quote(base64.b64encode(SECRET.encode()).decode()),
        base64.b64encode(SECRET.encode()).decode().replace("/", r"\/"),
        repr(SECRET.encode())[2:-1],
    ],
)
def test_a_secret_is_hidden_in_every_usual_spelling(spelled: str) -> None:
    text = f"before {spelled} after"
    masked = LABELLED.mask(text)
    assert masked in ("before <env A> after", "before <env A>= after")
    assert LABELLED.occur_in(text.encode())
    assert not LABELLED.occur_in(masked.encode())


@pytest.mark.parametrize("user", ["", "u", "us", "use", "somebody"])
@pytest.mark.parametrize("after", ["", "\n", "; more"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_inside_of_base64_is_hidden_whoever_the_user_is(
    user: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    whole = encode(f"{user}:{SECRET}{after}".encode()).decode()
    masked = LABELLED.mask(f"Authorization: Basic {whole}")
    assert "<env A>" in masked
    # What is left are characters that depend on what is around the secret.
    begin, end = masked.removeprefix("Authorization: Basic ").split("<env A>")
    assert whole.startswith(begin)
    assert whole.endswith(end)
    assert len(begin) <= (len(user.encode()) + 1) * 4 / 3 + 1
    assert len(end.rstrip("=")) <= len(after) * 4 / 3 + 2


def test_no_other_text_is_changed_by_reading_it_without_escapes() -> None:
    text = r'100% of %41%zz \u00e9 \ud83d\ude00 \ud800 \x41 \q "a\\b" café \udc80 %C3'
    assert LABELLED.mask(text) == text
    masked = LABELLED.mask(f"{text} unrelated-value {text}")
    assert masked == f"{text} <env B> {text}"


def test_secrets_in_several_spellings_at_once_are_all_hidden() -> None:
    spelled = [SECRET, quote(SECRET), json.dumps(json.dumps(SECRET)), "unrelated-value", "unrelated%2Dvalue"]
    masked = LABELLED.mask(" ".join(spelled))
    assert masked.replace("\\", "").replace('"', "") == "<env A> <env A> <env A> <env B> <env B>"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("nabcdef9", "x\nabcdef9"),
        ("00e9abc", "caf\u00e9abc"),
        ("u00e9abc", "caf\u00e9abc"),
        ("abcdef\\", "abcdef\\"),
    ],
)
def test_what_is_left_of_a_json_text_is_json(secret: str, text: str) -> None:
    masked = Secrets({secret: "<env A>"}).mask(json.dumps({"a": text, "b": 1}))
    assert json.loads(masked)["b"] == 1
    assert "<env A>" in json.loads(masked)["a"]


def test_secrets_that_overlap_are_hidden_as_a_whole() -> None:
    secrets = Secrets({"abcdef": "<env A>", "defghijk": "<env B>"})
    assert secrets.mask("x abcdefghijk y") == "x <env B> y"


@pytest.mark.slow
def test_a_text_that_is_full_of_secrets_takes_no_longer_than_one_that_is_long() -> None:
    # A copy of the text for each of them would take minutes.
    for spelled in ("hunter2!", "hunter2%21", r"hunter2\u0021"):
        text = f"{spelled} " * 20_000
        began = time.monotonic()
        assert Secrets({"hunter2!": "*"}).mask(text) == "* " * 20_000
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("escape", ["%41", "\\\\", "\\u0041", "%", "\\"])
def test_a_text_of_nothing_but_escapes_is_left_out_and_not_looked_through(escape: str) -> None:
    masked = LABELLED.mask(escape * 500_000)
    assert masked.endswith("characters left out: too many escapes to look for secrets in)")
    assert len(masked) < 100


@given(
    st.text(min_size=6, max_size=30),
    st.text(max_size=8),
    st.text(max_size=8),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
def test_whatever_the_secret_no_base64_text_shows_it(
    secret: str, before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    secrets = Secrets({secret: "<*>"})
    text = encode(f"{before}{secret}{after}".encode()).decode()
    assert secrets.occur_in(text.encode())
    assert "<*>" in secrets.mask(text)


@given(st.text(min_size=6, max_size=30), st.text(max_size=8), st.data())
def test_whatever_is_escaped_in_a_secret_no_text_shows_it(
    secret: str, around: str, data: st.DataObject
) -> None:
    escapes: list[Callable[[str], str]] = [
        lambda character: character if character not in '%\\"' else f"%{ord(character):02X}",
        lambda character: fully_percent(character, upper=True),
        lambda character: json.dumps(character)[1:-1],
        lambda character: json.dumps(character)[1:-1].replace("/", r"\/"),
    ]
    spelled = "".join(data.draw(st.sampled_from(escapes))(character) for character in secret)
    masked = Secrets({secret: "<*>"}).mask(f"{around} {spelled} {around}")
    assert "<*>" in masked


@pytest.mark.parametrize("text", ["12345", "MTIzNDU=", "3132333435", "%31%32%33%34%35"])
def test_values_of_up_to_five_characters_are_shown_in_every_spelling(text: str) -> None:
    assert Secrets({"12345": "<env A>"}).mask(text) == text


PLAIN = {
    "MODE": "production",
    "LEVEL": "warning",
    "REGION": "eu-central-1",
    "LOCALE": "en_US.UTF-8",
    "ROOT": "/srv/Project 2/sub_dir",
    "HOME_OF": "~/notes",
    "WINDOWS": r"C:\Users\ann\notes",
    "BASE_URL": "https://api.example.com/v1",
    "ADDRESS": "localhost:8080",
    "TIMEOUT": "300000",
    "SINCE": "2026-11-17",
    "MODEL": "small-v2, large",
}
SECRETIVE = {
    "API_KEY": "production",
    "DB_PASSWORD": "letmein",
    "DB_PW": "letmein",
    "MYSQL_PWD": "letmein",
    "SESSION_COOKIE": "abcdef",
    "WHATEVER": "hunter2",
    "OPAQUE": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "LONG": "abcdefghijklmnopqrstuvwxyz",
    "ID": "550e8400-e29b-41d4-a716-446655440000",
    "DATABASE": "postgres://user:word@host/db",
    "HOOK": "https://hooks.example.com/services/T00000000/B00000000/XXXX1234",
    "FILE": "/var/keys/AKIA1234567890ABCDEFGH",
}


@pytest.mark.parametrize(("name", "value"), [*PLAIN.items()])
def test_plain_settings_are_hidden_in_logs_and_not_in_definitions(name: str, value: str) -> None:
    secrets = Secrets({value: f"<env {name}>"})
    assert secrets.mask(f"at {value} now") == f"at <env {name}> now"
    assert secrets.certain.mask(f"at {value} now") == f"at {value} now"


@pytest.mark.parametrize(("name", "value"), [*SECRETIVE.items()])
def test_what_may_be_secret_by_its_name_or_its_look_is_hidden_in_definitions_too(
    name: str, value: str
) -> None:
    assert Secrets({value: f"<env {name}>"}).certain.mask(value) == f"<env {name}>"


@pytest.mark.parametrize("word", ["password", "secret", "object", "string", "properties", "api_key"])
def test_words_that_definitions_are_made_of_are_not_hidden_in_them(word: str) -> None:
    secrets = Secrets({word: "<env DB_PASSWORD>"})
    assert secrets.certain.mask(f"{word}_reset") == f"{word}_reset"
    assert secrets.mask(word) == "<env DB_PASSWORD>"


def test_what_is_secret_by_what_it_is_is_hidden_in_definitions_too() -> None:
    for label in ("<access token>", "<url>", "<oauth clientSecret>", "<password in HTTPS_PROXY>"):
        assert Secrets({"letmein": label}).certain.mask("letmein") == label


def test_variables_env_and_headers_of_a_configuration_are_secret(tmp_path: Path) -> None:
    tree = one_server(
        {"command": "x", "args": ["--key=${KEY}"], "env": {"TOKEN": "literal-token", "K": "${KEY}"}}
    )
    tree["toolboxes"]["web"] = {
        "description": "d",
        "mcpServers": {"api": {"url": "https://x", "headers": {"Authorization": "Bearer abcdef"}}},
    }
    mask = load_content(tmp_path, tree, {"KEY": "key-value", "OTHER": "other-value"}).secrets.mask
    assert mask("x --key=key-value literal-token Bearer abcdef other-value https://x") == (
        "x --key=${KEY} <env TOKEN> <header Authorization> other-value https://x"
    )


def test_passwords_and_keys_in_an_address_are_secret(tmp_path: Path) -> None:
    entry = {"url": "https://me:pass-word@x/path?api_key=key-value&profile=default#z"}
    mask = load_content(tmp_path, one_server(entry), {}).secrets.mask
    assert mask("pass-word key-value default bWU6cGFzcy13b3Jk") == "<url> <url> default <url>"


def test_what_is_inherited_under_a_secret_name_is_secret(tmp_path: Path) -> None:
    environ = {"AWS_SECRET_KEY": "aws-value", "AWS_REGION": "eu-central-1"}
    for inherit, shown in (
        (["AWS_*"], "<env AWS_SECRET_KEY>"),
        (True, "<env AWS_SECRET_KEY>"),
        (False, "aws-value"),
    ):
        loaded = load_content(tmp_path, one_server({"command": "x", "inheritEnv": inherit}), environ)
        assert loaded.secrets.mask("aws-value in eu-central-1") == f"{shown} in eu-central-1"


def test_a_default_is_no_secret_because_it_stands_in_the_file(tmp_path: Path) -> None:
    loaded = load_content(tmp_path, one_server({"command": "x", "args": ["${MODE:-production}"]}))
    assert loaded.secrets.mask("production") == "production"


def test_what_stands_in_a_name_is_no_secret(tmp_path: Path) -> None:
    tree = {
        "toolboxes": {
            "${TEAM}-tools": {
                "description": "d",
                "mcpServers": {"tracker": {"command": "x", "env": {"TEAM": "${TEAM}", "SELF": "tracker"}}},
            }
        }
    }
    loaded = load_content(tmp_path, tree, {"TEAM": "backend"})
    assert loaded.secrets.mask("tracker of backend-tools failed") == "tracker of backend-tools failed"


PROXY = "http://ann:p%40ss-w0rd@proxy.example.com:3128"


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "npm_config_proxy"])
def test_the_password_of_a_proxy_is_secret(tmp_path: Path, name: str) -> None:
    mask = load_content(tmp_path, one_server({"command": "x"}), {name: PROXY}).secrets.mask
    label = f"<password in {name}>"
    assert mask(f"no answer from {PROXY}") == f"no answer from http://ann:{label}@proxy.example.com:3128"
    assert mask("it is p@ss-w0rd") == f"it is {label}"
    assert label in mask(f"Proxy-Authorization: Basic {base64.b64encode(b'ann:p@ss-w0rd').decode()}")


def test_a_short_password_of_a_proxy_is_hidden_with_its_user(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "http://ann:pw1@proxy.example.com"}
    mask = load_content(tmp_path, one_server({"command": "x"}), environ).secrets.mask
    assert mask("http://ann:pw1@proxy.example.com") == "http://<password in HTTPS_PROXY>@proxy.example.com"


@pytest.mark.parametrize(
    ("entry", "warned"),
    [
        ({"command": "x"}, True),
        ({"command": "x", "inheritEnv": ["AWS_*"]}, True),
        ({"command": "x", "inheritEnv": ["HTTPS_PROXY"]}, False),
        ({"command": "x", "inheritEnv": ["*_PROXY"]}, False),
        ({"command": "x", "inheritEnv": True}, False),
        ({"command": "x", "env": {"HTTPS_PROXY": "http://proxy"}}, False),
        ({"url": "https://x"}, False),
    ],
)
def test_a_proxy_with_a_password_that_a_server_does_not_get_is_warned_of(
    tmp_path: Path, entry: dict[str, object], *, warned: bool
) -> None:
    warnings = load_content(tmp_path, one_server(entry), {"HTTPS_PROXY": PROXY}).warnings
    assert bool(warnings) is warned
    assert not any("p%40ss" in warning for warning in warnings)
    if warned:
        assert "HTTPS_PROXY holds credentials, and is not passed on to dev/" in warnings[0]
        assert '"inheritEnv"' in warnings[0]
    assert load_content(tmp_path, one_server(entry), {"HTTPS_PROXY": "http://proxy:3128"}).warnings == ()


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("Bearer abc-123-def", "abc-123-def"),
        ("bearer  abc-123-def", "abc-123-def"),
        ("Basic dXNlcjpodW50ZXIyMjI=", "hunter222"),
        ("Basic dXNlcjpodW50ZXIyMjI=", "dXNlcjpodW50ZXIyMjI="),
        ("postgres://app:p%40ss%2Fw0rd@db/x", "p@ss/w0rd"),
        ("postgres://app:p%40ss%2Fw0rd@db/x", "p%40ss%2Fw0rd"),
        ("redis://:hunter222@cache:6379", "hunter222"),
        ("mysql://app:hunter@22@db", "hunter@22"),
    ],
)
@pytest.mark.parametrize("is_variable", [False, True])
def test_credentials_inside_of_a_value_are_secret_alone(
    tmp_path: Path, value: str, quoted: str, is_variable: bool
) -> None:
    entry = {"command": "server", "env": {"UPSTREAM": "${UPSTREAM}" if is_variable else value}}
    loaded = load_content(tmp_path, one_server(entry), {"UPSTREAM": value})
    assert quoted not in loaded.secrets.mask(f"login with {quoted} failed")


@pytest.mark.parametrize("value", ["postgres://postgres:postgres@db/x", "https://example.com/a:postgres@b"])
def test_a_word_that_is_no_password_is_shown(tmp_path: Path, value: str) -> None:
    loaded = load_content(tmp_path, one_server({"command": "server", "env": {"UPSTREAM": value}}))
    assert loaded.secrets.mask("postgres_query") == "postgres_query"
