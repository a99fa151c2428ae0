"""What a call of `open_toolbox` may ask for, and what it is told if it may not."""

from __future__ import annotations

import json

import pytest

from mcp_workbench.errors import InvalidCall
from mcp_workbench.surface.listing.open_request import OpenRequest, read_open


def read(**arguments: object) -> OpenRequest:
    return read_open(json.dumps(arguments).encode(), ["dev", "ops"])


def refusal(**arguments: object) -> str:
    with pytest.raises(InvalidCall) as caught:
        read(**arguments)
    return str(caught.value)


def test_the_simple_call_names_a_toolbox_and_nothing_else() -> None:
    assert read(toolbox_name="dev") == OpenRequest(toolbox="dev")
    assert read(toolbox="dev") == OpenRequest(toolbox="dev")


def test_a_query_is_for_all_toolboxes_unless_one_is_named() -> None:
    assert read(query="read a file") == OpenRequest(queries=("read a file",))
    assert read(query="read a file", toolbox_name="dev") == OpenRequest(
        toolbox="dev", queries=("read a file",)
    )


def test_several_queries_are_answered_one_by_one() -> None:
    assert read(query=["read", "write"], limit=3) == OpenRequest(
        queries=("read", "write"), is_list=True, limit=3
    )
    assert read(query=["read"]).is_list


def test_a_limit_may_be_written_as_text() -> None:
    assert read(query="read", limit="12").limit == read(query="read", limit=12.0).limit == 12


def test_tools_are_named_in_a_list_or_alone_and_once() -> None:
    assert read(tools=["read_file", "a b", "read_file"]).names == ("read_file", "a b")
    assert read(tools="read_file", toolbox_name="dev") == OpenRequest(toolbox="dev", names=("read_file",))


@pytest.mark.parametrize("detail", ["auto", "full", "signatures", "names"])
def test_each_level_of_detail_can_be_asked_for(detail: str) -> None:
    assert read(toolbox_name="dev", detail=detail).detail == detail


def test_null_is_as_good_as_nothing() -> None:
    nothing = dict.fromkeys(("query", "limit", "tools", "detail"))
    assert read(toolbox_name="dev", **nothing) == OpenRequest(toolbox="dev")
    assert read(toolbox_name=None, query="read") == OpenRequest(queries=("read",))
    assert read(toolbox_name="", query="read") == OpenRequest(queries=("read",))


EMPTY = [None, "", "  \n", [], [""]]


@pytest.mark.parametrize("empty", EMPTY)
def test_what_is_empty_is_absent(empty: object) -> None:
    assert read(toolbox_name="dev", query=empty) == OpenRequest(toolbox="dev")
    assert read(toolbox_name="dev", tools=empty) == OpenRequest(toolbox="dev")
    assert read(query="read", tools=empty) == OpenRequest(queries=("read",))
    assert read(query=empty, tools=["read_file"]) == OpenRequest(names=("read_file",))


@pytest.mark.parametrize("empty", [None, "", " "])
def test_a_text_or_a_number_that_is_empty_is_absent(empty: object) -> None:
    assert read(toolbox_name="dev", detail=empty, limit=empty) == OpenRequest(toolbox="dev")
    assert read(toolbox_name=empty, toolbox=empty, query="read") == OpenRequest(queries=("read",))


def test_a_client_that_fills_in_every_field_can_make_every_call() -> None:
    filled = {"toolbox_name": "dev", "query": "", "limit": 8, "tools": [], "detail": "auto"}
    assert read(**filled) == OpenRequest(toolbox="dev")
    assert read(**filled | {"limit": 0, "detail": ""}) == OpenRequest(toolbox="dev")
    assert read(**filled | {"tools": ["a"]}) == OpenRequest(toolbox="dev", names=("a",))
    searching = OpenRequest(queries=("read",))
    assert read(**filled | {"toolbox_name": "", "query": "read"}) == searching
    assert read(**filled | {"toolbox_name": None, "query": "read", "limit": 0, "tools": None}) == searching


def test_a_limit_without_a_query_means_nothing() -> None:
    assert read(toolbox_name="dev", limit=3) == OpenRequest(toolbox="dev")
    assert "toolbox_name is missing" in refusal(limit=3)


def test_an_entry_that_is_empty_among_others_is_refused() -> None:
    assert "query has an empty entry" in refusal(query=["read", " "])
    assert "tools has an empty entry" in refusal(tools=["read_file", ""])


def test_a_key_that_there_is_not_is_answered_with_the_nearest() -> None:
    text = refusal(toolbox_name="dev", querry="read")
    assert "does not take 'querry'; did you mean 'query'?" in text
    assert text.endswith("It takes toolbox_name, query, limit, tools, detail")
    assert "does not take 'x'; it takes toolbox_name," in refusal(toolbox_name="dev", x=1)
    assert read(toolbox_name="dev", querry=None, x="") == OpenRequest(toolbox="dev")


def test_two_toolboxes_are_refused() -> None:
    assert "toolbox_name and toolbox differ" in refusal(toolbox_name="dev", toolbox="ops")
    assert read(toolbox_name="dev", toolbox="dev") == OpenRequest(toolbox="dev")


@pytest.mark.parametrize("limit", [-1, 101, 10_000, 2.5, "8 tools", True, [8], 10**30])
def test_a_limit_out_of_range_is_answered_with_the_range(limit: object) -> None:
    text = refusal(query="read", limit=limit)
    assert "limit must be a whole number from 1 to 100" in text
    assert "8" in text


@pytest.mark.parametrize("detail", ["Full", "everything", 1, ["full"]])
def test_an_unknown_level_is_answered_with_those_there_are(detail: object) -> None:
    assert "detail must be one of auto, full, signatures, names" in refusal(toolbox_name="dev", detail=detail)


@pytest.mark.parametrize("query", [5, {"text": "read"}, ["read", 5], True])
def test_a_query_that_is_no_text_is_refused(query: object) -> None:
    assert "query must be a string or a list of strings" in refusal(query=query)


def test_what_does_not_go_together_is_refused() -> None:
    assert "cannot be combined" in refusal(query="read", tools=["read_file"])


def test_more_than_can_be_answered_at_once_is_refused_with_the_bound() -> None:
    assert "at most 20" in refusal(query=["read"] * 21)
    assert "at most 2,000" in refusal(query="x" * 2001)
    assert "at most 100" in refusal(tools=[str(number) for number in range(101)])


@pytest.mark.parametrize("arguments", [{}, {"toolbox_name": ""}, {"toolbox_name": 5}, {"detail": "names"}])
def test_without_anything_to_look_for_it_says_which_toolboxes_there_are(arguments: dict[str, object]) -> None:
    text = refusal(**arguments)
    assert "toolbox_name" in text
    assert text.endswith("Available toolboxes: dev, ops")
