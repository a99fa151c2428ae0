"""The file of tokens: what it may hold, and every mistake in it at once."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from mcp_workbench.config.tokens import LoadedTokens, TokenConfig, load_tokens
from mcp_workbench.errors import ConfigError, NoTokens, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ALICE = "alice-alice-alice-alice-alice-alice"
BOB = "bob-bob-bob-bob-bob-bob-bob-bob-bob"
ALL = ["*"]


def load_content(
    directory: Path, content: object, environ: Mapping[str, str] | None = None, mode: int = 0o600
) -> LoadedTokens:
    path = directory / "tokens.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    path.chmod(mode)
    return load_tokens(path, environ or {})


def problems(directory: Path, content: object) -> list[Problem]:
    with pytest.raises(ConfigError) as raised:
        load_content(directory, content)
    assert ALICE not in str(raised.value)
    return list(raised.value.problems)


def tokens(**entries: object) -> dict[str, Any]:
    return {"tokens": entries}


def digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def test_tokens_are_given_in_the_open_by_a_variable_or_by_their_digest(tmp_path: Path) -> None:
    written = tokens(
        alice={"token": ALICE, "toolboxes": ALL},
        bob={"token": "${BOB_TOKEN}", "toolboxes": ["dev", "docs"]},
        ci={"token": f"sha256:{digest('c').hex().upper()}", "toolboxes": ["dev"]},
    )
    loaded = load_content(tmp_path, written, {"BOB_TOKEN": BOB})
    assert loaded.tokens == {
        "alice": TokenConfig(digest(ALICE), ("*",)),
        "bob": TokenConfig(digest(BOB), ("dev", "docs")),
        "ci": TokenConfig(digest("c"), ("dev",)),
    }
    assert loaded.warnings == ()
    assert loaded.secrets.mask(f"{ALICE} {BOB}") == "<token of alice> <token of bob>"


def test_every_mistake_is_reported_at_once_with_its_place(tmp_path: Path) -> None:
    written = tokens(
        **{
            "al ice": {"token": ALICE, "toolboxes": ALL},
            "short": {"token": "x" * 15, "toolboxes": ALL},
            "odd": {"token": "with spaces and ümläuts in it", "toolboxes": ALL},
            "digest": {"token": "sha256:abc", "toolboxes": ALL},
            "number": {"token": 7, "toolboxes": ALL},
            "unset": {"token": "${UNSET}", "toolboxes": ALL},
            "none": {"token": BOB},
            "text": {"token": "t" * 40, "toolboxes": "*"},
            "slip": {"tokne": "s" * 40, "toolboxes": ALL},
            "same": {"token": ALICE, "toolboxes": ALL},
            "list": [],
            "when": {"token": "w" * 40, "toolboxes": ALL, "expires": 7},
            "slip2": {"token": "u" * 40, "toolboxes": ALL, "expire": "2099-01-31"},
        }
    )
    found = {problem.where: problem.what for problem in problems(tmp_path, written)}
    assert found == {
        'tokens["al ice"]': "is not a name: it is made of letters, digits and . _ - + @, up to 100 of them",
        "tokens.short.token": "is too short for a secret: it has less than 16 characters",
        "tokens.odd.token": "has characters that cannot be sent: "
        "a token is made of letters, digits and . _ ~ + / -",
        "tokens.digest.token": "should have 64 hexadecimal digits after sha256:",
        "tokens.number.token": "should be a string, not a number",
        "tokens.unset.token": "the variable UNSET is not set",
        "tokens.none.toolboxes": "is missing",
        "tokens.text.toolboxes": "should be a list of toolboxes, not a string",
        "tokens.slip.tokne": "unknown key",
        "tokens.same.token": "is the token of al ice too",
        "tokens.list": "should be an object, not a list",
        "tokens.when.expires": "should be a string, not a number",
        "tokens.slip2.expire": "unknown key",
    }


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "the file is empty"),
        ("[]", "the file should hold one JSON object"),
        ("{}", '"tokens" is missing'),
        ('{"tokens": {}}', "there is no token, so no client is accepted"),
        ('{"tokens": []}', "should be an object, not a list"),
        ("{'tokens': {}}", "invalid JSON: the wrong kind of quotes"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        (
            '{"tokens": {"a": {}, "a": {}}}',
            "this key is written 2 times in the same object, and only one can count",
        ),
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_holds_no_tokens_is_refused(tmp_path: Path, content: str, what: str) -> None:
    assert what in [problem.what for problem in problems(tmp_path, content)]


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_tokens(tmp_path / "absent.json", {})
    assert "mcp-workbench token" in str(raised.value)
    assert '"alice": { "token"' in str(raised.value)


def test_what_may_be_a_mistake_is_warned_of(tmp_path: Path) -> None:
    written = tokens(alice={"token": "a" * 31, "toolboxes": [], "note": "x"}) | {"other": 1}
    assert load_content(tmp_path, written).warnings == (
        "other: the workbench does not know this key and ignores it",
        "tokens.alice.note: the workbench does not know this key and ignores it",
        'tokens.alice.toolboxes: an empty list allows the use of nothing; write ["*"] for all toolboxes',
        "tokens.alice.token: is short, and may be guessed: use 32 random characters",
    )


OPEN = tokens(alice={"token": ALICE, "toolboxes": ALL})
HIDDEN = tokens(
    alice={"token": f"sha256:{digest(ALICE).hex()}", "toolboxes": ALL},
    bob={"token": "${BOB_TOKEN}", "toolboxes": ALL},
)
READ = "other users can read the tokens in this file: chmod 600"
WRITE = "other users can write to "


@pytest.mark.parametrize(
    ("content", "mode", "warnings"),
    [
        (OPEN, 0o600, ()),
        (OPEN, 0o640, (READ,)),
        (OPEN, 0o604, (READ,)),
        (OPEN, 0o606, (WRITE, READ)),
        (HIDDEN, 0o644, ()),
        (HIDDEN, 0o646, (WRITE,)),
    ],
)
def test_rights_of_others_are_warned_of_where_they_matter(
    tmp_path: Path, content: object, mode: int, warnings: tuple[str, ...]
) -> None:
    found = load_content(tmp_path, content, {"BOB_TOKEN": BOB}, mode).warnings
    assert tuple(warning.partition(str(tmp_path))[0] for warning in found) == warnings


@pytest.mark.parametrize(
    ("written", "expires"),
    [
        ("2099-12-31", "2100-01-01T00:00:00+00:00"),
        ("2099-01-31T08:30:00Z", "2099-01-31T08:30:00+00:00"),
        ("2099-01-31t08:30:00.5z", "2099-01-31T08:30:00.5+00:00"),
        ("2099-01-31 08:30:00+01:00", "2099-01-31T07:30:00+00:00"),
        ("9999-12-31", None),
        ("9999-12-31T23:59:59-12:00", None),
    ],
)
def test_a_token_may_expire_at_a_time_or_at_the_end_of_a_day(
    tmp_path: Path, written: str, expires: str | None
) -> None:
    content = tokens(alice={"token": ALICE, "toolboxes": ALL, "expires": written})
    loaded = load_content(tmp_path, content)
    found = loaded.tokens["alice"].expires
    assert found is not None
    if expires is not None:
        assert found == datetime.fromisoformat(expires).timestamp()
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("2099-02-29", "is not a valid date"),
        ("2099-01-31T25:00:00Z", "is not a valid time"),
        ("2099-01-31T08:30:60Z", "is not a valid time"),
        ("2099-01-31T08:30:00", "names no time zone"),
        ("20990131", "should be a date or a date and time (RFC 3339)"),
        ("2099-W05-6", "should be a date or a date and time (RFC 3339)"),
        ("31.1.2099", "should be a date or a date and time (RFC 3339)"),
        ("90d", "should be a date or a date and time (RFC 3339)"),
        ("", "should be a date or a date and time (RFC 3339)"),
        ("\u0662\u0660\u0669\u0669-01-31", "should be a date or a date and time (RFC 3339)"),
    ],
)
def test_an_expiry_that_is_no_time_is_a_problem(tmp_path: Path, written: str, what: str) -> None:
    (problem,) = problems(tmp_path, tokens(alice={"token": ALICE, "toolboxes": ALL, "expires": written}))
    assert problem.where == "tokens.alice.expires"
    assert problem.what.startswith(what)


def test_a_token_that_has_expired_already_is_warned_of(tmp_path: Path) -> None:
    content = tokens(alice={"token": ALICE, "toolboxes": ALL, "expires": "2020-01-31"})
    (warning,) = load_content(tmp_path, content).warnings
    assert "this token has expired" in warning


@pytest.mark.parametrize(
    "content", ["", " \n", "{}", '{"$schema": "x"}', '{"tokens": {}}', '{"tokens": null}', '{"tokens": []}']
)
def test_a_file_without_a_token_is_told_from_a_broken_one(tmp_path: Path, content: str) -> None:
    with pytest.raises(NoTokens):
        load_content(tmp_path, content)


@pytest.mark.parametrize(
    "content", ["{", '{"tokens": {"alice": {}}}', '{"tokens": {"a', "null", '{"token": {"a": 1}}', '{"x": 1}']
)
def test_a_half_written_file_is_broken_and_not_without_tokens(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_content(tmp_path, content)
    assert not isinstance(raised.value, NoTokens)
