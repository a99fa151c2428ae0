"""The parts of search: reading definitions and queries, words and stems, slips of the finger."""

from __future__ import annotations

import itertools
import json

import pytest

from mcp_workbench.config.edit_distance import edit_distance
from mcp_workbench.workbench.searching.entry import MAX_PARAMETERS
from mcp_workbench.workbench.searching.index import Entry, read_entry
from mcp_workbench.workbench.searching.query import read_query
from mcp_workbench.workbench.searching.repairs import is_likely_mistake, is_repairable
from mcp_workbench.workbench.searching.spelling import SpellingIndex
from mcp_workbench.workbench.searching.stems import stem
from mcp_workbench.workbench.searching.synonyms import synonyms
from mcp_workbench.workbench.searching.words import split_words


def read(definition: object) -> Entry:
    return read_entry(json.dumps(definition).encode(), "server")


def test_an_entry_has_what_a_definition_says_nested_properties_and_values_too() -> None:
    schema = {
        "properties": {
            "path": {"description": "Where"},
            "filter": {"properties": {"kind": {"description": "Which", "enum": ["file", "folder", 3]}}},
            "edits": {"items": {"anyOf": [{"properties": {"old": {}}}, {"properties": {"new": True}}]}},
        }
    }
    definition = {"name": "a", "title": "A", "description": "Does.", "inputSchema": schema, "other": 1}
    parameters = (
        *(("path", "Where"), ("filter", ""), ("edits", "")),
        *(("kind", "Which file folder "), ("old", ""), ("new", "")),
    )
    assert read(definition) == Entry("a", "server", "A", "Does.", parameters)


def test_a_title_is_taken_from_the_annotations_if_there_is_no_other() -> None:
    assert read({"name": "a", "annotations": {"title": "A"}}).title == "A"
    assert read({"name": "a", "title": "B", "annotations": {"title": "A"}}).title == "B"


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "x",
        {"properties": []},
        {"properties": {"p": None}, "items": 7, "anyOf": {"a": 1}, "allOf": [None, [], 3]},
    ],
)
def test_what_is_odd_in_a_definition_is_left_out(schema: object) -> None:
    entry = read({"name": "a", "inputSchema": schema, "description": 5, "title": [], "annotations": "x"})
    assert (entry.name, entry.title, entry.description) == ("a", "", "")


@pytest.mark.parametrize("raw", [b"", b"[]", b"nonsense", b'{"name": 3}', b"\xff", b"[" * 100_000])
def test_what_is_no_definition_is_an_entry_without_a_name(raw: bytes) -> None:
    assert read_entry(raw, "server") == Entry("", "server")


def test_a_lone_surrogate_costs_nothing_else_of_a_definition() -> None:
    entry = read_entry(rb'{"name": "a", "description": "odd \ud800 text"}', "server")
    assert (entry.name, entry.description) == ("a", "odd \ud800 text")


