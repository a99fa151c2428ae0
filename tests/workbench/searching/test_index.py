"""Search: which tools are found, in which order, and that nothing else ever is."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import tracemalloc

import pytest

from bench.searching.sets import mistyped
from mcp_workbench.workbench.searching.index import Entry, Hit, SearchIndex
from tests.support.tool_search import OWN, found, indexed, own_tools, recall, seeded

TOOLS = own_tools()
INDEX = indexed(TOOLS)
EVERY_NAME = [f"{server}/{entry.name}" for server, entries in TOOLS.items() for entry in entries]


def first(query: str) -> str:
    return next(iter(found(INDEX, TOOLS, query, 1)), "")


def names(index: SearchIndex, entries: list[Entry], query: str, limit: int = 5) -> list[str]:
    return [entries[hit.position].name for hit in index.search(query, limit)]


def tool(name: str, description: str = "") -> Entry:
    return Entry(name, "server", description=description)


# --- what is found ----------------------------------------------------------------------------------------


def test_the_right_tool_is_among_the_first_five() -> None:
    assert recall(INDEX, TOOLS, OWN.queries) >= 0.95


def test_the_right_tool_is_found_with_two_slips_in_a_query() -> None:
    chance = seeded(1)
    queries = [query._replace(text=mistyped(query.text, chance)) for query in OWN.queries for _ in range(5)]
    assert recall(INDEX, TOOLS, queries) >= 0.9


@pytest.mark.parametrize("name", EVERY_NAME)
def test_a_tool_is_first_for_its_own_name(name: str) -> None:
    assert first(name.partition("/")[2]) == name


def test_an_exact_name_comes_before_the_same_letters_and_those_before_all_else() -> None:
    entries = [tool("read file", "read file read file"), tool("readFile"), tool("read_file"), tool("file")]
    index = indexed({"server": entries})
    assert names(index, entries, "read_file")[0] == "read_file"
    assert names(index, entries, "readFile")[0] == "readFile"
    assert set(names(index, entries, "READ-FILE")[:3]) == {"read file", "readFile", "read_file"}


@pytest.mark.parametrize(
    "name", ["get_user_profile", "getUserProfile", "get-user-profile", "user.profile.get", "GET_USER_PROFILE"]
)
def test_a_name_is_read_in_whatever_way_it_is_written(name: str) -> None:
    entries = [tool("get_team"), tool(name), tool("set_profile_picture")]
    index = indexed({"server": entries})
    for query in ("user profile", "userProfile", "profile of a user", "user_profile"):
        assert names(index, entries, query)[0] == name


@pytest.mark.parametrize(
    ("name", "query"),
    [("parseURLs", "url"), ("HTTPServer", "http server"), ("sha256_sum", "sha256"), ("listPRs", "prs")],
)
def test_abbreviations_in_a_name_are_words(name: str, query: str) -> None:
    entries = [tool("something_else"), tool(name)]
    assert names(indexed({"server": entries}), entries, query)[:1] == [name]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("erase a file", "files/delete_file"),
        ("db tables", "database/list_tables"),
        ("taking screenshots", "browser/browser.screenshot"),
        ("fahrenheit", "weather/get_current_conditions"),
        ("readfile", "files/read_text_file"),
        ("screen shot", "browser/browser.screenshot"),
        ("wether forcast", "weather/get_forecast"),
        ("serach emials", "mail/searchMessages"),
        ("sned an emial", "mail/sendMessage"),
        ("refnud pyament", "payments/refund_payment"),
    ],
)
def test_other_words_other_forms_and_mistyped_words_find_a_tool(query: str, name: str) -> None:
    assert name in found(INDEX, TOOLS, query, 3)


def test_values_to_call_a_tool_with_do_not_hide_it() -> None:
    for query in (
        'Write a file called "git branch, commit and log" with "reply to the e-mail" in it',
        "write a file to /git/branch/commit/log/blame",
        "write a file for git.branch.commit.log@blame.revert",
    ):
        assert first(query) == "files/write_file"


def test_each_of_several_sentences_finds_its_tool() -> None:
    query = "Which invoices are overdue? Then send an email to the customer. Also, will there be a storm?"
    expected = {"payments/list_invoices", "mail/sendMessage", "weather/get_storm_warnings"}
    assert expected <= set(found(INDEX, TOOLS, query))


@pytest.mark.parametrize(
    "query", ["", "   ", "\n", "!?…", "the of and", "qzxjv", "qzxjv wvvkq", "\ud800", "12"]
)
def test_a_query_that_says_nothing_finds_nothing(query: str) -> None:
    assert INDEX.search(query, 5) == []


@pytest.mark.parametrize(
    "query",
    ["film", "form", "date", "weekend", "resolution of a dispute", "looking for now", "airport", "sun"],
)
def test_a_right_word_that_no_tool_has_is_not_repaired_into_another(query: str) -> None:
    words = ("file", "farm", "data", "end_of_week", "solution", "booking", "new_low", "import", "run")
    assert indexed({"server": [tool(word) for word in words]}).search(query, 5) == []


# --- where a list ends ------------------------------------------------------------------------------------


def test_tools_that_fall_far_behind_the_best_are_left_out() -> None:
    entries = [
        tool("delete_file", "Delete a file from the disk"),
        tool("remove_file", "Delete a file for ever"),
        tool("read_file", "Read a file"),
        tool("create_issue", "Create an issue, with a file attached"),
        tool("delete_branch", "Delete a branch"),
    ]
    index = indexed({"server": [*entries, *[tool(f"other_{number}") for number in range(20)]]})
    assert names(index, entries, "delete a file") == ["delete_file", "remove_file"]


def test_of_a_query_that_asks_for_several_things_more_is_found() -> None:
    query = "I want to see my overdue invoices, send an email to the customer, and know about storms tomorrow"
    expected = {"payments/list_invoices", "mail/sendMessage", "weather/get_storm_warnings"}
    assert expected <= set(found(INDEX, TOOLS, query, 20))
    assert len(found(INDEX, TOOLS, "overdue invoices", 20)) < len(found(INDEX, TOOLS, query, 20))


def test_a_tool_that_has_the_word_in_its_description_is_found_beside_one_that_is_named_so() -> None:
    entries = [tool("get_weather"), tool("get_forecast", "Weather of the next days"), tool("get_time")]
    assert names(indexed({"server": entries}), entries, "weather") == ["get_weather", "get_forecast"]


def test_a_tool_of_that_name_does_not_hide_others_that_fit() -> None:
    entries = [tool("search"), tool("search_issues"), tool("search_code"), tool("merge")]
    assert set(names(indexed({"server": entries}), entries, "search")) == {
        "search",
        "search_issues",
        "search_code",
    }


def test_queries_of_one_step_find_a_few_tools_only() -> None:
    counts = [len(INDEX.search(query.text, 8)) for query in OWN.queries]
    assert sum(counts) / len(counts) < 3


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_finds_nothing(limit: int) -> None:
    assert INDEX.search("read a file", limit) == []


def test_a_limit_beyond_all_tools_finds_each_that_matches_once() -> None:
    hits = INDEX.search("file", 10_000)
    assert len({(hit.group, hit.position) for hit in hits}) == len(hits) < len(EVERY_NAME)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_an_empty_index_finds_nothing() -> None:
    assert SearchIndex().search("read a file", 5) == []


# --- other scripts ----------------------------------------------------------------------------------------

WORLD = [
    Entry("读取文件", "s", description="读取文件的全部内容"),
    Entry("発送メール", "s", description="メールを送信します"),
    Entry("날씨", "s", description="오늘의 날씨를 알려줍니다"),
    Entry("wetterbericht", "s", description="Zeigt die Vorhersage für morgen und übermorgen; Straßenglätte"),
    Entry("traducción", "s", description="Traduce un texto del español al inglés"),
    Entry("поиск", "s", description="Найти документ по ключевому слову"),
    Entry("بحث", "s", description="البحث عن الفنادق في المدينة"),
    Entry("חיפוש", "s", description="חיפוש מסעדות קרובות"),
    Entry("मौसम", "s", description="आज का मौसम बताता है"),
    Entry("📖", "s", description="🎉 party"),
]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("读取文件", "读取文件"),
        ("文件内容", "读取文件"),
        ("读", "读取文件"),
        ("メール送信", "発送メール"),
        ("오늘 날씨", "날씨"),
        ("Vorhersage", "wetterbericht"),
        ("VORHERSAGE FUR UBERMORGEN", "wetterbericht"),
        ("strassenglätte", "wetterbericht"),
        ("Vorhersgae", "wetterbericht"),
        ("traduccion al ingles", "traducción"),
        ("документ", "поиск"),
        ("ДОКУМЕНТ", "поиск"),
        ("докуемнт", "поиск"),
        ("الفنادق", "بحث"),
        ("الْفَنَادِق", "بحث"),
        ("מסעדות", "חיפוש"),
        ("मौसम", "मौसम"),
        ("📖", "📖"),
        ("🎉", "📖"),
    ],
)
def test_every_script_is_searched(query: str, name: str) -> None:
    assert names(indexed({"s": WORLD}), WORLD, query)[:1] == [name]


# --- groups -----------------------------------------------------------------------------------------------


def test_only_the_groups_given_are_searched_and_the_limit_is_filled_from_them() -> None:
    groups = {
        f"group {number}": [tool(f"read_{place}", "Read files") for place in range(10)] for number in range(9)
    }
    index = indexed(groups)
    hits = index.search("read files", 8, {"group 7"})
    assert [(hit.group, hit.position) for hit in hits] == [("group 7", place) for place in range(8)]
    hits = index.search("Read files. And write files.", 15, ["group 7", "group 2", "no such group"])
    assert {hit.group for hit in hits} == {"group 7", "group 2"}
    assert len(hits) == 15


def test_a_sentence_that_is_about_other_groups_is_passed_over() -> None:
    query = "Send an email to the customer. Write a file."
    assert INDEX.search(query, 1, {"files"}) == INDEX.search("Write a file.", 1, {"files"})
    assert INDEX.search(query, 1, set()) == []


def test_a_name_in_another_group_is_not_found() -> None:
    assert INDEX.search("git_blame", 5, {"mail"}) == []
    assert INDEX.search("git_blame", 5, set()) == []


def test_a_group_is_replaced_whole() -> None:
    index = indexed({"server": [tool("old_banana"), tool("old_apple")], "other": [tool("cherry")]})
    index.put("server", [tool("new_banana")])
    assert index.search("apple", 5) == []
    assert [(hit.group, hit.position) for hit in index.search("banana", 5)] == [("server", 0)]
    assert [(hit.group, hit.position) for hit in index.search("cherry", 5)] == [("other", 0)]
    index.put("server", [])
    assert index.search("banana", 5) == []


def test_a_dropped_group_leaves_nothing_behind() -> None:
    index = indexed(TOOLS)
    for number in range(30):
        other = [tool(f"banana_{number}_{place}", f"peal the fruit {number * place}") for place in range(100)]
        index.put(("other", number % 3), other)
        index.put("empty", [])
    for number in range(3):
        index.drop(("other", number))
    index.drop("empty")
    index.drop("never there")
    queries = [*(query.text for query in OWN.queries), "bananna", "peel fruit", "banana_29_7", "friut"]
    assert [index.search(query, 9) for query in queries] == [INDEX.search(query, 9) for query in queries]


@pytest.mark.slow
@pytest.mark.parametrize("query", ["serach fiels", None], ids=["searched", "never searched"])
def test_a_group_that_is_put_again_and_again_takes_no_more_memory(query: str | None) -> None:
    index, sizes = indexed(TOOLS), list[int]()
    tracemalloc.start()
    try:
        for number in range(60):
            for place in range(3):
                index.put("files", TOOLS["files"])
                index.put("mail", [tool(f"word{number}_{place}"), *TOOLS["mail"]])
            if query:
                index.search(query, 5)
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(sizes[30:]) < max(sizes[:30]) + 25_000


def test_groups_that_come_and_go_in_any_order_are_searched_like_those_that_stayed() -> None:
    chance = seeded(2)
    index, there = SearchIndex(), dict[str, list[Entry]]()
    for _ in range(200):
        name = chance.choice(list(TOOLS))
        if name in there and chance.random() < 0.4:
            index.drop(name)
            del there[name]
        else:
            there[name] = chance.sample(TOOLS[name], chance.randrange(len(TOOLS[name]) + 1))
            index.put(name, there[name])
    fresh = indexed(there)
    for query in OWN.queries:
        assert index.search(query.text, 9) == fresh.search(query.text, 9)


def test_equals_stay_in_the_order_of_groups_and_of_tools() -> None:
    same = [tool("twin"), tool("twin")]
    index = indexed({"b": same, "a": same})
    index.put("b", same)
    assert [(hit.group, hit.position) for hit in index.search("twin", 3)] == [("b", 0), ("b", 1), ("a", 0)]
    index.drop("b")
    index.put("b", same)
    assert [(hit.group, hit.position) for hit in index.search("twin", 3)] == [("a", 0), ("a", 1), ("b", 0)]


ORDER = """
import json
from bench.searching.sets import mistyped
from tests.support.tool_search import OWN, indexed, own_tools, seeded
index, chance = indexed(own_tools()), seeded(3)
texts = [text for query in OWN.queries for text in (query.text, mistyped(query.text, chance))]
found = [[(hit.group, hit.position, hit.score) for hit in index.search(text, 20)] for text in texts]
print(json.dumps(found))
"""


def test_the_order_is_the_same_whatever_the_seed_of_hashes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", ORDER],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())) == 2 * len(OWN.queries)


# --- bounds -----------------------------------------------------------------------------------------------

ALPHABETS = (
    "abc xyz.,?!'\"`/@:-_",
    "ABCdef0123456789",
    "äöüßéñçøłİı",
    "读取文件メール날씨ไทย",
    "абвгд العربية עברית हिन्दी",
    "\ud800\udfff\x00\u200d\u202e\ufe0f🎉📖👨‍👩‍👧\U0001f1e9\U0001f1ea",
)


def test_no_text_is_too_odd_to_be_indexed_and_searched_for() -> None:
    chance = seeded(4)
    texts = ["".join(chance.choices(chance.choice(ALPHABETS), k=chance.randrange(1, 60))) for _ in range(400)]
    entries = [
        Entry(name, chance.choice(texts), chance.choice(texts), chance.choice(texts), ((name, name),))
        for name in texts
    ]
    index = indexed({"odd": entries})
    for text in texts:
        for hit in index.search(text, 5):
            assert isinstance(hit, Hit)
        named = text.strip()
        if named:
            assert entries[index.search(named, 1)[0].position].name.strip().casefold() == named.casefold()


@pytest.mark.parametrize(
    "query",
    [
        "read " * 25_000,
        "x" * 100_000,
        "'" * 100_000,
        "@" * 100_000,
        "/a" * 50_000,
        '"a. ' * 25_000,
        " ".join(f"wrod{number}x" for number in range(10_000)),
        " ".join("".join(seeded(number).choices("abcdefgh", k=12)) for number in range(8_000)),
        "文" * 100_000,
        "a.b" * 33_000,
    ],
    ids=lambda query: query[:8],
)
def test_a_huge_query_is_answered_soon(query: str) -> None:
    started = time.thread_time()
    INDEX.search(query, 5)
    assert time.thread_time() - started < 0.5


def many(count: int) -> dict[str, list[Entry]]:
    chance = seeded(5)
    words = [
        "".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randrange(3, 10))) for _ in range(4000)
    ]
    entries = [
        Entry(
            "_".join(chance.choices(words, k=3)),
            "server",
            description=" ".join(chance.choices(words, k=20)),
            parameters=tuple((chance.choice(words), " ".join(chance.choices(words, k=5))) for _ in range(3)),
        )
        for _ in range(count)
    ]
    return {f"server {start}": entries[start : start + 10] for start in range(0, count, 10)}


@pytest.mark.slow
def test_thousands_of_tools_are_indexed_and_searched_fast_and_in_little_memory() -> None:
    groups = many(2800)
    gc.collect()
    started = time.thread_time()
    index = indexed(groups)
    took = time.thread_time() - started
    assert took < 1.5  # 0.15 on an idle machine
    entries = [entry for group in groups.values() for entry in group][::20]
    started = time.thread_time()
    for entry in entries:
        index.search(entry.description, 8)
    assert (time.thread_time() - started) / len(entries) < 0.01  # 0.0004

    tracemalloc.start()
    try:
        again = indexed(groups)
        again.search("qwertz", 8)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 10_000_000


def test_the_module_is_imported_in_little_time() -> None:
    program = "import msgspec, time; start = time.thread_time(); "
    program += "import mcp_workbench.workbench.searching.index as s"
    program += "; print(time.thread_time() - start)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert float(done.stdout) < 0.1  # 0.01 on an idle machine
