"""What a model reads before its first call stays within its budget, where that can be."""

from __future__ import annotations

import pytest

from mcp_workbench.surface.handshake_text import handshake_text
from mcp_workbench.workbench.toolbox import ToolboxSummary

SENTENCE = "What there is to say about this toolbox, in a sentence that goes on and on for a while"


def boxes(count: int, description: str = SENTENCE) -> list[ToolboxSummary]:
    words = ("files", "git", "github", "browser", "database", "slack", "calendar", "memory", "web", "logs")
    return [
        ToolboxSummary(f"{words[n % 10]}{'' if n < 10 else n}", description, 1 + n % 3) for n in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 3, 10])
@pytest.mark.parametrize("description", ["Short", SENTENCE, SENTENCE * 5])
def test_up_to_ten_toolboxes_take_500_tokens_at_most(count: int, description: str) -> None:
    assert handshake_text(boxes(count, description)).tokens <= 500


def test_a_few_toolboxes_have_all_their_words() -> None:
    words = handshake_text(boxes(2))
    assert words.instructions.count(SENTENCE) == 2
    assert b"files (What there is to say" in words.tools


def test_many_toolboxes_keep_their_names_and_what_fits_into_a_line() -> None:
    words = handshake_text(boxes(15))
    for box in boxes(15):
        line = next(it for it in words.instructions.splitlines() if it.startswith(f"- {box.name} ("))
        assert "What there is to say about this toolbox, in a" in line
        assert f'"{box.name}"'.encode() in words.tools


@pytest.mark.parametrize("count", [0, 1, 20])
def test_mistakes_are_counted_within_the_length_at_which_clients_cut(count: int) -> None:
    words = handshake_text(boxes(count, SENTENCE * 5), mistakes=12)
    assert "Mistakes in the configuration: 12." in words.instructions[:2000]
    assert len(words.instructions) <= 2000


def test_the_example_is_a_toolbox_that_has_servers_if_there_is_one() -> None:
    unusable, usable = ToolboxSummary("dev", "Broken", 0), ToolboxSummary("ops", "Whole", 2)
    assert '{"tool":{"toolbox":"ops",' in handshake_text([unusable, usable]).instructions
    assert '{"tool":{"toolbox":"dev",' in handshake_text([unusable]).instructions