def test_a_huge_schema_is_read_in_part() -> None:
    properties: dict[str, object] = {f"p{number}": {"description": "x"} for number in range(10_000)}
    assert len(read({"name": "a", "inputSchema": {"properties": properties}}).parameters) == MAX_PARAMETERS
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"properties": {"down": deep}}
    assert len(read({"name": "a", "inputSchema": deep}).parameters) < 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("read_file", ["read", "file"]),
        ("readFile", ["read", "file", "readfile"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("list URLs", ["list", "urls"]),
        ("GitHub", ["git", "hub", "github"]),
        ("Señor Müller, Straße", ["senor", "muller", "strasse"]),
        ("文件A", ["文", "件", "文件", "a"]),
        ("it's 📖!", ["it", "s", "📖"]),
        ("чтениеФайла", ["чтение", "фаила", "чтениефаила"]),
        ("x" * 100, ["x" * 40, "x" * 40, "x" * 20]),
        ("", []),
    ],
)
def test_words_are_taken_out_of_names_and_texts(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    "forms",
    [
        "create creates created creating",
        "document documents documentation",
        "query queries",
        "translate translation translating",
        "file files filing",
        "running run runs",
        "agreed agree",
        "conversion conversions",
        "address addresses addressed",
        "hopefulness hopeful",
        "relational relate",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    "words",
    [
        "news new",
        "customer custom",
        "general generate generic",
        "organization organ organic",
        "university universe universal",
        "policy police",
        "community communicate",
        "conversation conversion",
        "important import",
        "international internal intern",
        "positive position",
        "container contain",
        "digital digit",
        "author authorize authority",
        "terminal terminate",
        "transition transit",
        "settings set",
        "business busy",
        "animal anime animation",
        "ios io",
        "canvas canva",
    ],
)
def test_words_of_different_meaning_have_different_stems(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == len(words.split())


@pytest.mark.parametrize(
    "forms",
    [
        "organize organizes organized organizing organizer organization organizations",
        "customer customers",
        "authorize authorized authorization",
        "university universities",
        "embed embeds embedded embedding",
        "canvas canvases",
    ],
)
def test_a_root_that_is_never_shortened_has_one_stem_for_all_its_forms(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


def test_a_longer_word_that_begins_like_a_root_keeps_its_own_stem() -> None:
    assert stem("digitalocean") == "digitalocean"
    assert stem("newsletter") != stem("news")


@pytest.mark.parametrize("word", ["", "a", "is", "sky", "feed", "bed", "sing", "straße", "sha256", "文件"])
def test_what_has_no_ending_is_its_own_stem(word: str) -> None:
    assert stem(word) == word


def test_synonyms_are_mutual_and_no_word_is_its_own() -> None:
    for word in ("delete", "repository", "weather", "email"):
        others = synonyms(stem(word))
        assert others
        assert stem(word) not in others
        assert all(stem(word) in synonyms(other) for other in others)
    assert synonyms("qzxjv") == ()


def test_a_query_is_read_by_sentences_with_its_values_and_numbers_worth_less() -> None:
    read = read_query('Send "blue world" to me. List 7 files, files')
    assert read == [{"send": 1, "blue": 0.3, "world": 0.3 * 0.6}, {"list": 1, "7": 0.1, "files": 1.5}]


@pytest.mark.parametrize("word", ["from", "weekend", "looking", "deletes", "12", "ab", "sha256", "文件"])
def test_a_word_of_our_own_lists_is_right_and_what_is_no_word_is_left_alone(word: str) -> None:
    assert not is_repairable(word)


@pytest.mark.parametrize(
    ("typed", "meant", "is_likely"),
    [
        ("serach", "search", True),
        ("earch", "search", True),
        ("gti", "git", True),
        ("igt", "git", True),
        ("gt", "git", True),
        ("fiel", "file", True),
        ("flie", "file", True),
        ("fils", "files", True),
        ("fioes", "files", True),
        ("film", "file", False),
        ("sun", "run", False),
        ("eur", "our", False),
        ("nft", "nfl", False),
        ("mood", "food", False),
        ("repoziitory", "repository", True),
        ("airport", "import", False),
        ("resolution", "solution", False),
    ],
)
def test_a_mistake_must_be_one_that_people_make(typed: str, meant: str, is_likely: bool) -> None:
    assert is_likely_mistake(typed, meant, edit_distance(typed, meant, 2)) is is_likely


def test_every_word_one_slip_away_is_found_and_no_other() -> None:
    words = ["".join(letters) for size in (3, 4) for letters in itertools.product("abcd", repeat=size)]
    spelling = SpellingIndex()
    spelling.add(words[::2])
    spelling.add(words[1::2])
    for word in ("abc", "aabb", "dcba", "abcda", "zab", "ab"):
        expected = {other for other in words if edit_distance(word, other, 1) <= 1}
        assert set(spelling.near(word, 1)) == expected


def test_two_slips_are_found_where_asked_for() -> None:
    spelling = SpellingIndex()
    spelling.add(["repository", "directory", "x" * 50])
    assert spelling.near("reepositoryy", 1) == {}
    assert spelling.near("reepositoryy", 2) == spelling.near("repozittory", 2) == {"repository": 2}
    assert spelling.near("x" * 49, 2) == {}
