"""The toolboxes of imported servers, and the descriptions that a model chooses by."""

from __future__ import annotations

from mcp_workbench.setup.importing.categories import CATEGORIES, OTHER
from mcp_workbench.setup.importing.grouping import (
    Box,
    GroupedServer,
    assign,
    describe,
    describe_again,
    plain_name,
)

BY_NAME = {category.name: category for category in (*CATEGORIES, OTHER)}


def member(name: str, category: str, project: str = "") -> GroupedServer:
    return GroupedServer(name, BY_NAME[category], project)


GITHUB, FETCH, PG = member("github", "code"), member("fetch", "web"), member("pg", "databases")
MANY = [GITHUB, FETCH, PG, member("git", "code"), member("weather", "other")]


def test_a_few_servers_share_one_toolbox() -> None:
    assert assign([GITHUB, FETCH, PG], {}, None) == ["main", "main", "main"]
    subjects = "Source code, git and pull requests; web search, web pages and browsers"
    assert describe("main", [GITHUB, FETCH]) == f"{subjects}: github, fetch"


def test_many_servers_are_grouped_by_category() -> None:
    assert assign(MANY, {}, None) == ["code", "web", "databases", "code", "other"]
    assert describe("code", [GITHUB]) == "Source code, git and pull requests: github"


def test_a_named_toolbox_gets_all() -> None:
    assert assign([*MANY, member("x", "web", "shop")], {}, "mine") == ["mine"] * 6


def test_a_server_goes_into_the_toolbox_of_its_category_that_the_file_has() -> None:
    boxes = {"Browser": Box("The web", ()), "mine": Box("What I use", ())}
    assert assign([FETCH, GITHUB], boxes, None) == ["Browser", "code"]


def test_the_main_toolbox_takes_a_few_more() -> None:
    boxes = {"main": Box("All of it", (GITHUB, FETCH, PG))}
    assert assign([member("x", "web")], boxes, None) == ["main"]
    assert assign([member("x", "web"), member("y", "docs")], boxes, None) == ["web", "docs"]


def test_servers_of_a_project_have_a_toolbox_named_after_it() -> None:
    mine = member("pg", "databases", "My Shop")
    assert assign([mine, GITHUB], {}, None) == ["my-shop", "main"]
    assert describe("my-shop", [mine]) == "Tools of the project my-shop: pg"


def test_a_project_never_takes_a_toolbox_that_is_for_something_else() -> None:
    boxes = {"shop": Box("My own", ()), "Shop-Project": Box("My own too", ())}
    assert assign([member("pg", "databases", "shop")], boxes, None) == ["shop-2"]
    assert assign([member("pg", "databases", "web")], {}, None) == ["web-project"]
    assert assign([member("pg", "databases", "workbench")], {}, None) == ["workbench-project"]


def test_a_project_that_was_imported_before_keeps_its_toolbox() -> None:
    before = (GroupedServer("pg", BY_NAME["databases"]),)
    boxes = {"web-project": Box("Tools of the project web: pg", before)}
    new = member("redis", "databases", "web")
    assert assign([new], boxes, None) == ["web-project"]
    described = describe_again("web-project", boxes["web-project"], [new])
    assert described == "Tools of the project web: pg, redis"


def test_a_description_that_names_the_servers_stays_complete() -> None:
    box = Box(describe("main", [GITHUB]), (GITHUB,))
    assert describe_again("main", box, [FETCH]) == describe("main", [GITHUB, FETCH])


def test_a_description_that_a_person_wrote_is_left_alone() -> None:
    assert describe_again("code", Box("Our code", (GITHUB,)), [PG]) is None
    assert describe_again("code", Box("", ()), [PG]) is None


def test_a_description_names_a_dozen_servers_and_counts_the_rest() -> None:
    described = describe("other", [member(f"s{number}", "other") for number in range(15)])
    assert described.endswith("s10, s11 and 3 more")


def test_the_name_of_a_directory_becomes_a_short_word() -> None:
    assert [plain_name(name) for name in ("My Shop_2", "...", "a" * 60)] == ["my-shop-2", "project", "a" * 40]
