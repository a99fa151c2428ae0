"""Tells literal secrets from other texts by their shape: tokens of known services, placeholders, randomness.

Knows single values only. `recognition` knows where values stand in an entry.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_RANDOM_CHARACTERS: Final = 20
"""Length of the shortest value that counts as random under a name that says nothing."""

_PRIVATE_KEY: Final = r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*-----|\Z)"
_SHAPES: Final = (
    ("PRIVATE_KEY", _PRIVATE_KEY),
    ("GITHUB_TOKEN", r"gh[opusr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"),
    ("GITLAB_TOKEN", r"gl(?:pat|ptt|dt|rt|cbt)-[\w-]{16,}"),
    ("ANTHROPIC_API_KEY", r"sk-ant-[\w-]{8,}"),
    ("OPENAI_API_KEY", r"sk-(?:proj|svcacct|admin)-[\w-]{8,}|sk-(?=[\w-]*\d)[A-Za-z0-9_-]{16,}"),
    ("STRIPE_KEY", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,}"),
    ("SLACK_TOKEN", r"xox[abceoprs]-[\w-]{8,}|xapp-[\w-]{8,}"),
    ("SLACK_WEBHOOK", r"(?<=hooks\.slack\.com/services/)[\w/]{16,}"),
    ("DISCORD_WEBHOOK", r"(?<=/api/webhooks/)\d+/[\w-]{16,}"),
    ("AWS_ACCESS_KEY_ID", r"(?:AKIA|ASIA)[A-Z0-9]{16}"),
    ("GOOGLE_API_KEY", r"AIza[\w-]{30,}"),
    ("GOOGLE_TOKEN", r"ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}"),
    ("JWT", r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
    ("NPM_TOKEN", r"npm_[A-Za-z0-9]{16,}"),
    ("PYPI_TOKEN", r"pypi-(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{24,}"),
    ("HF_TOKEN", r"hf_[A-Za-z0-9]{16,}"),
    ("LINEAR_API_KEY", r"lin_(?:api|oauth)_\w{16,}"),
    ("NOTION_TOKEN", r"ntn_[A-Za-z0-9]{16,}|secret_(?=\w*\d)[A-Za-z0-9]{20,}"),
    ("FIGMA_TOKEN", r"figd_[\w-]{16,}"),
    ("SENDGRID_API_KEY", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("ATLASSIAN_TOKEN", r"ATATT3[\w=-]{16,}"),
    ("AIRTABLE_TOKEN", r"pat[A-Za-z0-9]{14}\.[A-Za-z0-9]{32,}"),
    ("SENTRY_TOKEN", r"sntry[su]_[\w=+/-]{16,}"),
    ("SHOPIFY_TOKEN", r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}"),
    ("DIGITALOCEAN_TOKEN", r"do[opr]_v1_[a-f0-9]{32,}"),
    ("SUPABASE_TOKEN", r"sb(?:p|_secret)_[\w-]{16,}"),
    ("DATABRICKS_TOKEN", r"dapi[a-f0-9]{32}"),
    ("API_KEY", r"(?:tvly|pplx|gsk|r8|xai|apify_api|ctx7sk|fc)[_-](?=[\w-]*\d)[\w-]{20,}"),
    ("BRAVE_API_KEY", r"BSA(?=[\w-]*\d)[\w-]{20,}"),
    ("WORKBENCH_TOKEN", r"mcpw_[\w-]{16,}"),
)
"""The tokens of known services, each with the name that is suggested for one that stands under no name."""
# What stands before a token is looked at once, not for each shape: files of clients can have megabytes.
_ANY_SHAPE: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])(?:{'|'.join(f'(?P<{name}>{pattern})' for name, pattern in _SHAPES)})"
)

_PLACEHOLDER: Final = re.compile(
    r"""(?xi)
      < [^<>]* > | \{\{ (?: (?!\{\{) . )* \}\} | ^ \[ .* \] $ | ^ \$ \w+ $ | ^ % \w+ % $ | \.\.\. | …
    | (?<![a-z]) your (?: [-_\s] | (?-i:[A-Z]) | (?:api|key|token|secret|password) )
    | (?<![a-z]) (?: my | some | an? | the | enter | insert | paste | add | put ) [-_\s]?
      (?: your | api | access | auth | bot | secret | token | pass | key )
    | (?<![a-z]) (?: replace | change | fill ) [-_\s]? (?: me | this | it | with | in ) (?![a-z])
    | place[-_]?holder | redacted | (?<![a-z]) (?: todo | fixme | dummy | example ) (?![a-z])
    | [-_\s] here $ | x{4,} | \*{3,}
    """
)
_NOTHING: Final = frozenset(
    (
        *("true", "false", "yes", "no", "on", "off", "none", "null", "nil", "undefined", "default", "auto"),
        *("token", "secret", "password", "pass", "apikey", "key", "test", "local", "enabled", "disabled"),
        *("basic", "bearer", "oauth", "oauth2", "jwt", "required", "optional", "always", "never", "n/a"),
    )
)
"""Words that say how something is done, or stand for a value that is missing."""
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NUMBER: Final = re.compile(r"[\d.,:_/ -]+[smhd]?|\d+[a-z]{0,2}")
_PATH: Final = re.compile(r"(?:~|\.{1,2})?/\S.*|~|\.{1,2}|[A-Za-z]:[\\/].*|\\\\.*|%\w+%.*", re.DOTALL)
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PLAIN_WORDS: Final = re.compile(r"[A-Za-z]{1,20}(?:[ ._:/,-][A-Za-z0-9]{1,12})*")
_TOKEN_CHARACTERS: Final = re.compile(r"[A-Za-z0-9+/=_.~-]+")
_DIGEST: Final = re.compile(r"sha\d+[:-].*")
_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9]+")
_EDGE: Final = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[a-z0-9])|(?<=[0-9])(?=[A-Za-z])")
_CHARACTERS_PER_EDGE: Final = 5.0
_MIN_DIGITS: Final = 2


def known_tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield each token of a known service in a text, after the name that is suggested for it."""
    for found in _ANY_SHAPE.finditer(text):
        if found.lastgroup is not None and not is_placeholder(found[0]):
            yield found.lastgroup, found[0]


def mask_known_tokens(text: str, masked: str) -> str:
    """Return a text with each token of a known service replaced, and what only looks like one."""
    # The first line identifies a private key, whatever stands right before it.
    return _ANY_SHAPE.sub(masked, re.sub(_PRIVATE_KEY, masked, text) if "-----BEGIN " in text else text)


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value that is still to be filled in: `<YOUR_TOKEN>`, `xxx`, `changeme`."""
    bare = text.strip().strip("\"'")
    if "${" in bare or bare.lower() in _NOTHING:
        return True
    if len(set(bare.lower())) <= 2:
        return True
    return _PLACEHOLDER.search(bare) is not None


def is_setting(text: str) -> bool:
    """Whether a text is a number, a path, or an address: what a setting holds, under whatever name."""
    patterns = (_NUMBER, _PATH, _ADDRESS, _EMAIL)
    return any(pattern.fullmatch(text.strip()) for pattern in patterns)


def is_words(text: str) -> bool:
    """Whether a text is made of words and short numbers, such as `eu-central-1`."""
    return _PLAIN_WORDS.fullmatch(text) is not None and not is_random(text, MIN_RANDOM_CHARACTERS)


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID, which identifies a project as often as it is a key."""
    return _UUID.fullmatch(text) is not None


def is_random(text: str, min_characters: int = MIN_RANDOM_CHARACTERS) -> bool:
    """Whether a text looks drawn by lot: letters and digits mixed inside of its words, at some length."""
    if len(text) < min_characters or not _TOKEN_CHARACTERS.fullmatch(text):
        return False
    if is_uuid(text) or _DIGEST.fullmatch(text) or is_setting(text):
        return False
    if sum(character.isdigit() for character in text) < _MIN_DIGITS or text.isdigit():
        return False
    # Words and versions change between letters and digits at their separators only.
    edges = sum(len(_EDGE.findall(word)) for word in _SEPARATORS.split(text))
    return edges * _CHARACTERS_PER_EDGE >= len(text)
