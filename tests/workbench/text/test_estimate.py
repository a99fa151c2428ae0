"""Tokens are estimated near what a real tokenizer counts: the figures here are those of o200k_base."""

from __future__ import annotations

import time

import pytest

from mcp_workbench.workbench.text.estimate import estimate_tokens

DEFINITION = (
    '{"name":"read_text_file","description":"Read a file of the file system as text, whole or in part. '
    "Handles several encodings, and says in detail what is wrong if it cannot be read. Use 'head' to read "
    'only its first lines.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"tail":'
    '{"description":"Returns only the last N lines","type":"number"},"head":{"description":"Returns only the '
    'first N lines","type":"number"}},"required":["path"]}}'
)
SIGNATURE = (
    'createPullRequest(owner: string, repo: string, draft?: boolean, state?: "open"|"closed"|"all" = "open")'
    " — Create a new pull request in a repository. draft: Whether to create it as a draft"
)
PROSE = (
    "The list of toolboxes travels in the instructions of the handshake, so discovery costs no call. Nothing "
    "downstream is started before it is needed. The model reads a few hundred tokens in place of tens of "
    "thousands, and the person configures each server once in place of once per client.\n"
)
CHINESE = "读取指定路径的文件内容并完整返回。如果文件太大则只返回前几行并在答复中说明。"
LOG = "2026-11-15T12:07:03.123Z INFO request handled path=/api/v1/users/17 status=200 ms=119\n"


@pytest.mark.parametrize(
    ("text", "counted"),
    [(DEFINITION, 106), (SIGNATURE, 49), (PROSE, 57), (CHINESE, 26), (LOG, 33)],
    ids=["definition", "signature", "prose", "chinese", "log"],
)
def test_an_estimate_is_near_what_a_tokenizer_counts(text: str, counted: int) -> None:
    assert 0.95 * counted <= estimate_tokens(text) <= 1.2 * counted


def test_nothing_costs_nothing_and_anything_something() -> None:
    assert [estimate_tokens(text) for text in ("", b"", " ", "a", "\ud800")] == [0, 0, 1, 1, 1]


def test_text_costs_what_its_bytes_cost() -> None:
    assert estimate_tokens(CHINESE) == estimate_tokens(CHINESE.encode())


def test_bytes_that_are_no_text_are_estimated_too() -> None:
    assert estimate_tokens(bytes(range(256))) > 0


def test_a_longer_text_never_costs_less() -> None:
    text = DEFINITION + PROSE + CHINESE
    costs = [estimate_tokens(text[:length]) for length in range(len(text))]
    assert costs == sorted(costs)


def test_two_texts_together_cost_about_what_they_cost_apart() -> None:
    together = estimate_tokens(DEFINITION + PROSE)
    assert abs(estimate_tokens(DEFINITION) + estimate_tokens(PROSE) - together) <= 1


def test_a_large_text_is_estimated_in_passes_over_all_of_it() -> None:
    text = (DEFINITION * 10_000).encode()
    began = time.process_time()
    estimate_tokens(text)
    assert time.process_time() - began < 2
